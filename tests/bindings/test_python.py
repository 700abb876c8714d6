"""The kind `python`: what a callable is asked, what it answers, and what goes wrong."""

import asyncio
import functools
import logging
import sys
import threading
import time

import pytest
from pydantic import ValidationError

from tests.limits import AT_ONCE_S
from tests.python_tools import Project
from toolrt.bindings.python import PythonSpec
from toolrt.core.errors import BindingError, CallError, RefusedError, ToolError
from toolrt.core.marks import tool

pytestmark = pytest.mark.anyio

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


@pytest.fixture
async def project(tmp_path):
    made = Project(tmp_path, {"BASE": "40"}, start=1)
    yield made
    await made.close()


async def failure(bound, **arguments):
    with pytest.raises(CallError) as error:
        await bound.value(**arguments)
    return error.value


# describing


async def test_signature_and_docstring_describe_the_tool(project):
    project.write(
        "kit",
        '''
        from toolrt.core.marks import tool

        @tool(effect="read")
        async def forecast(city: str, days: int = 3):
            """Forecast for a city.

            Args:
                city: City name.
            """
        ''',
    )
    described = project.bind("kit:forecast").described

    assert described.description == "Forecast for a city."
    assert described.input_schema["properties"] == {
        "city": {"type": "string", "description": "City name."},
        "days": {"type": "integer", "default": 3},
    }


async def test_faults_of_the_signature_stand_at_the_call(project):
    def fn(a, b: "Missing"):  # noqa: F821
        """Do."""

    bound = project.bind(fn)

    assert bound.described.description == "Do."
    assert bound.faults == [
        ("unannotated-parameter", ("call",)),
        ("unsupported-parameter", ("call",)),
    ]


async def test_missing_module_is_one_fault(project):
    bound = project.bind("nowhere:fn")

    assert bound.faults == [("import-failed", ("call",))]


@pytest.mark.parametrize(
    ("call", "owner", "code", "path"),
    [
        ("kit:five", None, "not-callable", ("call",)),
        ("kit:Kit", None, "not-callable", ("call",)),
        (None, "kit:five", "not-callable", ("object",)),
        (None, "kit:Kit", "not-callable", ("object",)),
        ("multiply", "kit:Kit", "import-failed", ("call",)),
        ("add", "kit:Kot", "import-failed", ("object",)),
        ("kit:Kit.add", None, "unbound-method", ("call",)),
    ],
)
async def test_what_cannot_be_called_is_told(project, call, owner, code, path):
    project.write("kit", "five = 5\nclass Kit:\n    def add(self, n: int): return n\n")
    bound = project.bind(call, object=owner)

    assert bound.faults == [(code, path)]
    assert bound.fault.message


# specs


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "needs `call`, or `object`"),
        ({"call": 5}, "expected a dotted name"),
        ({"call": "pkg.mod.fn"}, "write pkg.mod:fn"),
        ({"call": "fn"}, "expected module:function"),
        ({"call": "pkg:fn", "object": "pkg:Kit"}, "is no method of `object`"),
        ({"object": "Kit"}, "expected a dotted name such as pkg.mod:Class"),
        ({"call": "a:b", "run_in": "fiber"}, "'thread', 'process' or 'inline'"),
        ({"call": "a:b", "calls": 1}, "Extra inputs"),
    ],
)
async def test_wrong_options_give_one_error(raw, message):
    with pytest.raises(ValidationError, match=message) as error:
        PythonSpec.model_validate(raw)

    assert error.value.error_count() == 1


async def test_editors_get_a_schema_of_the_options():
    properties = PythonSpec.model_json_schema()["properties"]

    assert properties["call"]["type"] == "string"
    assert set(properties) == {"call", "object", "init", "run_in"}


async def test_without_imports_nothing_is_imported(project):
    project.write("kit", "raise ValueError")
    bound = project.bind("kit:fn", imports=False)

    assert bound.faults == []
    assert (await failure(bound)).code == "unsupported"


# calling


async def test_async_function_runs_on_the_loop(project):
    async def fn(n: int):
        return {"n": n, "on_loop": threading.current_thread() is threading.main_thread()}

    assert await project.bind(fn).value(n=1) == {"n": 1, "on_loop": True}


