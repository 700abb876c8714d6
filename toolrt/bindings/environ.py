"""The environment of a child: a short allow-list and what the manifest declares, nothing else (S5).

Secrets may go in by reference. Variables that make a program load or run something are closed to
values of callers.
"""

import re
from collections.abc import Mapping

from toolrt.bindings.base import BindContext
from toolrt.bindings.os_text import as_text, encoded, is_system_text
from toolrt.bindings.programs import FIXED_PATH
from toolrt.core.calls import INSIDE_CALL
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import ABSENT, OURS, Scope
from toolrt.expressions.slots import ENV
from toolrt.expressions.templates import Template

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CLOSED = (
    ("makes the loader or the C library take other code or other answers", """
        LD_* DYLD_* GCONV_PATH LOCPATH NLSPATH MALLOC_* GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN
        RESOLV_HOST_CONF RES_OPTIONS NIS_PATH GETCONF_DIR TZDIR TERMINFO TERMINFO_DIRS TERMCAP
    """),
    ("changes what a shell reads, finds or runs", """
        BASH_ENV BASH_FUNC_* BASHOPTS SHELLOPTS ENV IFS PATH HOME SHELL CDPATH FPATH ZDOTDIR
        PS0 PS1 PS2 PS4 PROMPT_COMMAND GLOBIGNORE HISTFILE INPUTRC TMPDIR XDG_*
    """),
    ("makes an interpreter or its packages load other code", """
        PYTHON* PIP_* UV_* POETRY_* PERL5* PERL_* PERLLIB RUBY* GEM_* BUNDLE_* RAKEOPT
        NODE_* NPM_CONFIG_* YARN_* DENO_* BUN_* JAVA_* _JAVA_* JDK_* CLASSPATH MAVEN_* GRADLE_*
        LUA_* PHPRC PHP_INI_SCAN_DIR R_PROFILE* R_ENVIRON* R_LIBS* R_HOME JULIA_* TCLLIBPATH
        AWKPATH AWKLIBPATH GUILE_* ERL_* ELIXIR_* DOTNET_* CORECLR_* COMPLUS_* GOFLAGS GOPATH
        GOROOT GOENV GOPROXY GOTOOLCHAIN CARGO_* RUSTC* RUSTFLAGS RUSTUP_* EMACSLOADPATH
    """),
    ("names a program that others start", """
        EDITOR *_EDITOR VISUAL PAGER *PAGER BROWSER *_ASKPASS *_RSH RSYNC_* GIT_* SVN_* CVS_*
        HGRCPATH HGEDITOR HGMERGE LESS LESSOPEN LESSCLOSE LESSEDIT LESSKEY* CC CXX AR AS CPP LINKER
        SSH_* SUDO_* DOCKER_*
    """),
    ("gives a program options or another configuration", """
        *_OPTIONS *_OPTS *_OPT *_ARGS *_FLAGS CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
        GZIP BZIP BZIP2 XZ_DEFAULTS ZSTD_* UNZIP ZIPINFO ZIPOPT TAPE MAKEFLAGS MFLAGS GNUMAKEFLAGS
        MAKEFILES CURL_HOME WGETRC SYSTEM_WGETRC NETRC ACKRC RIPGREP_CONFIG_PATH FZF_* BAT_CONFIG_*
        OPENSSL_* GNUPGHOME PKG_CONFIG* PSQLRC PGSYSCONFDIR PGSERVICEFILE PGPASSFILE MYSQL_HOME
        KUBECONFIG HELM_* AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_ENDPOINT_URL* ANSIBLE_*
        TF_CLI_* TF_PLUGIN* TF_DATA_DIR VIMINIT EXINIT NIX_* SCREENRC MAGICK_*
        FONTCONFIG_*
    """),
    ("chooses where its traffic goes or whom it trusts", """
        *_PROXY SSL_CERT_* *_CA_BUNDLE SSLKEYLOGFILE NODE_EXTRA_CA_CERTS
    """),
)  # fmt: skip
"""Variables that no value of a caller may fill (S5): why, and their names, in any case."""
_WHY_CLOSED = tuple(
    (why, re.compile("|".join(name.replace("*", ".*") for name in names.split()), re.IGNORECASE))
    for why, names in _CLOSED
)


class Environ:
    """The declared variables of one tool over the allow-list of its runtime."""

    __slots__ = ("_base", "_declared", "_named", "needs_home", "references")

    def __init__(self, written: Mapping[str, str | None], context: BindContext) -> None:
        self.needs_home = "HOME" not in written
        base = _allowed(context.references.environ)
        self._base = {encoded(name): encoded(text) for name, text in base.items()}
        self._declared = {
            name: None if text is None else _compiled(name, text, context)
            for name, text in written.items()
        }
        self._named = [
            (encoded(n), each) for n, each in self._declared.items() if _NAME.fullmatch(n)
        ]
        live = [each for each in self._declared.values() if each is not None]
        self.references: tuple[Reference, ...] = tuple(r for each in live for r in each.references)

    @property
    def is_constant(self) -> bool:
        """Whether all calls have the same variables, but for HOME."""
        return all(each is None or each.is_constant for each in self._declared.values())

    def render(
        self, scope: Scope, home: str | None, traceparent: str | None = None
    ) -> dict[bytes, bytes]:
        """Every variable of one run. Raises RefusedError for a value that cannot be one."""
        env = self._base.copy() if home is None else {**self._base, b"HOME": encoded(home)}
        if traceparent is not None:
            env[b"TRACEPARENT"] = traceparent.encode()  # two numbers, which nobody outside chose
        for name, template in self._named:
            text = None if template is None else template.text(scope)
            if text is None or text is ABSENT:
                env.pop(name, None)
            else:
                env[name] = encoded(str(text))
        return env

    def masked(self, scope: Scope) -> dict[str, str]:
        """The declared variables, references as they are written."""
        shown = {name: each.masked(scope) for name, each in self._declared.items() if each}
        return {name: str(text) for name, text in shown.items() if text is not ABSENT}


def is_of_the_loader(name: bytes) -> bool:
    """Whether a variable changes what code a program is made of, before it runs."""
    return _WHY_CLOSED[0][1].fullmatch(as_text(name)) is not None


def _allowed(ours: Mapping[str, str]) -> dict[str, str]:
    base = {"PATH": FIXED_PATH, "LANG": ours.get("LANG", "C.UTF-8"), INSIDE_CALL: "1"}
    if "TZ" in ours:
        base["TZ"] = ours["TZ"]
    return base


def _compiled(name: str, text: str, context: BindContext) -> Template:
    template = context.template(text, ("env", name), ENV)
    if not _NAME.fullmatch(name):
        context.fault("bad-name", f"`{name}` is no name of a variable", "env", name, on_key=True)
    elif template.is_constant and not is_system_text(text):
        context.fault("invalid-value", f"`{name}` cannot hold this text", "env", name)
    elif _is_of_caller(template) and (why := _why_closed(name)):
        context.fault(
            "caller-value-in-env",
            f"`{name}` {why}: no value of a caller may go there",
            "env",
            name,
            hint="write a constant, or use a variable of your own",
        )
    return template


def _is_of_caller(template: Template) -> bool:
    """Whether a caller chose anything of the text, if only by one of two words."""
    brought = any(reference.kind == "caller" for reference in template.references)
    return brought or bool(template.parameters or template.roots - OURS)


def _why_closed(name: str) -> str | None:
    return next((why for why, names in _WHY_CLOSED if names.fullmatch(name)), None)
