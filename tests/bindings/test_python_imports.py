import asyncio
import importlib.util
import re
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import metadata

import pytest

from tests.python_tools import Project
from toolrt.bindings.python import import_from
from toolrt.bindings.python_finder import OURS
from toolrt.core.errors import ProjectError
from toolrt.core.faults import FaultError
from toolrt.testing import open_files


@pytest.fixture
def project(tmp_path):
    before = list(sys.path)
    yield Project(tmp_path)
    sys.path[:] = before


def failure(project, dotted):
    with pytest.raises(FaultError) as error:
        import_from(project.folder, dotted)
    (fault,) = error.value.faults
    assert fault.code == "import-failed"
    return fault


def test_dotted_name_leads_through_modules_and_attributes(project):
    project.write("billing/tools", "class Kit:\n    class Inner:\n        pay = 5\n")

    assert import_from(project.folder, "billing.tools:Kit.Inner.pay") == 5


def test_project_folder_comes_last_on_the_path_and_once(project):
    project.write("imports_last", "a = b = 1\n")
    import_from(project.folder, "imports_last:a")
    import_from(project.folder, "imports_last:b")

    assert sys.path.count(str(project.folder)) == 1
    installed = [place for place, each in enumerate(sys.path) if "site-packages" in each]
    assert sys.path.index(str(project.folder)) > max(installed)


def test_folder_that_a_program_has_on_its_path_stays_where_it_is(project):
    sys.path.insert(0, str(project.folder))
    project.write("imports_there", "a = 1\n")
    import_from(project.folder, "imports_there:a")

    assert sys.path[0] == str(project.folder)


def test_files_of_the_project_take_no_place_of_modules_still_to_be_imported(project):
    project.write("colorsys", "raise SystemExit('taken')\n")
    project.write("imports_user", "import colorsys\nrgb = colorsys.rgb_to_hls\n")
    sys.modules.pop("colorsys", None)

    assert callable(import_from(project.folder, "imports_user:rgb"))


@pytest.mark.parametrize("file", ["http", "http/__init__"])
def test_file_that_has_the_name_of_pythons_own_module_is_told_so(project, file):
    project.write(file, "def fn(): ...\nclass HTTPStatus: ...\n")
    for name in ("fn", "HTTPStatus"):
        fault = failure(project, f"http:{name}")
        assert fault.message == f"`http` is Python's own module, and hides {file}.py"
        assert fault.hint == f"rename {file}.py"


def test_file_in_a_folder_that_has_the_name_of_pythons_own_package_is_told_so(project):
    project.write("http/tools", "def fn(): ...\n")
    fault = failure(project, "http.tools:fn")

    assert fault.message == "there is no module `tools` in package `http`"
    assert fault.hint == "`http` is Python's own module, and hides http/tools.py: rename it"


def test_file_that_has_the_name_of_an_installed_module_is_told_so(project):
    project.write("tenacity", "def fn(): ...\n")
    fault = failure(project, "tenacity:fn")

    assert fault.message == "`tenacity` is an installed module, and hides tenacity.py"
    assert "tenacity" in sys.modules


def test_a_module_of_the_project_comes_before_an_installed_one(tmp_path):
    before = list(sys.path)
    project = Project(tmp_path / "one")
    installed = project.folder / ".venv" / "site-packages"
    project.write("imports_lib", "def mine(): ...\n")
    project.write(".venv/site-packages/imports_lib", "def theirs(): ...\n")
    sys.path.insert(0, str(installed))
    try:
        assert import_from(project.folder, "imports_lib:mine")
        assert sys.modules["imports_lib"].__file__ == str(project.folder / "imports_lib.py")
    finally:
        sys.path[:] = before


def test_a_bare_folder_of_the_project_comes_before_another_one_and_after_a_package(tmp_path):
    before = list(sys.path)
    project, elsewhere = Project(tmp_path / "one"), Project(tmp_path / "two")
    for each, text in ((project, "here = 1\n"), (elsewhere, "there = 1\n")):
        each.write("imports_bare/mod", text)
        each.write("imports_full/mod", text)
    elsewhere.write("imports_full/__init__", "")
    sys.path.insert(0, str(elsewhere.folder))
    try:
        assert import_from(project.folder, "imports_bare.mod:here")
        assert "hides imports_full/mod.py" in failure(project, "imports_full.mod:here").message
    finally:
        sys.path[:] = before


def test_no_module_that_toolrt_needs_is_looked_for_in_a_project():
    """What our libraries require, and what those require, by the names that are imported."""
    by_distribution = {}
    for module, distributions in metadata.packages_distributions().items():
        for each in distributions:
            by_distribution.setdefault(_bare_name(each), set()).add(module)
    todo, seen = ["toolrt"], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        wanted = [each for each in metadata.requires(name) or () if "extra ==" not in each]
        todo += [_bare_name(re.match(r"[\w.-]+", each)[0]) for each in wanted if _is_here(each)]
    needed = {module for name in seen for module in by_distribution.get(name, ())}
    assert {each for each in needed if _is_module(each)} - OURS == set()


