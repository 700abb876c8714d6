import os

import pytest

from toolrt.loading.loader import load_files
from toolrt.loading.stock import Library, Stock
from toolrt.loading.survey import survey
from toolrt.testing import write_files

TOOLS = "tools:\n  a: {description: A., command: [true]}\n"
POLICIES = "rules: []\n"


@pytest.fixture
def root(tmp_path):
    return write_files(tmp_path, {"tools.d/a.yaml": TOOLS, "policies.d/p.yaml": POLICIES})


def test_a_file_that_has_not_changed_is_not_parsed_again(root):
    library = Library()
    before = load_files(survey(root, library))
    library.turn()
    (root / "policies.d" / "p.yaml").write_text("rules: []\n# more\n")
    after = load_files(survey(root, library))

    assert after.tools[0].document is before.tools[0].document
    assert after.policies[0].document is not before.policies[0].document


def test_what_a_generation_did_not_ask_for_is_forgotten(root):
    library = Library()
    first = load_files(survey(root, library)).tools[0].document
    for text in ("tools: {}\n", TOOLS):
        library.turn()
        (root / "tools.d" / "a.yaml").write_text(text)
        again = load_files(survey(root, library))

    assert again.tools[0].document is not first


def test_settings_are_laid_over_a_tool_once_however_often_it_is_loaded(root):
    text = "settings:\n- {tools: [a], timeout: 7s}\n"
    (root / "policies.d" / "p.yaml").write_text(text)
    library = Library()
    from toolrt.loading.settings import lay_settings

    for _ in range(3):
        files = load_files(survey(root, library))
        lay_settings(files)
        library.turn()

    assert [layer.name for layer in files.tools[0].layered.layers] == ["tool", "settings"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tools.d/a.yaml", TOOLS + "\n"),
        ("tools.d/b.yml", ""),
        ("policies.d/p.yaml", ""),
        ("toolrt.yaml", ""),
    ],
)
def test_l3_any_change_of_a_manifest_is_another_fingerprint(root, name, text):
    before = survey(root, Library())
    (root / name).write_text(text)
    after = survey(root, Library())

    assert after.fingerprint != before.fingerprint
    assert not after.is_as(before)
    assert not before.is_as(after)


@pytest.mark.parametrize(
    "name", ["tools.d/.a.yaml.swp", "tools.d/a.yaml~", "tools.d/4913", "x.yaml"]
)
def test_l4_what_editors_leave_behind_is_no_change(root, name):
    before = survey(root, Library())
    (root / name).write_text("x")

    assert survey(root, Library()).is_as(before)


def test_a_file_that_becomes_unreadable_is_a_change(root):
    before = survey(root, Library())
    (root / "tools.d" / "a.yaml").unlink()
    os.mkfifo(root / "tools.d" / "a.yaml")

    assert not survey(root, Library()).is_as(before)


def test_a_name_and_its_text_cannot_be_mistaken_for_others(tmp_path):
    one = write_files(tmp_path / "1", {"tools.d/a.yaml": "x\n", "tools.d/b.yaml": ""})
    two = write_files(tmp_path / "2", {"tools.d/a.yaml": "", "tools.d/b.yaml": "x\n"})

    assert survey(one, Library()).fingerprint != survey(two, Library()).fingerprint


def test_other_folders_are_those_that_the_project_file_names(root):
    write_files(root, {"toolrt.yaml": "tools_dir: 1\npolicies_dir: rules\n", "1/t.yaml": TOOLS})
    stock = survey(root, Library())

    assert stock.folders == (root / "1", root / "rules")
    assert stock.is_as(load_files(survey(root, Library())).stock)


def test_what_is_compiled_is_what_was_looked_at(root):
    stock = survey(root, Library())
    (root / "tools.d" / "a.yaml").write_text("tools: {}\n")

    assert [tool.name for tool in load_files(stock).tools] == ["a"]


def test_a_stock_reads_what_nobody_surveyed(root):
    assert [tool.name for tool in load_files(Stock(root)).tools] == ["a"]


@pytest.mark.parametrize("name", ["policies.d/sub/p.yaml", "tools.d/sub/deeper/t.yml"])
def test_p8_a_subfolder_that_is_not_read_is_a_change(root, name):
    before = survey(root, Library())
    write_files(root, {name: ""})
    after = survey(root, Library())

    assert not after.is_as(before)
    assert not before.is_as(after)
    assert after.is_as(load_files(after).stock)
    assert after.is_as(load_files(survey(root, Library())).stock)


def test_p8_an_empty_subfolder_is_no_change(root):
    before = survey(root, Library())
    (root / "policies.d" / "sub").mkdir()

    assert survey(root, Library()).is_as(before)