async def test_u31_sync_function_runs_beside_the_loop(project):
    def fn(n: int):
        return {"n": n, "thread": threading.current_thread().name}

    value = await project.bind(fn).value(n=1)

    assert value["thread"].startswith("toolrt-")


async def test_inline_function_runs_on_the_loop(project):
    def fn():
        return threading.current_thread() is threading.main_thread()

    assert await project.bind(fn, run_in="inline").value() is True


@pytest.mark.parametrize("run_in", ["thread", "inline"])
async def test_coroutine_from_a_sync_function_is_awaited(project, run_in):
    async def inner(n):
        return n + 1

    def fn(n: int):
        return inner(n)

    assert await project.bind(fn, run_in=run_in).value(n=1) == 2


async def test_arguments_are_converted_and_results_are_plain(project):
    project.write(
        "kit",
        """
        from dataclasses import dataclass
        from datetime import date, timedelta

        @dataclass
        class Stay:
            since: date
            nights: int = 1

        def until(stay: Stay):
            return stay.since + timedelta(days=stay.nights), {stay.nights}
        """,
    )

    assert await project.bind("kit:until").value(since="2026-01-31") == ["2026-02-01", [1]]


async def test_context_is_injected_and_progress_is_told(project):
    project.write(
        "kit",
        """
        from toolrt.core.context import Context

        def fn(n: int, ctx: Context):
            ctx.progress(1, 2, "half")
            return [ctx.caller.tenant, ctx.call_id, ctx.tool, 0 < ctx.deadline_s <= 30]
        """,
    )
    told = []
    bound = project.bind("kit:fn")
    answer = await bound.binding.call(
        bound.invocation(on_progress=lambda *progress: told.append(progress), n=1)
    )
    await asyncio.sleep(0)

    assert answer.value == ["acme", "c1", "kit.t", True]
    assert told == [(1, 2, "half")]


async def test_written_parameter_of_another_type_reaches_the_function_converted(project):
    from datetime import date

    def fn(day: date):
        return day.year

    bound = project.bind(fn, {"day": {"type": "string", "format": "date"}}, ["day"])

    assert await bound.value(day="2026-01-31") == 2026


async def test_what_does_not_convert_is_invalid_arguments(project):
    from datetime import date

    def fn(day: date):
        return day

    error = await failure(project.bind(fn, {"day": STRING}, ["day"]), day="soon")

    assert isinstance(error, RefusedError)
    assert error.code == "invalid-arguments"


@pytest.mark.parametrize("run_in", ["thread", "inline"])
async def test_failing_validator_of_a_type_is_execution_failed(project, run_in):
    project.write(
        "kit",
        """
        from typing import Annotated
        from pydantic import AfterValidator

        def look_up(value): return {}[value]
        def fn(a: Annotated[str, AfterValidator(look_up)]): return a
        """,
    )
    error = await failure(project.bind("kit:fn", run_in=run_in), a="x")

    assert (error.code, error.message) == ("execution-failed", "KeyError: 'x'")


async def test_preview_shows_the_name_and_the_arguments(project):
    project.write("kit", "def fn(n: int): return n\n")
    bound = project.bind("kit:fn")

    assert bound.binding.preview(bound.invocation(n=1)) == {
        "python": "kit:fn",
        "arguments": {"n": 1},
    }


async def test_live_callables_of_every_shape_are_called(project):
    class Kit:
        def add(self, n: int):
            return n + 1

        def __call__(self, n: int):
            return n + 2

    def multiply(a: int, b: int):
        return a * b

    assert await project.bind(Kit().add).value(n=1) == 2
    assert await project.bind(Kit()).value(n=1) == 3
    assert await project.bind(functools.partial(multiply, 4)).value(b=2) == 8
    assert await project.bind(tool(multiply)).value(a=2, b=3) == 6


# objects


KIT = """
    made = []

    class Kit:
        def __init__(self, base: int, step: int = 1):
            made.append(base)
            self.base, self.step = int(base), step

        def add(self, n: int):
            '''Add.'''
            return self.base + n * self.step

        async def wait(self, n: int):
            return self.base + n

        @classmethod
        def count(cls):
            return len(made)

        def __call__(self, n: int):
            return self.base - n

    kit = Kit(7)
"""


