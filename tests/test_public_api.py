"""What `import toolrt` promises: these names, found lazily, and nothing by accident."""

import subprocess
import sys

import pytest

import toolrt

PUBLIC = [
    "Caller",
    "Context",
    "Failure",
    "ProjectError",
    "Runtime",
    "ToolError",
    "ToolResult",
    "Toolkit",
    "ToolrtError",
    "__version__",
    "open",
    "run",
    "tool",
]


def test_the_public_names_are_these_and_sorted() -> None:
    assert list(toolrt.__all__) == PUBLIC
    assert sorted(PUBLIC) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_found_by_itself(name: str) -> None:
    code = f"from toolrt import {name}; assert {name}"

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_dir_names_the_public_ones() -> None:
    assert set(PUBLIC) <= set(dir(toolrt))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        toolrt.nonsense  # noqa: B018 - looking it up is the point


def test_a_public_class_calls_itself_by_its_public_name() -> None:
    assert all(getattr(toolrt, name) is getattr(toolrt, name) for name in PUBLIC)
