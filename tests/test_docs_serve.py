"""The pages about servers tell the truth: routes, statuses, and what is deployed."""

import json
import re

import pages
from test_docs import ROOT

from toolrt.faces.cli.main import cli
from toolrt.faces.http.bodies import DecisionBody
from toolrt.faces.http.openapi import openapi
from toolrt.faces.http.problems import STATUS
from toolrt.loading.owners import ALLOW


def test_every_route_is_told() -> None:
    paths = openapi([], "http://localhost")["paths"]
    there = {f"{how.upper()} {path}" for path, hows in paths.items() for how in hows}
    told = {route for route, _ in pages.rows("rest.md", "Routes")}

    assert told == there | {"POST /v1/tools/{name}/call"}


def test_every_status_of_a_refused_call_is_told() -> None:
    told = {code: int(status) for code, status in pages.rows("rest.md", "Problems of calls")}

    assert told == STATUS


def test_every_problem_of_a_request_is_told() -> None:
    told = {code for code, *_ in pages.rows("rest.md", "Problems of requests")}
    texts = [path.read_text() for path in (ROOT / "toolrt" / "faces" / "http").glob("*.py")]
    made = r'ProblemError\(\s*(?:\d+|self\.\w+|error\.\w+),\s*"([a-z-]+)"'
    there = {code for text in texts for code in re.findall(made, text)}

    assert there - STATUS.keys() - told == set()


def test_every_key_of_a_decision_is_told() -> None:
    cells = [cell for cell, _ in pages.rows("rest.md", "Deciding")]
    told = {word for cell in cells for word in re.findall(r"\w+", cell)}

    assert told == {field.alias or name for name, field in DecisionBody.model_fields.items()}


def test_what_is_deployed_runs_as_somebody_else_and_starts_what_there_is() -> None:
    image = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    unit = (ROOT / "deploy" / "toolrt.service").read_text(encoding="utf-8")
    verb = cli.get_command(None, "serve")
    flags = {flag for param in verb.params for flag in param.opts}
    used = re.findall(r"--[a-z][a-z-]+", re.findall(r"^ExecStart=.*", unit, re.MULTILINE)[0])
    used += re.findall(r'"(--[a-z-]+)"', image)

    assert "\nUSER 10001\n" in image
    assert "\nHEALTHCHECK " in image
    assert "\nUser=toolrt\n" in unit
    assert set(used) <= flags


def test_what_is_deployed_writes_to_its_state_and_to_nothing_that_decides() -> None:
    image = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    unit = (ROOT / "deploy" / "toolrt.service").read_text(encoding="utf-8")

    assert re.findall(r"^ReadWritePaths=(.*)", unit, re.MULTILINE) == ["/srv/tools/.toolrt"]
    assert "chown -R toolrt" not in unit
    assert '\nCMD ["serve"]\n' in image
    assert f" {ALLOW}=1 " in image
    assert "/project:ro" in image


def test_what_clients_are_told_starts_and_finds_a_server() -> None:
    told = json.loads((ROOT / "deploy" / "clients.json").read_text(encoding="utf-8"))["mcpServers"]
    by_http = [each["url"] for each in told.values() if "url" in each]

    assert told["tools"]["command"].startswith("/")
    assert told["tools"]["args"] == ["-p", "/srv/tools", "serve", "--stdio"]
    assert all(each.startswith("http://127.0.0.1:8080/mcp") for each in by_http)