async def test_class_is_made_once_at_the_first_call(project):
    project.write("kit_once", KIT)
    count = project.bind("count", object="kit_once:Kit")
    before = await count.value()
    bound = project.bind("add", object="kit_once:Kit", init={"base": 40, "step": 2})

    assert await count.value() == before
    assert bound.described.description == "Add."
    assert bound.described.input_schema["required"] == ["n"]
    assert [await bound.value(n=1), await bound.value(n=2)] == [42, 44]
    assert await count.value() == before + 1


async def test_init_takes_references_and_variables(project):
    project.write("kit_refs", KIT)
    bound = project.bind(
        "wait", object="kit_refs:Kit", init={"base": "${env:BASE}", "step": "{{ vars.start }}"}
    )

    assert bound.faults == []
    assert await bound.value(n=2) == 42


async def test_init_without_its_secret_leaves_the_tool_unavailable(project):
    project.write("kit_secret", KIT)
    bound = project.bind("add", object="kit_secret:Kit", init={"base": "${env:NOT_SET}"})

    assert bound.faults == []
    assert "NOT_SET" in bound.context.unavailable


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"object": "kit_init:Kit", "init": {}}, ("signature-drift", ("object",))),
        ({"object": "kit_init:Kit", "init": {"base": 1, "x": 1}}, ("signature-drift", ("init",))),
        ({"object": "kit_init:kit", "init": {"base": 1}}, ("signature-drift", ("init",))),
        (
            {"object": "kit_init:Kit", "init": {"base": "{{ caller.tenant }}"}},
            ("unknown-name", ("init", "base")),
        ),
        (
            {"object": "kit_init:Kit", "init": {"base": "${caller:key}"}},
            ("bad-reference", ("init",)),
        ),
    ],
)
async def test_wrong_init_is_told(project, options, fault):
    project.write("kit_init", KIT)

    assert project.bind("add", **options).faults == [fault]


async def test_object_is_called_itself_or_by_a_method(project):
    project.write("kit_object", KIT)

    assert await project.bind(object="kit_object:kit").value(n=1) == 6
    assert await project.bind("add", object="kit_object:kit").value(n=1) == 8
    assert await project.bind(object="kit_object:Kit", init={"base": 1}).value(n=1) == 0


# drift


def takes(city: str, days: int = 1, *, units: str | None = None, ctx=None):
    return city, days, units, ctx


def takes_more(city: str, **more):
    return city, more


DRIFT = ("signature-drift", ("/", "parameters"))


@pytest.mark.parametrize(
    ("fn", "properties", "required", "faults"),
    [
        pytest.param(takes, {"city": STRING}, ["city"], [], id="subset"),
        pytest.param(takes, {"city": {**STRING, "default": "x"}}, [], [], id="default here"),
        pytest.param(takes, {"city": {"from": "caller.tenant"}}, ["city"], [], id="bound"),
        pytest.param(takes_more, {"city": STRING, "x": STRING}, ["city"], [], id="kwargs"),
        pytest.param(takes, {"days": INTEGER}, [], [DRIFT], id="required is not written"),
        pytest.param(
            takes, {"city": STRING, "dayz": INTEGER}, ["city"],
            [("signature-drift", ("/", "parameters", "dayz"))], id="unknown",
        ),
        pytest.param(
            takes, {"city": STRING}, [],
            [("signature-drift", ("/", "parameters", "city"))], id="optional here only",
        ),
        pytest.param(
            takes, {"city": STRING, "days": {"type": "number"}}, ["city"],
            [("signature-drift", ("/", "parameters", "days"))], id="other type",
        ),
        pytest.param(
            takes, {"city": STRING, "units": {"type": ["string", "null"]}}, ["city"], [],
            id="union",
        ),
        pytest.param(
            takes, {"city": STRING, "units": INTEGER}, ["city"],
            [("signature-drift", ("/", "parameters", "units"))], id="no branch fits",
        ),
    ],
)  # fmt: skip
async def test_drift_between_parameters_and_signature_is_told(
    project, fn, properties, required, faults
):
    assert project.bind(fn, properties, required).faults == faults


async def test_drift_names_the_function_its_place_and_the_nearest_name(project):
    project.write("kit", "\n\ndef forecast(city: str): ...\n")
    fault = project.bind("kit:forecast", {"citty": STRING, "city": STRING}, ["city"]).fault

    assert fault.message == "`forecast` (kit.py:3) does not take `citty`"
    assert fault.hint == "did you mean `city`?"
    assert fault.on_key


