import sys

import pytest

from tests.python_tools import Project
from toolrt.bindings.python import import_from
from toolrt.core.faults import FaultError


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


def test_project_folder_comes_first_on_the_path_and_once(project):
    project.write("imports_first", "a = b = 1\n")
    import_from(project.folder, "imports_first:a")
    import_from(project.folder, "imports_first:b")

    assert sys.path[0] == str(project.folder)
    assert sys.path.count(str(project.folder)) == 1


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

    assert fault.hint == "write module:function, as in pkg.mod:fn"
