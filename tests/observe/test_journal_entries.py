"""What is written of a call: masked, bounded, and whole whatever the call holds."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_desk import call

from toolrt.core.calls import Caller, Invocation
from toolrt.core.decisions import Decision
from toolrt.core.redaction import Redactor
from toolrt.core.results import Attempt, Failure, Pause, ToolResult
from toolrt.observe import journal_entries
from toolrt.observe.journal_entries import MOST_BYTES, SPAN_S, PerTool, Scribe
from toolrt.observe.journal_values import entries_of

PAY = PerTool("t.add", Decision("allow"), "h", frozenset({"card"}), frozenset({"card", "a"}))


def scribe(redactor=None):
    clock = SimpleNamespace(wall=lambda: 0.0, monotonic=lambda: 0.0)
    return Scribe(redactor or Redactor(), clock)


def rows(calls, tool=PAY, redactor=None):
    batch = scribe(redactor)
    for each in calls:
        batch.note(*each, tool)
    return batch.calls()


def written(*calls, tool=PAY, redactor=None):
    segments = rows(calls, tool, redactor)
    return [entry for each in segments for entry in entries_of(each.kind, each.body)]


def arguments(*more, **options):
    (entry,) = written(call(*more, **options.pop("call", {})), **options)
    return entry["arguments"]


def test_sensitive_arguments_are_masked():
    assert arguments(1, {"card": "4111", "a": 1}) == {"card": "***", "a": 1}


def test_sensitive_arguments_of_an_intended_effect_are_masked():
    segment = scribe().intent(call(1, {"card": "4111", "a": 1})[0], PAY, 1.0)

    assert b"4111" not in segment.body


@pytest.mark.parametrize("code", ["invalid-arguments", "missing-arguments"])
def test_where_arguments_failed_their_checks_all_are_masked_if_any_is_sensitive(code):
    given = {"crad": "4111", "a": 1}

    assert arguments(1, given, call={"code": code}) == {"crad": "***", "a": "***"}
    assert arguments(1, given, call={"code": code}, tool=PerTool("t.add")) == given
    assert arguments(1, "4111", call={"code": code}) == "***"


@pytest.mark.parametrize("code", ["budget-exhausted", "unavailable", "denied", "cancelled"])
def test_where_nobody_knows_whether_arguments_were_checked_a_wrong_name_masks_them(code):
    given = {"card": "4111", "a": 1}

    assert arguments(1, given, call={"code": code}) == {"card": "***", "a": 1}
    assert arguments(1, {"crad": "4111", "a": 1}, call={"code": code}) == {
        "crad": "***",
        "a": "***",
    }
    assert arguments(1, '{"card": "4111"}', call={"code": code}) == "***"
    assert arguments(1, ["4111"], call={"code": code}) == "***"


def test_arguments_of_a_tool_that_does_not_exist_are_masked():
    assert arguments(1, {"a": 1}, call={"code": "unknown-tool"}, tool=None) == {"a": "***"}


def test_two_unknown_tools_keep_their_names():
    calls = [call(n, tool=name, code="unknown-tool") for n, name in enumerate("xy")]

    assert [entry["tool"] for entry in written(*calls, tool=None)] == ["x", "y"]


def test_each_call_keeps_its_own_caller_decision_and_generation():
    deny = Decision("deny", rule="no", would_be=("maybe",))
    calls = [
        call(1),
        call(2, caller=Caller("ann")),
        call(3, decision=deny, code="denied"),
        call(4, generation=9),
    ]
    told = [
        (each["caller"]["principal"], each["decision"], each["generation"])
        for each in written(*calls)
    ]

    allow = {"decision": "allow", "rule": None}
    assert told == [
        ("bot", allow, 3),
        ("ann", allow, 3),
        ("bot", {"decision": "deny", "rule": "no", "would_be": ["maybe"]}, 3),
        ("bot", allow, 9),
    ]


def test_attempts_that_failed_and_approvals_are_told():
    record = SimpleNamespace(id="abc")
    pause = Pause("def", "confirm", 1.0, "wait")
    first, second, plain = written(
        call(1, failed=(Attempt(1, "timeout", 0.25),), approval=record),
        call(2, status="paused", pause=pause),
        call(3),
    )

    assert first["failed"] == [{"number": 1, "error": "timeout", "delay_s": 0.25}]
    assert first["approval"] == "abc"
    assert second["approval"] == "def"
    assert "approval" not in plain


class Raising(dict):
    def items(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"a": object()}, "is of type object, which JSON does not have"),
        ({"a": float("nan")}, "is nan, which JSON does not have"),
        ({"a": "\ud800"}, "holds \\ud800, half a character (a lone surrogate)"),
        (Raising(a=1), "is of type Raising, which cannot be read (RuntimeError)"),
    ],
)
def test_arguments_that_are_no_json_are_told_by_the_reason(given, reason):
    given = {"x": given} if isinstance(given, Raising) else given

    assert arguments(1, given, call={"code": "invalid-arguments"}) == {"unreadable": reason}


def test_names_of_any_kind_fit_into_a_row():
    odd = Caller("\ud800\x1b[2J" + "x" * 1000, ("\udfff",), "\ud800", "\ud800")
    (entry,) = written(call(1, tool="\ud800" * 999, caller=odd, code="unknown-tool"), tool=None)

    assert entry["caller"]["principal"].startswith("\\ud800\x1b[2J")
    assert len(entry["caller"]["principal"]) < 2000
    assert len(entry["tool"]) < 2000


def test_one_odd_call_spoils_no_other():
    odd = call(2, {"a": "\ud800"})
    entries = written(call(1), odd, call(3))

    assert [entry["call_id"] for entry in entries] == ["call-1", "call-2", "call-3"]
    assert entries[1]["arguments"] == {"unreadable": "is no JSON"}
    assert entries[2]["arguments"] == {"a": 3}


def test_arguments_too_long_to_keep_are_told_by_size_and_hash():
    entries = written(call(1), call(2, {"text": "x" * MOST_BYTES}), call(3))

    assert entries[1]["arguments"]["bytes"] == MOST_BYTES + 11
    assert len(entries[1]["arguments"]["sha256"]) == 64
    assert [entry["call_id"] for entry in entries] == ["call-1", "call-2", "call-3"]


def test_rows_are_bounded_in_size_and_span():
    calls = [call(n, {"text": "x" * 100_000}) for n in range(40)]
    late = call(99)
    late[0].started += 2 * SPAN_S
    segments = rows([*calls, late])

    assert sum(each.count for each in segments) == 41
    assert all(len(each.body) <= MOST_BYTES and each.until - each.at <= SPAN_S for each in segments)


def test_a_caller_of_endless_roles_keeps_no_call_from_the_journal():
    many = Caller("ann", tuple(f"{number}" * 50 for number in range(10_000)))
    told = written(call(1), call(2, caller=many), call(3))

    assert [each["call_id"] for each in told] == ["call-1", "call-2", "call-3"]
    assert len(told[1]["caller"]["roles"]) == 10_000
    assert [each["arguments"] for each in told[::2]] == [{"a": 1}, {"a": 3}]


ENDED = st.fixed_dictionaries(
    {
        "caller": st.sampled_from([Caller("ann"), Caller("bob", ("x", "y"), "acme", "s")]),
        "arguments": st.dictionaries(
            st.text("ab", max_size=2), st.integers() | st.text("é\0", max_size=3), max_size=2
        ),
        "number": st.sampled_from([0, 1, 12]),
        "seconds": st.sampled_from([0.0, 1.25, 7.5]),
    },
    optional={
        "status": st.sampled_from(["error", "partial", "paused"]),
        "code": st.sampled_from(["timeout", "denied", "unknown-tool"]),
        "attempts": st.sampled_from([0, 2, 3]),
        "generation": st.sampled_from([1, 2]),
        "marks": st.sampled_from(
            [
                {"fallback": {"tool": "t"}},
                {"batch": {"id": "b", "call": "1"}},
                {"parent": "c-1"},
                {},
            ]
        ),
        "is_cached": st.booleans(),
        "decision": st.sampled_from(
            [Decision("allow", "rule"), Decision("deny", "no", would_be=("a", "b"))]
        ),
        "approval": st.just(SimpleNamespace(id="a1")),
        "failed": st.sampled_from([(Attempt(1, "timeout"),), (Attempt(1, "x", None),)]),
    },
)


def case_of(number, told):
    """A call as the gateway leaves it, and what the journal is to say of it."""
    told, tool = dict(told), [PAY, PerTool("t.plain")][number % 2]
    own, seconds = told.pop("number"), told.pop("seconds")
    status, code = told.pop("status", "success"), told.pop("code", None) or "internal"
    code = code if status == "error" else None
    pause = Pause("p1", "confirm", 1.0, "wait") if status == "paused" else None
    given, more = told.pop("arguments"), {"attempts": 1, **told}
    id_ = f"c-{own}" if own else f"other-{number}"
    ended = Invocation(id_, tool.name, given, more.pop("caller"), None, seconds / 2, 9.0, 3)
    ended.number = own
    for name, value in more.items():
        setattr(ended, name, value)
    failure = Failure(code, "no") if code else None
    return (
        ended,
        ToolResult(id_, tool.name, status, error=failure, time_s=seconds, pause=pause),
        tool,
    )


def document(ended, result, tool):
    """What the journal says of a call, written out plainly."""
    caller, decision = ended.caller, ended.decision or tool.decision
    told = {
        "kind": "call",
        "call_id": ended.call_id,
        "at": ended.started + result.time_s,
        "tool": tool.name,
        "caller": {
            "principal": caller.principal,
            "roles": list(caller.roles),
            "tenant": caller.tenant,
            "session": caller.session,
        },
        "decision": decision and {"decision": decision.verdict, "rule": decision.rule},
        "generation": ended.generation,
        "policy_hash": tool.policy_hash,
        "arguments": ended.arguments,
        "status": result.status,
        "code": result.error and result.error.code,
        "attempts": ended.attempts,
        "time_ms": result.time_s * 1000,
        **(ended.marks or {}),
    }
    if decision and decision.would_be:
        told["decision"]["would_be"] = list(decision.would_be)
    if result.error and tool.sensitive and not tool.parameters.issuperset(ended.arguments):
        told["arguments"] = dict.fromkeys(ended.arguments, "***")
    if ended.is_cached:
        told["cached"] = True
    if ended.failed:
        delay = {} if ended.failed[0].delay_s is None else {"delay_s": 0.0}
        told["failed"] = [{"number": 1, "error": ended.failed[0].error, **delay}]
    if ended.approval is not None:
        told["approval"] = "a1"
    elif result.pause is not None:
        told["approval"] = "p1"
    return told


@given(st.lists(ENDED, max_size=12), st.sampled_from([700, 2000, MOST_BYTES]))
@settings(max_examples=300, deadline=None)
def test_what_is_read_is_the_plain_document_of_each_call(cases, most_bytes):
    calls = [case_of(number, each) for number, each in enumerate(cases)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_entries, "MOST_BYTES", most_bytes)
        batch = scribe()
        for each in calls:
            batch.note(*each)
        segments = batch.calls()

    assert sum(each.count for each in segments) == len(calls)
    told = [entry for each in segments for entry in entries_of(each.kind, each.body)]
    assert told == [document(*each) for each in calls]


def test_o1_only_what_holds_a_secret_is_masked():
    redactor = Redactor()
    redactor.learn("hunter2")
    told = written(
        call(1, {"a": "fine", "hunter2": ["x hunter2 y"]}),
        call(2, {"a": "fine"}),
        redactor=redactor,
    )

    assert [each["arguments"] for each in told] == [
        {"a": "fine", "***": ["x *** y"]},
        {"a": "fine"},
    ]


def test_an_entry_of_others_is_one_json_object_whatever_it_holds():
    segment = scribe().entry({"kind": "x", "at": 1.0, "what": object, "note": "a\nb"})

    assert json.loads(segment.body)["note"] == "a\nb"
    assert b"\n" not in segment.body


def test_no_calls_make_no_row():
    assert rows([]) == []
