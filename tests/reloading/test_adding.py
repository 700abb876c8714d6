"""Tools that a program adds to an open project and takes away again (U84, U85)."""

import asyncio
import functools
import gc
import threading
import weakref

import pytest

import toolrt
from toolrt.testing import write_files

TOOL = "tools: {t: {description: T., command: [/bin/true]}}"


class Kit(toolrt.Toolkit):
    """Counts."""

    def __init__(self) -> None:
        self.done = 0

    @toolrt.tool
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        self.done += 1
        return a + b

    @toolrt.tool
    async def count(self) -> int:
        """How much was done."""
        return self.done

    def spare(self) -> str:
        """Is there, too."""
        return "spare"


class Plain:
    def one(self) -> int:
        """One."""
        return 1

    def two(self) -> int:
        """Two."""
        return 2


def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello, {name}."


def broken(*args, **kwargs):
    """Says nothing of what it takes."""


@pytest.fixture
def root(folder):
    return write_files(folder, {"tools.d/a.yaml": TOOL})


@pytest.fixture
async def runtime(root):
    async with toolrt.open(root) as opened:
        yield opened


pytestmark = pytest.mark.anyio


async def test_u85_a_function_is_added_under_its_own_name_and_can_be_called(runtime):
    assert await runtime.add(greet) == ["greet"]
    assert (await runtime.call("greet", {"name": "Ada"})).data == "Hello, Ada."
    assert runtime.snapshot.generation == 2


async def test_r3_a_tool_that_was_added_is_one_like_any_other(runtime):
    await runtime.add(greet, overrides={"greet": {"effect": "read", "title": "Greet"}})
    entry = runtime.snapshot.tools["greet"]

    assert (entry.namespace, entry.source, entry.title, entry.effect) == (
        None,
        "greet",
        "Greet",
        "read",
    )
    assert (await runtime.call("greet", {})).error.code == "missing-arguments"


async def test_a_name_of_ones_own_is_that_of_the_tool_or_of_the_source(runtime):
    assert await runtime.add(greet, name="hi") == ["hi"]
    assert await runtime.add(Plain(), name="numbers", prefix="n_") == [
        "numbers.n_one",
        "numbers.n_two",
    ]


async def test_anything_can_be_added(runtime, root):
    assert await runtime.add(Kit()) == ["kit.add", "kit.count"]
    assert await runtime.add(Plain) == ["plain.one", "plain.two"]
    assert await runtime.add(functools.partial(greet, "Ada"), name="ada") == ["ada"]
    write_files(root, {"added_mod.py": "def fn() -> int:\n    'One.'\n    return 1\n"})
    assert await runtime.add("added_mod:fn") == ["fn"]
    assert (await runtime.call("ada", {})).data == "Hello, Ada."
    assert (await runtime.call("fn", {})).data == 1


class Planner:
    goal = "plans"

    async def do_async(self, request: str) -> str:
        return f"planned {request}"


async def test_u40_an_agent_is_added_as_a_tool_that_asks_it(runtime):
    agent = Planner()

    assert await runtime.add(agent) == ["ask_planner"]
    assert (await runtime.call("ask_planner", {"request": "Rome"})).data == "planned Rome"
    assert await runtime.remove(agent) == ["ask_planner"]


async def test_what_a_file_would_say_can_be_added(runtime, root):
    write_files(root, {"added_two.py": "class K:\n    def fn(self) -> int:\n        'One.'\n"})

    with pytest.raises(toolrt.ProjectError, match="needs a name"):
        await runtime.add({"python": "added_two:K"})
    assert await runtime.add({"python": "added_two:K", "exclude": []}, name="k") == ["k.fn"]


async def test_u43_include_and_exclude_are_as_in_a_file(runtime):
    assert await runtime.add(Kit(), include=["spare"], exclude=["add"]) == [
        "kit.count",
        "kit.spare",
    ]


