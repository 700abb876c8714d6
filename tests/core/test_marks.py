import functools

import pytest

from toolrt.core.marks import OPTIONS, ToolMark, mark_of, tool
from toolrt.manifest.tool import KIND_NAMES, ToolManifest


def test_u11_bare_decorator_marks_and_gives_the_function_back():
    def fn():
        pass

    assert tool(fn) is fn
    assert mark_of(fn) == ToolMark()


def test_u11_decorator_with_options_keeps_them_raw():
    def fn():
        pass

    assert tool(name="other", timeout="5s", retry={"attempts": 2})(fn) is fn
    assert mark_of(fn) == ToolMark("other", {"timeout": "5s", "retry": {"attempts": 2}})


def test_u12_unknown_option_is_refused_with_the_nearest_one():
    with pytest.raises(TypeError, match="no option `timeuot`: did you mean `timeout`"):
        tool(timeuot="5s")


def test_options_are_the_keys_of_a_tool_beside_its_kind():
    assert set(ToolManifest.model_fields) - set(KIND_NAMES) == OPTIONS


def test_mark_cannot_be_changed():
    @tool(effect="read")
    def fn():
        pass

    with pytest.raises(TypeError):
        mark_of(fn).options["effect"] = "write"


def test_marks_are_found_on_methods_partials_and_callable_objects():
    class Kit:
        @tool(effect="read")
        def method(self):
            pass

        @tool(effect="write")
        @classmethod
        def of_class(cls):
            pass

        @staticmethod
        @tool(title="static")
        def static():
            pass

        @tool(title="called")
        def __call__(self):
            pass

    kit = Kit()
    assert mark_of(kit.method).options == {"effect": "read"}
    assert mark_of(Kit.of_class).options == {"effect": "write"}
    assert mark_of(Kit.static).options == {"title": "static"}
    assert mark_of(kit).options == {"title": "called"}
    assert mark_of(functools.partial(kit.method)).options == {"effect": "read"}
    assert mark_of(len) is None


@pytest.mark.parametrize("thing", ["name", 5])
def test_what_is_no_callable_is_refused(thing):
    with pytest.raises(TypeError, match="marks callables"):
        tool(thing)


def test_what_carries_no_attributes_is_refused():
    with pytest.raises(TypeError, match="wrap it in a function"):
        tool(len)
