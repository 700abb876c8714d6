"""The programs that may start a server, and their options that run nothing else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

_SHELLS = """
sh ash bash dash fish ksh mksh zsh csh tcsh pwsh powershell cmd rbash posh yash oksh nu elvish xonsh
"""
_LAUNCHERS = """
busybox toybox chroot doas env expect find flock gdb lldb make nice nohup nsenter parallel perl php
script setsid ssh stdbuf strace ltrace su sudo tclsh wish time timeout unshare watch xargs eval exec
awk gawk mawk nawk sed vi vim nvim ex view ed emacs less more man lua luajit osascript socat nc ncat
pkexec runuser setpriv capsh bwrap firejail proot fakeroot systemd-run at batch crontab run-parts
start-stop-daemon dbus-run-session dbus-launch xvfb-run sshpass rlwrap unbuffer taskset ionice chrt
numactl setarch proxychains torsocks valgrind perf tmux screen entr hyperfine git tar rsync curl
wget podman nerdctl kubectl ipython jupyter jshell irb erb pry groovy scala kotlin julia rscript
elixir erl racket guile zx cross-env cross-env-shell concurrently nodemon shx dotenv onchange pm2
forever npm-run-all run-s run-p watchmedo honcho
"""
_CODE_MODULES = """
bdb cProfile code codeop doctest idlelib pdb profile pty runpy timeit trace unittest asyncio pip
ensurepip venv virtualenv pydoc pytest IPython ipykernel jupyter ptpython bpython pipx uv poetry pdm
hatch nox tox invoke fabric debugpy coverage xonsh pyrepl _pyrepl jdk
"""
_CODE_CLASSES = r"(jdk|groovy|bsh|clojure|scala\.tools|org\.(codehaus\.groovy|jruby|python))\."
SHELLS = frozenset(_SHELLS.split())
LAUNCHERS = frozenset(_LAUNCHERS.split())
"""Programs that run what they are told to run."""
CODE_MODULES = frozenset(_CODE_MODULES.split())
"""Modules of Python and Java that take code, or other programs, as arguments."""
CODE_CLASSES = re.compile(_CODE_CLASSES)
"""Classes of Java that do."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The options of a program before the first word that is none.

    `naming` are options whose value is what is run; `runs_programs` says that the first word is a
    program or a package, to be judged in turn, and `reads_on` that options behind it count, too.
    `patterns` are options with what they hold. Where it `runs_files` alone the first word is one.
    """

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    naming: frozenset[str] = frozenset()
    patterns: re.Pattern[str] | None = None
    subcommands: Mapping[str, "Grammar"] = field(default_factory=dict)
    needs_subcommand: bool = True
    runs_programs: bool = False
    reads_on: bool = False
    runs_files: bool = False
    hint: str = "start the server itself, and let it read what it needs from `env`"

    def takes(self, name: str, joined: str | None) -> bool | None:
        """Whether it knows the option; None where it does not."""
        whole = name if joined is None else f"{name}={joined}"
        if self.patterns is not None and self.patterns.fullmatch(whole):
            return True
        known = self.values | self.naming | (self.flags if joined is None else frozenset())
        return True if name in known else None

    def is_flag(self, name: str) -> bool:
        """Whether no value follows it."""
        return name not in self.values | self.naming


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CODE = "put the code into a file of the project, or a package"
_PACKAGES = "name the package, and after it what the server itself takes"

_PYTHON = Grammar(
    flags=_words("-u -E -I -s -S -B -O -OO -P -q -v -d -b -bb"),
    values=_words("-X"),
    naming=_words("-m"),
    patterns=re.compile(r"-[uEIsSBOPq]{2,}"),
    hint=_CODE,
)
_NODE = Grammar(
    flags=_words(
        "--no-warnings --enable-source-maps --experimental-strip-types --use-system-ca"
        " --trace-warnings --no-deprecation --preserve-symlinks"
    ),
    patterns=re.compile(r"--max-old-space-size=\d+"),
    hint=_CODE,
)
_NPX = Grammar(
    flags=_words("-y --yes -q --quiet --silent --no-install --prefer-offline --offline"),
    values=_words("-p --package --registry --cache --prefix"),
    runs_programs=True,
    hint=_PACKAGES,
)
_SCRIPTS = Grammar(
    flags=_words("-s --silent -q --quiet --if-present --offline"),
    values=_words("--prefix -C --dir --cwd --filter -w --workspace"),
    hint=_PACKAGES,
)
_BUN = Grammar(flags=_words("--bun --silent --smol -y --no-install --watch"), hint=_CODE)
_DENO_RUN = Grammar(
    flags=_words("-A --allow-all --no-prompt -q --quiet --no-check --cached-only --no-lock"),
    values=_words("-c --config"),
    patterns=re.compile(
        r"(-[RWENISP]|--(allow|deny)-(read|write|env|net|import|sys|run|ffi)|--unstable[a-z-]*"
        r"|--node-modules-dir)(=.*)?"
    ),
    hint=_CODE,
)
_UVX = Grammar(
    flags=_words("-q --quiet --offline --isolated --refresh --no-progress --no-cache -n"),
    values=_words(
        "--from --with -w --python -p --index --index-url --default-index --directory --project"
        " --with-editable --with-requirements"
    ),
    runs_programs=True,
    hint=_PACKAGES,
)
_UV_RUN = Grammar(
    flags=_words(
        "-q --quiet --frozen --locked --no-sync --isolated --offline --no-project --active --no-dev"
        " --all-extras --no-progress --no-cache --script -s"
    ),
    values=_words(
        "--with --directory --project --python -p --extra --group --package"
        " --with-editable --with-requirements"
    ),
    naming=_words("-m --module"),
    runs_programs=True,
    hint=_PACKAGES,
)
_UV_RUN_IN = Grammar(
    subcommands={"run": _UV_RUN, "tool": Grammar(subcommands={"run": _UVX})},
    flags=_words("-q --quiet --offline"),
)
_PIPX_RUN = Grammar(
    flags=_words("-q --quiet --no-cache"),
    values=_words("--spec --python --index-url"),
    runs_programs=True,
    hint=_PACKAGES,
)
_JAVA = Grammar(
    values=_words("-cp -classpath --class-path -p --module-path --add-modules"),
    naming=_words("-jar -m --module"),
    flags=_words("--enable-preview -server"),
    patterns=re.compile(r"-X(ms|mx|ss)\w+|-D[\w.]+(=.*)?|-XX:[+-]\w+"),
    hint=_CODE,
)
_RUBY = Grammar(flags=_words("-w -W0 -W1 -W2"), values=_words("-I"), hint=_CODE)
_DOCKER_RUN = Grammar(
    flags=_words("-i --interactive --rm --init --read-only -q --quiet"),
    values=_words(
        "-e --env --env-file --name --network --net --memory -m --cpus --user -u --workdir -w"
        " --pull --platform --label -l -v --volume --mount --tmpfs --entrypoint --cap-drop"
        " --pids-limit --shm-size"
    ),
    hint="a server needs no rights over the machine around its container, and no terminal",
)

_OF_NPM = {
    **dict.fromkeys(("exec", "x"), replace(_NPX, reads_on=True)),
    **dict.fromkeys(("run", "run-script"), replace(_SCRIPTS, reads_on=True)),
}

GRAMMARS: Mapping[str, Grammar] = {
    "python": _PYTHON,
    "python3": _PYTHON,
    "node": _NODE,
    "npx": _NPX,
    "bunx": _NPX,
    "npm": Grammar(subcommands=_OF_NPM),
    "pnpm": Grammar(subcommands={"dlx": _NPX, "exec": _NPX, "run": _SCRIPTS}),
    "yarn": Grammar(subcommands={"dlx": _NPX, "run": _SCRIPTS, "node": _NODE}),
    "bun": Grammar(
        subcommands={"run": _BUN, "x": _NPX},
        needs_subcommand=False,
        runs_files=True,
        hint=_CODE,
    ),
    "deno": Grammar(subcommands={"run": _DENO_RUN}),
    "uv": _UV_RUN_IN,
    "uvx": _UVX,
    "pipx": Grammar(subcommands={"run": _PIPX_RUN}),
    "java": _JAVA,
    "ruby": _RUBY,
    "docker": Grammar(subcommands={"run": _DOCKER_RUN}),
}
ALLOWED = frozenset(GRAMMARS)

_TSX = replace(
    _NODE,
    flags=_NODE.flags | _words("--no-cache --transpile-only -T --esm --files"),
    values=_words("--tsconfig --project -P"),
)
INNER: Mapping[str, Grammar] = {
    **dict.fromkeys(("tsx", "ts-node", "ts-node-esm", "esno", "babel-node", "vite-node"), _TSX),
    "pypy": _PYTHON,
}
"""Programs that launchers start, and that take code as well."""

_STEERING = """
BASH_ENV ENV SHELLOPTS ZDOTDIR PS4 PROMPT_COMMAND SHELL PAGER EDITOR VISUAL BROWSER NODE_OPTIONS
NODE_PATH NODE_REPL_EXTERNAL_MODULE BUN_OPTIONS PERL5OPT PERL5LIB PERL5DB PERLLIB RUBYOPT RUBYLIB
GEM_HOME GEM_PATH BUNDLE_GEMFILE CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS
YARN_YARN_PATH YARN_RC_FILENAME UV_PYTHON UV_CONFIG_FILE UV_PROJECT_ENVIRONMENT
PIPX_DEFAULT_PYTHON GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS GIT_EXTERNAL_DIFF GIT_PAGER
GIT_EDITOR GIT_EXEC_PATH GIT_PROXY_COMMAND GIT_TEMPLATE_DIR OPENSSL_CONF OPENSSL_MODULES
OPENSSL_ENGINES GCONV_PATH LOCPATH GLIBC_TUNABLES DOTNET_STARTUP_HOOKS LUA_INIT PHPRC
PHP_INI_SCAN_DIR DOCKER_CONFIG DOCKER_HOST DOCKER_CONTEXT
"""
_HARMLESS = """
PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONHASHSEED
PYTHONFAULTHANDLER PYTHONNOUSERSITE PYTHONOPTIMIZE PYTHONSAFEPATH PYTHONTRACEMALLOC PYTHONDEVMODE
PYTHONASYNCIODEBUG PYTHONLEGACYWINDOWSSTDIO NPM_CONFIG_CACHE NPM_CONFIG_REGISTRY
NPM_CONFIG_LOGLEVEL NPM_CONFIG_YES NPM_CONFIG_OFFLINE NPM_CONFIG_PREFER_OFFLINE NPM_CONFIG_PROXY
NPM_CONFIG_HTTPS_PROXY NPM_CONFIG_NOPROXY NPM_CONFIG_CAFILE NPM_CONFIG_UPDATE_NOTIFIER
NPM_CONFIG_FUND NPM_CONFIG_AUDIT NPM_CONFIG_PROGRESS
"""
_STEERING_KINDS = ("LD_", "DYLD_", "BASH_FUNC_", "PYTHON", "NPM_CONFIG_", "GIT_CONFIG", "CORECLR_")


def is_steering(name: str) -> bool:
    """Whether a variable makes programs run other code before their own."""
    known = name.upper().replace("-", "_")
    if known in _words(_HARMLESS):
        return False
    return known in _words(_STEERING) or known.startswith(_STEERING_KINDS)