async def test_a_typo_is_told_and_nothing_is_added(runtime):
    with pytest.raises(toolrt.ProjectError, match="did you mean `spare`") as told:
        await runtime.add(Kit(), include=["spar"])

    assert "no-such-tool" in told.value.report
    assert list(runtime.snapshot.tools) == ["t"]
    assert runtime.standing.reload_success
    assert await runtime.add(Kit()) == ["kit.add", "kit.count"]


async def test_u47_all_of_it_is_added_or_nothing(runtime):
    with pytest.raises(toolrt.ProjectError, match=r"unreadable-signature(.|\n)*test_adding.py"):
        await runtime.add([greet, broken], name="both")

    assert list(runtime.snapshot.tools) == ["t"]


@pytest.mark.parametrize("value", [5, "no.such:thing", object(), {"python": "no.such:thing"}])
async def test_what_is_no_tool_is_refused(runtime, value):
    with pytest.raises(toolrt.ProjectError):
        await runtime.add(value, name="x")


class Rude:
    """Does not like to be looked at."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("go away")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("nor to be compared")

    __hash__ = None

    def __repr__(self) -> str:
        raise RuntimeError("nor to be shown")

    def fine(self) -> int:
        """Is fine."""
        return 1


class Ruder(Rude):
    @property
    def __class__(self):
        raise RuntimeError("nor to be asked what it is")


async def test_an_object_that_is_hard_to_look_at_is_added_all_the_same(runtime):
    rude = Rude()

    assert await runtime.add(rude) == ["rude.fine"]
    assert (await runtime.call("rude.fine", {})).data == 1
    with pytest.raises(toolrt.ProjectError, match="nothing was added"):
        await runtime.remove(Rude())
    assert await runtime.remove(rude) == ["rude.fine"]


async def test_an_object_that_cannot_be_looked_at_is_told_so(runtime):
    with pytest.raises(toolrt.ProjectError, match=r"nor to be asked|cannot be added"):
        await runtime.add(Ruder())
    assert list(runtime.snapshot.tools) == ["t"]


async def test_what_no_file_can_hold_is_refused(runtime):
    with pytest.raises(toolrt.ProjectError, match="cannot stand in a file"):
        await runtime.add(greet, overrides={"greet": {"title": object()}})


async def test_a_lambda_needs_a_name(runtime):
    with pytest.raises(toolrt.ProjectError, match="is no name for a tool"):
        await runtime.add(lambda: 1)
    assert await runtime.add(lambda: 1, name="one") == ["one"]


async def test_u33_one_object_is_added_once_and_the_second_time_names_both(runtime):
    kit = Kit()
    await runtime.add(kit)
    with pytest.raises(toolrt.ProjectError, match=r"`other`.*test_adding.*as `kit`.*test_adding"):
        await runtime.add(kit, name="other")
    with pytest.raises(toolrt.ProjectError, match=r"kit.add.*once more"):
        await runtime.add(kit.add)


async def test_two_of_one_name_are_told_with_both_places(runtime):
    await runtime.add(Kit())
    with pytest.raises(toolrt.ProjectError, match=r"`kit` is declared at added .*test_adding"):
        await runtime.add(Kit())
    assert await runtime.add(Kit(), name="kit2") == ["kit2.add", "kit2.count"]


async def test_a_name_of_the_files_is_taken(runtime):
    with pytest.raises(toolrt.ProjectError, match=r"declared at tools.d/a.yaml:1"):
        await runtime.add(greet, name="t")


# -- taking away ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what",
    [lambda kit: kit, lambda _: Kit, lambda _: "kit"],
    ids=["object", "class", "name"],
)
async def test_u84_an_owner_takes_all_its_tools_with_it(runtime, what):
    kit = Kit()
    await runtime.add(kit)

    assert await runtime.remove(what(kit)) == ["kit.add", "kit.count"]
    assert list(runtime.snapshot.tools) == ["t"]
    assert (await runtime.call("kit.add", {"a": 1, "b": 1})).error.code == "unknown-tool"


@pytest.mark.parametrize("what", [lambda kit: kit.add, lambda _: "kit.add"], ids=["method", "name"])
async def test_u84_one_tool_of_many_goes_alone_and_its_owner_stays(runtime, what):
    kit = Kit()
    await runtime.add(kit, overrides={"add": {"title": "Add"}})
    await runtime.call("kit.add", {"a": 1, "b": 1})

    assert await runtime.remove(what(kit)) == ["kit.add"]
    assert (await runtime.call("kit.count", {})).data == 1
    assert await runtime.add(kit) == ["kit.add"]
    assert await runtime.remove(kit) == ["kit.add", "kit.count"]


async def test_u84_an_owner_whose_last_tool_goes_is_gone_itself(runtime):
    kit = Kit()
    await runtime.add(kit)
    await runtime.remove("kit.add")

    assert await runtime.remove("kit.count") == ["kit.count"]
    assert await runtime.add(kit, name="again") == ["again.add", "again.count"]


async def test_u84_methods_that_were_added_one_by_one_go_with_their_object(runtime):
    kit = Kit()
    await runtime.add(kit.add)
    await runtime.add(kit.count)

    assert await runtime.remove(kit) == ["add", "count"]


async def test_u84_what_is_removed_can_be_added_again(runtime):
    for _ in range(3):
        assert await runtime.add(greet) == ["greet"]
        assert await runtime.remove(greet) == ["greet"]


async def test_u84_an_object_that_is_removed_is_let_go(runtime):
    kit = Kit()
    await runtime.add(kit)
    await runtime.call("kit.add", {"a": 1, "b": 1})
    await runtime.remove(kit)
    known = weakref.ref(kit)
    del kit
    await asyncio.sleep(0)
    gc.collect()

    assert known() is None


async def test_d9_what_was_not_added_is_told_with_the_nearest_name(runtime):
    await runtime.add(greet)
    with pytest.raises(toolrt.ProjectError, match="nothing was added as `gret`") as told:
        await runtime.remove("gret")
    assert told.value.hint == "did you mean `greet`?"


async def test_a_tool_of_a_file_is_taken_out_of_the_file(runtime):
    with pytest.raises(toolrt.ProjectError, match=r"it stands in tools.d/a.yaml") as told:
        await runtime.remove("t")
    assert "line 1" in told.value.hint


async def test_what_others_count_on_stays(runtime, root):
    hello = functools.partial(greet, "Ada")
    await runtime.add(hello, name="hello", overrides={"hello": {"effect": "read"}})
    fallback = "tools: {u: {description: U., command: [/bin/false], fallback: hello}}"
    write_files(root, {"tools.d/b.yaml": fallback})
    assert (await runtime.reload()).report == ""

    with pytest.raises(toolrt.ProjectError, match="cannot be removed"):
        await runtime.remove(hello)
    assert "hello" in runtime.snapshot.tools


# -- beside files --------------------------------------------------------------------------------


async def test_what_was_added_stays_when_files_are_reloaded(runtime, root):
    kit = Kit()
    await runtime.add(kit)
    before = runtime.snapshot.tools["kit.add"]
    write_files(root, {"tools.d/b.yaml": TOOL.replace("t:", "u:")})

    assert (await runtime.reload()).is_new
    assert list(runtime.snapshot.tools) == ["kit.add", "kit.count", "t", "u"]
    assert runtime.snapshot.tools["kit.add"].checker is before.checker


async def test_files_that_are_broken_do_not_keep_a_program_from_adding(runtime, root):
    write_files(root, {"tools.d/b.yaml": "tools: {u: {description: U.}}"})
    assert not (await runtime.reload()).is_accepted

    assert await runtime.add(greet) == ["greet"]
    assert not runtime.standing.reload_success
    assert not (await runtime.reload()).is_accepted
    write_files(root, {"tools.d/b.yaml": TOOL.replace("t:", "u:")})
    assert (await runtime.reload()).is_accepted
    assert list(runtime.snapshot.tools) == ["greet", "t", "u"]


async def test_l11_additions_and_reloads_take_turns(runtime, root):
    async def rewritten(number: int) -> None:
        write_files(root, {f"tools.d/n{number}.yaml": TOOL.replace("t:", f"n{number}:")})
        await runtime.reload()

    def one() -> int:
        """One."""
        return 1

    made = [functools.partial(greet, str(number)) for number in range(5)]
    adding = [runtime.add(each, name=f"p{number}") for number, each in enumerate(made)]
    await asyncio.gather(*adding, *(rewritten(number) for number in range(3)))
    await runtime.reload()

    names = {"t", *(f"p{number}" for number in range(5)), *(f"n{number}" for number in range(3))}
    assert set(runtime.snapshot.tools) == names
    gone = await asyncio.gather(*(runtime.remove(each) for each in made))
    assert gone == [[f"p{number}"] for number in range(5)]


async def test_each_is_a_generation_that_listeners_hear_of(runtime):
    heard = []
    runtime.on_reload(heard.append)
    await runtime.add(greet)
    await runtime.remove(greet)
    await asyncio.sleep(0)

    assert [(one.reason, one.generation) for one in heard] == [("added", 2), ("removed", 3)]
    assert heard[0].changes.added == ("greet",)
    assert heard[0].fingerprint != heard[1].fingerprint


async def test_rules_decide_about_what_is_added(folder):
    rules = (
        "rules: [{id: r, decide: deny, tools: ['*'], when: tool.source == 'kit'}]\ndefault: allow"
    )
    root = write_files(folder, {"tools.d/a.yaml": TOOL, "policies.d/p.yaml": rules})
    async with toolrt.open(root) as runtime:
        await runtime.add(Kit())
        await runtime.add(greet)

        assert (await runtime.call("kit.count", {})).error.code == "unknown-tool"  # it is hidden
        assert (await runtime.call("greet", {"name": "Ada"})).status == "success"


async def test_u85_two_runtimes_know_nothing_of_each_other(root):
    async with toolrt.open(root) as one, toolrt.open(root) as other:
        await one.add(greet)

        assert "greet" not in other.snapshot.tools


class Owned:
    def __init__(self) -> None:
        self.steps = []

    async def setup(self) -> None:
        self.steps.append("setup")

    async def teardown(self) -> None:
        self.steps.append("teardown")

    def one(self) -> int:
        """One."""
        return 1

    def two(self) -> int:
        """Two."""
        return 2


async def test_u49_an_object_is_set_up_once_for_all_its_tools(runtime):
    owned = Owned()
    await runtime.add(owned)
    await runtime.call("owned.one", {})
    await runtime.call("owned.two", {})

    assert owned.steps == ["setup"]


async def test_l11_another_threads_loop_may_add_and_takes_its_turn(runtime):
    made = []

    def work(number):
        function = named(f"f{number}")
        made.append(asyncio.run(runtime.add(function)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    await asyncio.gather(*(runtime.add(named(f"g{number}")) for number in range(4)))
    await asyncio.to_thread(lambda: [each.join(20) for each in threads])

    assert sorted(made) == [["f0"], ["f1"], ["f2"], ["f3"]]
    assert {f"{kind}{number}" for kind in "fg" for number in range(4)} <= {*runtime.snapshot.tools}


def named(name):
    def function() -> str:
        """Say it."""
        return name

    function.__name__ = function.__qualname__ = name
    return function


async def test_after_the_end_nothing_is_added_any_more(root):
    async with toolrt.open(root) as opened:
        pass
    with pytest.raises(toolrt.ProjectError, match="closed"):
        await opened.add(greet)


@pytest.mark.parametrize("options", [{"name": "\ud800"}, {"overrides": {"x\ud800": {}}}])
async def test_texts_that_no_file_can_hold_are_refused(runtime, options):
    with pytest.raises(toolrt.ProjectError, match="cannot stand in a file"):
        await runtime.add(Plain(), **{"name": "x", **options})


async def test_one_pattern_is_as_good_as_a_list_of_it(runtime):
    assert await runtime.add(Plain(), name="numbers", include="one") == ["numbers.one"]
