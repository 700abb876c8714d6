"""Planted faults in three files: each told once, in its place, and all of it on one screen."""

from toolrt.loading.snippet import render, summary
from toolrt.runtime import load
from toolrt.testing import write_files

FILES = {
    "tools.d/weather.yaml": """\
namespace: weather
targets:
  api: {url: https://api.example.com/v1, §hedaers: {Accept: text/plain}}
defaults: {timeout: §10sec}
tools:
  forecast:
    description: Forecast for a city.
    parameters: {city: string, days: {type: §integr, default: 3}}
    http: {target: api, url: "/forecast/{{ §ctiy }}", query: {days: "{{ days }}"}}
    reject: [{when: args.§dyas > 14, reason: Too far ahead.}]
""",
    "tools.d/system.yaml": """\
tools:
  disk_usage:
    description: Größe eines Ordners, 目录大小.
    parameters: {path: {type: string, format: path, root: ., default: .}}
    §comand: [du, -s, --, "{{ path }}"]
  §disk_usage:
    description: Twice.
    command: [du, -s]
    retry: {attempts: §30}
""",
    "policies.d/money.yaml": """\
rules:
  - {id: big, §decied: deny, tools: ["weather.*"]}
  - {id: rest, decide: §alow, tools: ["*"]}
""",
}


def planted():
    for name in sorted(FILES):
        for number, line in enumerate(FILES[name].splitlines(), 1):
            if "§" in line:
                yield name, number, line.index("§") + 1


def test_ten_planted_faults_in_three_files_are_ten_diagnostics_on_one_screen(tmp_path):
    plain = {name: text.replace("§", "") for name, text in FILES.items()}
    compiled = load(write_files(tmp_path, plain))
    errors = [one for one in compiled.diagnostics if one.severity == "error"]
    assert [(one.file, one.line, one.column) for one in errors] == list(planted())
    assert len(errors) == 10
    screen = render(errors, compiled.sources) + summary(errors)
    assert len(screen.splitlines()) <= 50
    assert screen.count("did you mean") >= 6
