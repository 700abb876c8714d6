"""What names stand for in one call."""

from dataclasses import replace

from toolrt.core.calls import Caller
from toolrt.expressions.scope import ABSENT, Scope


def test_parameters_and_roots_are_looked_up(invocation):
    scope = Scope.of(invocation, {"region": "eu"}, result={"ok": True})

    assert scope.lookup("city") == "Tokyo"
    assert scope.lookup("vars") == {"region": "eu"}
    assert scope.lookup("result") == {"ok": True}
    assert scope.lookup("caller")["roles"] == ["finance"]
    assert scope.lookup("nothing") is ABSENT


def test_call_has_its_id_and_its_time_in_utc(invocation):
    assert Scope.of(invocation).root("call") == {"id": "c1", "time": "2023-11-14T22:13:20.250Z"}


def test_caller_without_tenant_has_no_such_key(invocation):
    assert "tenant" not in Scope.of(invocation).root("caller")


def test_roots_that_a_place_does_not_have_are_absent():
    scope = Scope({"city": "Oslo"})

    assert all(scope.root(name) is ABSENT for name in ("caller", "call", "result", "steps", "item"))


def test_argument_cannot_take_the_place_of_the_caller(invocation):
    invocation.arguments = {"caller": {"principal": "root"}}

    assert Scope.of(invocation).lookup("caller")["principal"] == "ann"


def test_credentials_of_a_caller_are_in_no_root(invocation):
    from toolrt.core.redaction import Secret

    caller = replace(Caller("ann"), credentials={"github": Secret("ghp-0123456")})
    invocation.caller = caller

    assert "credentials" not in Scope.of(invocation).root("caller")
    assert "ghp" not in repr(caller)


def test_absence_is_false_and_not_none():
    assert not ABSENT
    assert ABSENT is not None
    assert repr(ABSENT) == "ABSENT"