async def test_drift_of_a_flattened_record_compares_its_fields(project):
    project.write(
        "kit",
        """
        from dataclasses import dataclass

        @dataclass
        class Place:
            city: str
            days: int = 1

        def fn(place: Place): return place.city
        """,
    )
    right = project.bind("kit:fn", {"city": STRING}, ["city"])
    whole = project.bind("kit:fn", {"place": {"type": "object"}}, ["place"])

    assert right.faults == []
    assert await right.value(city="Rome") == "Rome"
    assert whole.faults == []
    assert await whole.value(place={"city": "Rome"}) == "Rome"
    assert project.bind("kit:fn", {"town": STRING}).faults == [
        ("signature-drift", ("/", "parameters", "town"))
    ]


async def test_written_parameters_make_up_for_a_signature_that_says_nothing(project):
    def opaque(*args, **kwargs):
        return args, kwargs

    assert await project.bind(opaque, {"a": INTEGER}, ["a"]).value(a=1) == [[], {"a": 1}]
    assert project.bind(max, {"default": STRING}).faults == []


# failing


async def test_tool_error_passes_as_its_author_meant_it(project):
    def fn():
        raise ToolError("no seats", code="sold-out", hint="try tomorrow", retryable=True)

    error = await failure(project.bind(fn))

    assert (error.code, error.message, error.hint) == ("sold-out", "no seats", "try tomorrow")
    assert error.retryable


class OwnError(Exception):
    pass