def _is_module(name):
    """Not so the bare folders that a wheel leaves beside its package."""
    if name.startswith("_") or not name.isidentifier():
        return False
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.loader is not None and spec.origin is not None


def _bare_name(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_here(requirement):
    with suppress(metadata.PackageNotFoundError):
        return bool(metadata.distribution(re.match(r"[\w.-]+", requirement)[0]))
    return False


def test_project_that_is_on_the_path_by_another_spelling_is_the_same(tmp_path):
    before = list(sys.path)
    project = Project(tmp_path / "real")
    project.write("imports_spelled", "a = 1\n")
    (tmp_path / "link").symlink_to(project.folder)
    sys.path.insert(0, str(tmp_path / "link"))
    try:
        assert import_from(project.folder, "imports_spelled:a") == 1
    finally:
        sys.path[:] = before


def test_module_that_is_a_link_out_of_the_project_is_the_projects(project):
    project.write("elsewhere/shared", "a = 1\n")
    (project.folder / "imports_link.py").symlink_to(project.folder / "elsewhere" / "shared.py")

    assert import_from(project.folder, "imports_link:a") == 1


def test_module_that_finds_another_in_place_of_its_neighbour_is_told_so(project):
    project.write("tenacity", "def mine(): ...\n")
    project.write("imports_neighbour", "from tenacity import mine\n")
    fault = failure(project, "imports_neighbour:mine")

    assert fault.message.startswith("importing `imports_neighbour` failed: ImportError")
    assert fault.hint == "`tenacity` is an installed module, and hides tenacity.py: rename it"


def test_pythons_own_modules_are_not_forgotten_with_those_of_another_project(tmp_path):
    before = sys.modules["json"]
    for folder in ("one", "two"):
        project = Project(tmp_path / folder)
        project.write("json", "x = 1\n")
        failure(project, "json:x")

    assert sys.modules["json"] is before


RUNS_A_LOOP = """
import asyncio, signal, threading

async def found():
    await asyncio.sleep(0)
    return asyncio.current_task() is not None

a = asyncio.run(found())
is_main = threading.current_thread() is threading.main_thread()
"""


@pytest.mark.anyio
async def test_module_that_runs_a_loop_of_its_own_is_imported_beside_a_running_one(project):
    project.write("imports_loop", RUNS_A_LOOP)
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    assert import_from(project.folder, "imports_loop:a") is True
    assert import_from(project.folder, "imports_loop:is_main") is True
    assert (asyncio.get_running_loop(), asyncio.current_task()) == (loop, task)
    await asyncio.sleep(0)


@pytest.mark.anyio
async def test_loop_goes_on_after_a_module_failed_to_import(project):
    project.write("imports_fails", "raise ValueError('no')\n")
    failure(project, "imports_fails:a")

    await asyncio.sleep(0)
    assert asyncio.current_task() is not None


def test_two_threads_import_modules_that_need_each_other(project):
    for own, other in (("one", "two"), ("two", "one")):
        project.write(
            f"imports_{own}", f"import time; time.sleep(0.05)\nimport imports_{other}\na = 1\n"
        )
    found = []
    threads = [
        threading.Thread(
            target=lambda name=name: found.append(import_from(project.folder, name)), daemon=True
        )
        for name in ("imports_one:a", "imports_two:a")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert found == [1, 1]


def test_module_written_a_moment_ago_is_found(project):
    failure(project, "imports_late:a")
    project.write("imports_late", "a = 1\n")

    assert import_from(project.folder, "imports_late:a") == 1


def test_two_projects_with_modules_of_one_name_keep_apart(tmp_path):
    first, second = Project(tmp_path / "one"), Project(tmp_path / "two")
    first.write("imports_twin/deep", "where = 'one'\n")
    second.write("imports_twin/deep", "where = 'two'\n")

    assert import_from(first.folder, "imports_twin.deep:where") == "one"
    assert import_from(second.folder, "imports_twin.deep:where") == "two"


def test_missing_module_names_the_nearest_file(project):
    project.write("billing", "")
    fault = failure(project, "biling:pay")

    assert fault.message == "there is no module `biling` in the project's folder or installed"
    assert fault.hint == "did you mean `billing`?"


def test_missing_module_of_a_package_names_the_nearest_one_in_it(project):
    project.write("imports_pkg/__init__", "")
    project.write("imports_pkg/invoices", "")
    fault = failure(project, "imports_pkg.invoces:pay")

    assert fault.message == "there is no module `invoces` in package `imports_pkg`"
    assert fault.hint == "did you mean `imports_pkg.invoices`?"


def test_missing_attribute_names_the_nearest_one(project):
    project.write("imports_attr", "class Kit:\n    def pay(self): ...\n")

    fault = failure(project, "imports_attr:Kitt")
    assert (fault.message, fault.hint) == (
        "`imports_attr` has no `Kitt`",
        "did you mean `Kit`?",
    )
    assert failure(project, "imports_attr:Kit.pays").message == ("`imports_attr:Kit` has no `pays`")


def test_module_that_lacks_another_is_not_called_missing_itself(project):
    project.write("imports_needs", "x = 1\nimport not_installed_at_all\n")
    fault = failure(project, "imports_needs:x")

    assert fault.message == (
        "importing `imports_needs` failed: ModuleNotFoundError: "
        "No module named 'not_installed_at_all' (imports_needs.py:2)"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n\nraise ValueError('no\\nmore')", "ValueError: no (imports_bad.py:3)"),
        ("def f(:\n    pass", "SyntaxError: invalid syntax (imports_bad.py:1)"),
        ("import sys\nsys.exit(3)", "SystemExit: 3 (imports_bad.py:2)"),
        ("import json\njson.loads('x')", "JSONDecodeError: Expecting value: line 1 column 1 (char 0) (imports_bad.py:2)"),
    ],
    ids=["error", "syntax", "exit", "error below"],
)  # fmt: skip
def test_module_that_fails_tells_type_message_and_place(project, source, message):
    project.write("imports_bad", source)

    assert failure(project, "imports_bad:f").message == f"importing `imports_bad` failed: {message}"


def test_interrupt_while_importing_is_the_users(project):
    project.write("imports_interrupt", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        import_from(project.folder, "imports_interrupt:f")


@pytest.mark.parametrize("dotted", ["os.path.join", "os:", ":fn", "a b:c", "os:path:join", ""])
def test_what_is_no_dotted_name_is_told_the_form(project, dotted):
    fault = failure(project, dotted)

    right = "os.path:join" if dotted == "os.path.join" else "module:function, as in pkg.mod:fn"
    assert fault.hint == f"write {right}"


@pytest.mark.parametrize(
    ("where", "ending", "status"),
    [("", "pass", 0), ("", "sys.exit(7)", 7), ("def __getattr__(name):", "pass", 0)],
)
def test_clone_that_a_module_forks_does_not_go_on(tmp_path, where, ending, status):
    """The parent writes what its child ended with; a child that went on would write a line, too."""
    (tmp_path / "imports_forks.py").write_text(
        f"""
import os, sys
seen = []
{where or "if True:"}
    child = os.fork()
    if child == 0:
        {ending}
    else:
        seen.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    fn = seen
    {"return seen" if where else ""}
"""
    )
    source = f"""
from pathlib import Path
from toolrt.bindings.python_imports import import_from, looking_at
project = Path({str(tmp_path)!r})
with looking_at("it", project):
    found = import_from(project, "imports_forks:fn")
print("ended", found[0], flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", source],
        check=False,
        timeout=20,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"ended {status}\n", done.stderr


@pytest.mark.parametrize("stand_in", ["types.SimpleNamespace(fn=5)", "Proxy()"])
def test_module_that_puts_something_in_its_place_is_the_projects_own(project, stand_in):
    project.write(
        "imports_stand_in",
        f"""
        import sys, types

        class Proxy:
            def __getattr__(self, name):
                if name.startswith("__"):
                    raise AttributeError(name)
                return 5

        sys.modules[__name__] = {stand_in}
        """,
    )
    try:
        assert import_from(project.folder, "imports_stand_in:fn") == 5
        assert import_from(project.folder, "imports_stand_in:fn") == 5
    finally:
        del sys.modules["imports_stand_in"]


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("trips.py:plan", "trips:plan"),
        ("trips.plan:upper", None),
        ("trips.plan", "trips:plan"),
        ("./trips.py:plan", "trips:plan"),
        ("trips/plan:fn", "trips.plan:fn"),
        ("pkg/mod.py:fn", "pkg.mod:fn"),
        ("pkg.mod.fn", "pkg.mod:fn"),
        ("trips::plan", "trips:plan"),
        ("trips:plan()", "trips:plan"),
        ("trips.py", None),
        ("trips", None),
    ],
)
@pytest.mark.anyio
async def test_a_slip_in_a_dotted_name_is_one_fault_that_says_what_to_write(written, right):
    files = {
        "trips.py": "def plan(): 'Plans.'",
        "tools.d/t.yaml": f"tools: {{t: {{python: '{written}'}}}}",
    }
    with pytest.raises(ProjectError) as caught:
        async with open_files(files):
            pass

    report = caught.value.report
    assert report.count(": error[") == 1
    assert right is None or f"write {right}" in report
