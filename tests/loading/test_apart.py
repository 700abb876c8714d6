import pytest

from toolrt.loading.apart import TooMuchError, is_much, parsed
from toolrt.loading.stock import Unread


def unread(text, name="tools.d/a.yaml", *, allow_merge=True):
    return Unread(name, text.encode(), allow_merge)


def test_documents_are_the_same_as_if_they_were_parsed_here():
    files = [
        unread("tools:\n  a: &x {timeout: 1s}\n  b: *x\n"),
        unread("a: 1\na: 2\n", "twice.yaml"),
        unread("x: {<<: {a: 1}}\n", "p.yaml", allow_merge=False),
        unread("a: [", "broken.yaml"),
    ]

    for made, here in zip(parsed(files), [each.parsed() for each in files], strict=True):
        assert (made.file, made.text, made.data, made.faults) == (
            here.file, here.text, here.data, here.faults,
        )  # fmt: skip
        assert made.span(("tools", "b")) == here.span(("tools", "b"))
        assert [one.data for one in made.variants()] == [one.data for one in here.variants()]


def test_values_under_an_anchor_stay_shared():
    made = parsed([unread("a: &x {b: [1]}\nc: *x\n")])[0]

    assert made.data["a"] is made.data["c"]


def test_l8_one_that_takes_too_long_is_ended():
    with pytest.raises(TooMuchError, match=r"more than 0\.01 s"):
        parsed([unread("a: 1\n")], most_s=0.01)


def test_l8_one_that_wants_too_much_memory_is_ended():
    text = "".join(f"- {{a{n}: [b, c, d, e]}}\n" for n in range(10_000))

    with pytest.raises(TooMuchError, match="limit 30 MiB"):
        parsed([unread(text, f"{n}.yaml") for n in range(10)], most_bytes=30 << 20)


def test_a_few_small_files_are_not_worth_a_process():
    assert not is_much([unread("a: 1\n")] * 16)
    assert is_much([unread("a: 1\n")] * 17)
    assert is_much([unread("a" * 300_000)])
