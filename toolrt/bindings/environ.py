"""The environment of a child: a short allow-list and what the manifest declares, nothing else (S5).

Secrets may go in by reference. Variables that make a program load or run something are closed to
values of callers.
"""

import re
from collections.abc import Callable, Mapping

from toolrt.bindings.argv import caller_text
from toolrt.bindings.base import BindContext
from toolrt.bindings.programs import FIXED_PATH
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import ENV
from toolrt.expressions.templates import Template

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CLOSED = re.compile(
    r"(LD|DYLD|PYTHON|GIT|PERL5|RUBY|NODE|NPM_CONFIG|BASH_FUNC)_.*|PYTHON.*|PERL5.*|RUBY.*|LUA_.*"
    r"|BASH_ENV|ENV|IFS|PATH|HOME|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|CDPATH"
    r"|JAVA_TOOL_OPTIONS|CLASSPATH|EDITOR|VISUAL|PAGER|BROWSER|SSH_ASKPASS|LESSOPEN",
    re.IGNORECASE,
)


class Environ:
    """The declared variables of one tool over the allow-list of its runtime."""

    __slots__ = ("_base", "_declared", "_home", "references")

    def __init__(
        self, written: Mapping[str, str | None], context: BindContext, home: Callable[[], str]
    ) -> None:
        self._home = home
        self._base = _allowed(context.references.environ)
        self._declared = {
            name: None if text is None else _compiled(name, text, context)
            for name, text in written.items()
        }
        live = [each for each in self._declared.values() if each is not None]
        self.references: tuple[Reference, ...] = tuple(r for each in live for r in each.references)

    def render(self, scope: Scope) -> dict[str, str]:
        """Every variable of one call. Raises RefusedError for a value that cannot be one."""
        env = {**self._base, "HOME": self._home()}
        for name, template in self._declared.items():
            text = None if template is None else template.text(scope)
            if text is None or text is ABSENT:
                env.pop(name, None)
            else:
                env[name] = str(text)
        return env

    def masked(self, scope: Scope) -> dict[str, str]:
        """The declared variables, references as they are written."""
        shown = {name: each.masked(scope) for name, each in self._declared.items() if each}
        return {name: str(text) for name, text in shown.items() if text is not ABSENT}


def _allowed(ours: Mapping[str, str]) -> dict[str, str]:
    base = {"PATH": FIXED_PATH, "LANG": ours.get("LANG", "C.UTF-8")}
    if "TZ" in ours:
        base["TZ"] = ours["TZ"]
    return base


def _compiled(name: str, text: str, context: BindContext) -> Template:
    template = context.template(text, ("env", name), ENV)
    if not _NAME.fullmatch(name):
        context.fault("bad-name", f"`{name}` is no name of a variable", "env", name, on_key=True)
    elif _CLOSED.fullmatch(name) and (template.parameters or caller_text(template, context)):
        context.fault(
            "caller-value-in-env",
            f"`{name}` can make a program run something else: no value of a caller may go there",
            "env",
            name,
            hint="write a constant, or use a variable of your own",
        )
    return template
