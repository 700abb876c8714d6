import pytest
from reloading_project import ECHO, RULES, replace

pytestmark = pytest.mark.anyio


async def changed(project, tools=ECHO, rules=RULES, **files):
    async with project.open() as runtime:
        for name, text in files.items():
            (project.root / f"{name}.yaml").write_text(text)
        replace(project.tools, tools)
        replace(project.rules, rules)
        return (await runtime.reload(accept_loss=True)).changes


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("timeout: 5s", "timeout: 8s", "~ echo (timeout 5s -> 8s)"),
        ("    timeout: 5s\n", "", "~ echo (timeout 5s -> none)"),
        ("timeout: 5s", "timeout: {total: 5s, attempt: 2s}", "~ echo (timeout.attempt none -> 2s)"),
        ("echo:", "say:", "+ say  - echo"),
        ("Gives a text back.", "Gives.", "~ echo (description Gives a text back. -> Gives.)"),
        ("Gives a text back.", "Gives a text back. " * 9, "~ echo (description)"),
        ("[printf", "[echo", "~ echo (command.argv)"),
        ("effect: read", "tags: [a]\n    title: T\n    effect: write",
         '~ echo (effect read -> write, tags none -> ["a"], title none -> T)'),
        ("effect: read", "tags: [a]\n    title: T\n    version: '1'\n    effect: write",
         '~ echo (effect read -> write, tags none -> ["a"], title none -> T, 1 more)'),
        ("tools:", "# only a comment\ntools:", ""),
    ],
)  # fmt: skip
async def test_a_changed_tool_is_told_in_one_line(project, before, after, text):
    made = await changed(project, ECHO.replace(before, after, 1))

    if text == "~ echo (command.argv)":
        assert made.text.startswith("~ echo (command.argv [")
    else:
        assert made.text == text


async def test_defaults_of_the_project_change_the_tools_that_they_reach(project):
    made = await changed(project, toolrt="defaults: {retry: {attempts: 3}}\n")

    assert made.text == "~ echo (retry none -> 3)"


async def test_settings_of_operators_change_tools(project):
    made = await changed(project, rules=f"{RULES}settings:\n- {{tools: [echo], timeout: 9s}}\n")

    assert made.text == "~ echo (timeout 5s -> 9s)"


async def test_rules_are_told_by_id(project):
    made = await changed(
        project, rules=RULES.replace("too loud", "loud").replace("id: all", "id: every")
    )

    assert made.text == "+ rule every  ~ rule loud  - rule all"
    assert made.document()["rules"] == {"added": ["every"], "changed": ["loud"], "removed": ["all"]}


async def test_a_password_in_a_changed_value_is_not_shown(project):
    made = await changed(
        project, ECHO.replace("Gives a text back.", "See https://ann:hunter2@host/.")
    )

    assert "hunter2" not in made.text
    assert "hunter2" not in str(made.document())
