"""Conditions that compare with what can never be there: told at load, with the nearest name."""

import pytest
from policies import loaded, tool

CUR = {"amount": {"type": "number"}, "cur": {"type": "string", "enum": ["EUR", "USD"]},
       "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}}}  # fmt: skip
PROJECT = "vars: {limit: 500, name: ann, on: true, rate: 1.5, list: [a], map: {a: 1}, gone: null}\n"
TOOLS = [
    tool("bank.pay", CUR, tags=["money", "out"]),
    tool("bank.look", CUR, effect="read"),
]


def told(when, key="when", tools='["bank.*"]', decide="deny"):
    """What is said of a rule with that condition, but for what is said of tools."""
    condition = when.replace("'", "''")
    rule = f"{{id: a, decide: {decide}, tools: {tools}, {key}: '{condition}'}}"
    text = f"rules:\n- {rule}\n- {{id: rest, decide: allow, tools: ['*']}}\n"
    _, found = loaded({"toolrt.yaml": PROJECT, "policies.d/p.yaml": text}, TOOLS)
    return [(each.severity, each.code, each.message, each.hint) for each in found]


@pytest.mark.parametrize(
    ("when", "message", "hint"),
    [
        ('"wirte" in risk.classes', "`risk.classes` never has `wirte`", "did you mean `write`?"),
        ("'wirte' in risk.classes && args.amount > 5.0", "`risk.classes` never has `wirte`",
         "did you mean `write`?"),
        ('tool.effect == "writes"', "`tool.effect` is never `writes`", "did you mean `write`?"),
        ('tool.effect == "Write"', "`tool.effect` is never `Write`", "did you mean `write`?"),
        ('tool.effect != r"reed"', "`tool.effect` is never `reed`", "did you mean `read`?"),
        ('"reed" == tool.effect', "`tool.effect` is never `reed`", "did you mean `read`?"),
        ('tool.effect in ["write", "irreversibel"]', "`tool.effect` is never `irreversibel`",
         "did you mean `irreversible`?"),
        ('args.cur == "EURO"', "`args.cur` is never `EURO`", "did you mean `EUR`?"),
        ('has(args.cur) && args.cur == "gold"', "`args.cur` is never `gold`",
         "known: `EUR`, `USD`"),
        ('"sun" in args.days', "`args.days` never has `sun`", "known: `mon`, `tue`"),
        ('risk.classes.exists(c, c == "wirte")', "`risk.classes` never has `wirte`",
         "did you mean `write`?"),
        ('args.cur.matches("^eu")', "`args.cur` never matches `^eu`", "known: `EUR`, `USD`"),
        ('glob(args.cur, "e*")', "`args.cur` never fits `e*`", "known: `EUR`, `USD`"),
        ('!glob( args.cur ,r"EU")', "`args.cur` never fits `EU`", "did you mean `EUR`?"),
        ('args.days.exists(d, glob(d, "s*"))', "`args.days` never fits `s*`",
         "known: `mon`, `tue`"),
        ('args.days.all(d, d.matches("x"))', "`args.days` never matches `x`",
         "known: `mon`, `tue`"),
    ],
)  # fmt: skip
def test_a_value_that_can_never_be_there_is_an_error_with_the_nearest(when, message, hint):
    assert told(when) == [("error", "unknown-value", message, hint)]


@pytest.mark.parametrize(
    ("when", "message", "hint"),
    [
        ('tool.name == "bank.pey"', "`tool.name` is never `bank.pey`", "did you mean `bank.pay`?"),
        ('tool.name == "Bank.Pay"', "`tool.name` is never `Bank.Pay`", "did you mean `bank.pay`?"),
        ('tool.name != "no.such"', "`tool.name` is never `no.such`",
         "known: `bank.look`, `bank.pay`"),
        ('tool.namespace == "bnak"', "`tool.namespace` is never `bnak`", "did you mean `bank`?"),
        ('"mony" in tool.tags', "`tool.tags` never has `mony`", "did you mean `money`?"),
        ('tool.name.startsWith("bnak.")', "`tool.name` never begins with `bnak.`", None),
        ('tool.name.endsWith("pey") && true', "`tool.name` never ends with `pey`", None),
    ],
)  # fmt: skip
def test_a_value_that_none_of_its_tools_has_is_a_warning(when, message, hint):
    found = told(when)

    assert found[0][:3] == ("warning", "unknown-value", message)
    assert hint is None or found[0][3] == hint


@pytest.mark.parametrize(
    ("when", "severity", "code", "message"),
    [
        ("risk.score >= 7", "error", "out-of-range", "`risk.score` is from 0 to 1"),
        ("7.5 <= risk.score", "error", "out-of-range", "`risk.score` is from 0 to 1"),
        ("risk.score < -1", "error", "out-of-range", "`risk.score` is from 0 to 1"),
        ("risk.score > 1.0", "warning", "constant-condition", "`risk.score > 1.0` is never true"),
        ("risk.score >= 0.0", "warning", "constant-condition",
         "`risk.score >= 0.0` is always true"),
        ('history.calls("1h") < 0', "warning", "constant-condition",
         '`history.calls("1h") < 0` is never true'),
        ('history.calls("1h") == -1', "warning", "out-of-range", "`history.calls` is 0 or more"),
        ("now.getHours() >= 24", "warning", "out-of-range", "`now.getHours` is from 0 to 23"),
        ('now.getDayOfWeek("Europe/Berlin") == 7', "warning", "out-of-range",
         "`now.getDayOfWeek` is from 0 to 6"),
        ('history.calls("0s") > 3', "error", "invalid-duration", "`0s` is no window"),
        ("false", "warning", "constant-condition", "this is never true: the rule matches no call"),
        ("1 == 2", "warning", "constant-condition", "this is never true"),
        ("args.amount > 5.0 && false", "warning", "constant-condition", "this is never true"),
        ("vars.limit == '500'", "error", "type-mismatch", "`==` cannot take an integer and a text"),
        ("vars.name > 5", "error", "type-mismatch", "`>` cannot take a text and an integer"),
        ("vars.on == 'true'", "error", "type-mismatch", "`==` cannot take a boolean and a text"),
        ("1 in vars.list", "error", "type-mismatch", "`in` cannot take an integer and a list"),
    ],
)  # fmt: skip
def test_a_comparison_that_comes_out_the_same_for_every_call_is_told(when, severity, code, message):
    (found,) = told(when)

    assert found[:2] == (severity, code)
    assert found[2].startswith(message), found


def test_an_unless_that_is_always_true_takes_the_rule_away():
    (found,) = told("true || args.amount > 5.0", "unless")

    assert found[:2] == ("warning", "constant-condition")
    assert found[2] == "this is always true: the rule matches no call"


@pytest.mark.parametrize(
    "when",
    [
        'tool.effect in ["write", "irreversible"]',
        '"irreversible" in risk.classes || "foreign" in risk.classes',
        '"sensitive" in risk.classes && risk.score >= 0.7 && risk.score <= 0.9',
        'args.cur == "EUR" && "mon" in args.days',
        'tool.name == "bank.pay" || "money" in tool.tags || tool.namespace == "bank"',
        'tool.version == "" && tool.name.startsWith("bank.")',
        '"intern" in caller.roles && caller.principal == "x"',
        'history.calls("10m") >= 20 && now.getHours() < 6 && now.getDayOfWeek() == 0',
        "args.amount > vars.rate && args.amount > vars.limit && vars.limit > 5.0",
        "vars.on && vars.gone == null && vars.map.a == 1 && has(vars.map.b) && 'a' in vars.list",
        "args.amount > 5.0 && true",
        "true",
        'args.cur + "x" == "EURx" && ("b" + args.cur) in ["bEUR"]',
        "args.days.exists(d, d == 'mon') && tool.tags.exists(t, t == 'out')",
        "args.amount > 5.0 == false",
    ],
)  # fmt: skip
def test_what_may_be_true_or_not_is_not_told(when):
    assert told(when) == []


def test_what_only_audits_or_allows_is_told_alike():
    assert told('tool.effect == "writes"', decide="allow")[0][1] == "unknown-value"


def test_tools_that_are_not_all_known_are_not_judged():
    found = told('tool.name == "shop.buy"', tools='["shop.*"]')

    assert [each[1] for each in found] == ["no-such-tool"]


@pytest.mark.parametrize("decide", ["deny", "allow"])
def test_approval_beside_a_rule_that_does_not_ask_has_no_effect(decide):
    rule = f"{{id: a, decide: {decide}, tools: ['*'], approval: {{count: 2}}}}"
    text = f"rules:\n- {rule}\n- {{id: rest, decide: allow, tools: ['*']}}\n"
    _, found = loaded({"policies.d/p.yaml": text}, TOOLS)

    (one,) = [each for each in found if each.code == "no-effect"]
    assert (one.severity, one.path) == ("warning", "rules[0].approval")
    assert one.message == f"`approval` does nothing in a rule that says `{decide}`"
    assert one.hint == "`decide: ask` has somebody asked"


@pytest.mark.parametrize(
    "when",
    [
        'args.cur.matches("U")',
        'args.cur.matches("^(EUR|GBP)$")',
        'args.cur.matches("x*")',
        'glob(args.cur, "*")',
        'glob(args.cur, "*R")',
        'glob("EUR", args.cur)',
        "glob(args.cur, args.cur)",
        'args.days.exists(d, glob(d, "*e"))',
    ],
)
def test_a_pattern_that_some_value_fits_is_in_order(when):
    assert told(when) == []


@pytest.mark.parametrize(
    ("when", "code", "message"),
    [
        ('now > timestamp("nope")', "invalid-condition", "this is no time"),
        ('now > timestamp("2030-13-01T00:00:00Z")', "invalid-condition", "this is no time"),
        ('now - duration("1x") > now', "invalid-duration", "this is no duration"),
        ('now.getHours("Mars/Base") > 2', "invalid-condition", "this is no time zone"),
        ('now.getDayOfWeek( "x" ) > 2', "invalid-condition", "this is no time zone"),
    ],
)
def test_p9_a_literal_that_no_function_takes_is_an_error(when, code, message):
    found = told(when)
    assert [each[:3] for each in found] == [("error", code, message)]
    assert found[0][3].startswith("write ")


@pytest.mark.parametrize(
    "when",
    [
        'now > timestamp("2030-01-31T12:00:00+02:00")',
        'now - duration("1h30m") > timestamp("2030-01-31T12:00:00Z")',
        'now.getHours("Europe/Berlin") > 2 && now.getHours("+02:00") > 2 && now.getHours("UTC") > 1',
        'args.cur == "getHours(" || args.cur == "EUR"  // timestamp("nope")',
    ],
)
def test_p9_times_and_zones_that_there_are_are_in_order(when):
    assert [each for each in told(when) if each[1] != "unknown-value"] == []
