"""`toolrt completion`: the script that makes a shell complete verbs, options and tool names."""

import click
from click.shell_completion import get_completion_class

from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit

EXAMPLES = (
    ('eval "$(toolrt completion bash)"', "in ~/.bashrc"),
    ('eval "$(toolrt completion zsh)"', "in ~/.zshrc"),
    ("toolrt completion fish | source", "in ~/.config/fish/config.fish"),
)


@click.command("completion", cls=Verb, examples=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def verb(settings: Settings, shell: str) -> Exit:
    """Print the completion script of SHELL. Names of tools complete for run, explain and show."""
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    root = click.get_current_context().find_root().command
    source = made(root, {}, "toolrt", "_TOOLRT_COMPLETE").source()
    settings.screen.show({"shell": shell, "script": source}, lambda: source)
    return Exit.OK