@pytest.mark.parametrize("run_in", ["thread", "inline", "async"])
@pytest.mark.parametrize(
    ("raised", "message", "is_retryable"),
    [
        (ValueError("no\nsecond line"), "ValueError: no", False),
        (KeyError("x"), "KeyError: 'x'", False),
        (TypeError(), "TypeError", False),
        (OwnError("x" * 400), f"OwnError: {'x' * 289}…", False),
        (TimeoutError("slow"), "TimeoutError: slow", True),
        (ConnectionResetError(104, "reset"), "ConnectionResetError: [Errno 104] reset", True),
        (FileNotFoundError(2, "gone", "/etc/x/y.txt"), "FileNotFoundError: [Errno 2] gone: '…/y.txt'", False),
        (OSError("GET /v1/users failed"), "OSError: GET /v1/users failed", True),
        (StopIteration("x"), "StopIteration: x", False),
        (SystemExit(3), "SystemExit: 3", False),
        (KeyboardInterrupt(), "KeyboardInterrupt", False),
        (GeneratorExit(), "GeneratorExit", False),
        (asyncio.CancelledError("x"), "CancelledError: x", False),
        (ExceptionGroup("g", [ValueError("in")]), "ValueError: in", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)  # fmt: skip
async def test_e9_exception_is_execution_failed_with_its_first_line(
    project, run_in, raised, message, is_retryable
):
    def fn():
        raise raised

    async def coroutine():
        raise raised

    chosen = {"thread": fn, "inline": fn, "async": coroutine}[run_in]
    options = {} if run_in == "async" else {"run_in": run_in}
    error = await asyncio.wait_for(failure(project.bind(chosen, **options)), 5)

    if isinstance(raised, StopIteration) and run_in == "async":
        message = "RuntimeError: coroutine raised StopIteration"
    assert isinstance(error, BindingError)
    assert (error.code, error.message) == ("execution-failed", message)
    assert error.retryable is is_retryable
    assert error.__cause__ is not None


async def test_paths_in_messages_are_relative_to_the_project(project):
    def fn():
        raise ValueError(f"bad line in {project.folder}/data/in.csv, see https://a.b/c/d")

    error = await failure(project.bind(fn))

    assert error.message == "ValueError: bad line in data/in.csv, see https://a.b/c/d"


async def test_original_exception_is_kept_for_the_operator(project):
    cause = OwnError("x")

    def fn():
        raise cause

    assert (await failure(project.bind(fn))).__cause__ is cause


async def test_generator_is_a_bad_response_that_says_what_to_do(project):
    def fn():
        return (n for n in range(3))

    error = await failure(project.bind(fn))

    assert (error.code, error.hint) == ("bad-response", "return a list, or await it first")


# cancelling


async def cancelled(task):
    task.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - started


@pytest.mark.realtime
async def test_e13_cancelled_coroutine_stops(project):
    stopped = []

    async def fn():
        try:
            await asyncio.sleep(30)
        finally:
            stopped.append(True)

    bound = project.bind(fn)
    call = bound.invocation()
    task = asyncio.create_task(bound.binding.call(call))
    await asyncio.sleep(0)

    assert await cancelled(task) < AT_ONCE_S
    assert stopped == [True]
    assert (call.is_orphaned, call.sent) == (False, "maybe")


@pytest.mark.realtime
async def test_e13_cancelled_sync_call_is_orphaned(project):
    begun, release = threading.Event(), threading.Event()

    def fn():
        begun.set()
        release.wait(10)

    bound = project.bind(fn)
    call = bound.invocation()
    task = asyncio.create_task(bound.binding.call(call))
    await asyncio.to_thread(begun.wait, 5)
    took = await cancelled(task)
    release.set()

    assert took < AT_ONCE_S
    assert (call.is_orphaned, call.sent) == (True, "maybe")


async def test_own_timeout_of_a_coroutine_is_its_failure(project):
    async def fn():
        await asyncio.wait_for(asyncio.sleep(5), 0.01)

    error = await failure(project.bind(fn))

    assert error.code == "execution-failed"
    assert error.message.startswith("TimeoutError")


async def test_cancellation_inside_a_coroutine_is_its_failure(project):
    async def fn():
        task = asyncio.ensure_future(asyncio.sleep(5))
        task.cancel()
        await task

    assert (await failure(project.bind(fn))).message.startswith("CancelledError")


async def test_log_of_a_tool_names_the_call(project, caplog):
    caplog.set_level(logging.INFO, "toolrt.tools")
    project.write(
        "kit",
        "from toolrt.core.context import Context\ndef fn(ctx: Context):\n    ctx.log('here')\n",
    )
    await project.bind("kit:fn").value()

    assert caplog.messages == ["kit.t [c1]: here"]


def test_coroutine_that_is_closed_after_its_loop_ends_quietly(tmp_path):
    async def fn():
        await asyncio.Event().wait()

    bound = Project(tmp_path).bind(fn)

    async def begin():
        call = bound.binding.call(bound.invocation())
        call.send(None)
        return call

    asyncio.run(begin()).close()


RAISES = {
    "attribute": "def __getattr__(name): {0}",
    "signature": "class F:\n    @property\n    def __signature__(self): {0}\n"
    "    def __call__(self): ...\nf = F()",
    "class": "class F:\n    @property\n    def __class__(self): {0}\n"
    "    def __call__(self): ...\nf = F()",
    "metaclass": "class M(type):\n    def __getattribute__(cls, name): {0}\n"
    "class f(metaclass=M): ...",
}


@pytest.mark.parametrize("what", ["SystemExit(0)", "RuntimeError('0')"])
@pytest.mark.parametrize("source", RAISES.values(), ids=RAISES)
@pytest.mark.parametrize("properties", [None, {"x": {"type": "string"}}], ids=["read", "written"])
async def test_user_code_that_raises_while_it_is_looked_at_is_a_fault(
    project, source, what, properties
):
    project.write("looked_at", source.format(f"raise {what}"))
    tool = project.bind("looked_at:f", properties)
    sys.modules.pop("looked_at")

    assert {code for code, _ in tool.faults} == {"import-failed"}
    assert f"looking at `looked_at:f` failed: {what.split('(')[0]}: 0 (looked_at.py:" in (
        tool.context.faults[0].message
    )


@pytest.mark.parametrize("what", ["SystemExit(0)", "RuntimeError('0')"])
async def test_an_annotation_that_raises_is_a_fault_of_its_parameter_or_none_beside_written_ones(
    project, what
):
    project.write("annotated", f"def boom(): raise {what}\ndef f(x: 'boom()' = ''): ...")

    faults = project.bind("annotated:f").context.faults
    written = project.bind("annotated:f", {"x": {"type": "string"}})
    sys.modules.pop("annotated")

    assert [fault.code for fault in faults] == ["unsupported-parameter"]
    assert "parameter `x` of `f` (annotated.py:2)" in faults[0].message
    assert what.split("(")[0] in faults[0].message
    assert written.faults == []
