"""How a child ended, as an answer or as a failure that says what happened (S12).

The last step of a command's journey. The model gets one sentence with the last line of stderr; the
details carry the rest for the operator.
"""

import signal
from collections.abc import Collection, Mapping

from toolrt.bindings.answers import Output, decode
from toolrt.bindings.outputs import Captured
from toolrt.bindings.process import Finished
from toolrt.core.errors import BindingError
from toolrt.core.results import Answer, ProcessAnswer

_LINE = 200
_TAIL = 2000
_BECAUSE: Mapping[int, str] = {
    signal.SIGXCPU: ": it used more processor time than `limits.cpu` allows",
    signal.SIGXFSZ: ": it wrote a file larger than `limits.file_size` allows",
}
_WHOLE: Mapping[Output, str] = {"json": "JSON", "jsonl": "JSON", "csv": "CSV"}
_BROKEN_PIPE = 128 + signal.SIGPIPE
_PIPE_HINT = (
    "128+13: a program of a pipe was stopped because the next one had read enough; let that one"
    " read all (`sed -n 1,5p` for `head -5`), or write `set +o pipefail` in the script"
)
_OF_ARGUMENTS = frozenset({2, 64, 65, 66})
"""What programs mostly say of arguments that they do not take: `2`, and `sysexits.h`."""
_BY_SHELLS = {126: " (found but not executable)", 127: " (a program was not found)"}


def answer(finished: Finished, success: Collection[int], output: Output) -> Answer:
    """The answer of a child that succeeded. Raises BindingError for any other."""
    stderr = finished.stderr.whole().decode("utf-8", "replace")
    if finished.signal is not None:
        raise _signaled(finished.signal, finished, stderr)
    if finished.exit_code is None:
        raise BindingError("it ended, but its exit code was taken by somebody else", sent="maybe")
    if finished.exit_code not in success:
        raise _failed(finished.exit_code, finished, stderr)
    value = _value(finished.stdout, output)
    return ProcessAnswer(value, finished.exit_code, stderr, finished.stdout.cut)


def _value(stdout: Captured, output: Output) -> object:
    if stdout.cut and output in _WHOLE:
        size = len(stdout.head) + stdout.cut + len(stdout.tail)
        raise BindingError(
            f"the output of {size} bytes is longer than what is kept, so it is no whole "
            f"{_WHOLE[output]}",
            code="bad-response",
            hint="ask for less",
            details={"bytes": size},
        )
    return decode(output, stdout.whole())


def _signaled(number: int, finished: Finished, stderr: str) -> BindingError:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "a real-time signal"
    because = ": the system was out of memory" if finished.out_of_memory else ""
    return BindingError(
        f"ended by signal {number} ({name}){_BECAUSE.get(number, because)}",
        code="signaled",
        details={"signal": number, **_said(finished, stderr)},
        target_fault=True,
        body=_body(finished.stdout),
    )


def _failed(code: int, finished: Finished, stderr: str) -> BindingError:
    said = _last_line(stderr)
    message = f"exited with {code}{_BY_SHELLS.get(code, '')}"
    return BindingError(
        f"{message}: {said}" if said else message,
        hint=_PIPE_HINT if code == _BROKEN_PIPE else None,
        details={"exit_code": code, **_said(finished, stderr)},
        target_fault=code not in _OF_ARGUMENTS,
        body=_body(finished.stdout),
    )


def _said(finished: Finished, stderr: str) -> dict[str, str]:
    """The last that it printed: on stderr always, on stdout when there is any."""
    stdout = finished.stdout.whole()[-4 * _TAIL :].decode("utf-8", "replace")[-_TAIL:]
    said = {"stderr": stderr[-_TAIL:]}
    return {**said, "stdout": stdout} if stdout else said


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    if len(last) > _LINE:
        last = f"{last[: _LINE // 2]}…{last[-_LINE // 2 + 1 :]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in last)


def _body(stdout: Captured) -> object:
    """What a failing program printed, when it is JSON: `result.error` may find a message there."""
    if stdout.cut or not stdout.head.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return decode("json", stdout.whole())
    except BindingError:
        return None
