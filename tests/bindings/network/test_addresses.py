import pytest

from toolrt.bindings.network.addresses import Guard

PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "2606:2800:220:1:248:1893:25c8:1946",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]
PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.8.8.8",
    "169.254.1.1",
    "172.16.0.1",
    "192.0.0.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::808:808",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",
    "2002:7f00:1::",
    "2606:2800::5efe:10.0.0.1",
    "2606:2800::200:5efe:10.0.0.1",
    "fc00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "100.100.100.200",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "::169.254.169.254",
    "fe80::5efe:169.254.169.254",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_open(address):
    assert Guard().permits(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_h2_private_addresses_are_closed_in_every_form(address):
    assert not Guard().permits(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_h2_allow_private_opens_private_addresses(address):
    assert Guard.of(True).permits(address)


@pytest.mark.parametrize("address", METADATA)
def test_h2_metadata_is_closed_whatever_the_manifest_says(address):
    assert not Guard().permits(address)
    assert not Guard.of(True).permits(address)
    assert not Guard().with_own(address).permits(address)


def test_h2_allow_private_with_a_network_opens_that_one_alone():
    guard = Guard.of(["10.1.0.0/16", "fd12::/16"])
    assert guard.permits("10.1.2.3")
    assert guard.permits("fd12::1")
    assert not guard.permits("10.2.0.1")
    assert not guard.permits("127.0.0.1")


def test_h2_allow_private_with_a_network_knows_it_inside_a_mapped_address():
    assert Guard.of(["10.0.0.0/8"]).permits("::ffff:10.0.0.1")
    assert not Guard.of(["10.0.0.0/8"]).permits("::ffff:127.0.0.1")


@pytest.mark.parametrize("networks", [["10.0.0.0/33"], ["example.com"], [""]])
def test_a_network_that_is_none_is_an_error(networks):
    with pytest.raises(ValueError, match="does not appear to be"):
        Guard.of(networks)


def test_h2_an_own_literal_opens_itself_and_no_neighbour():
    guard = Guard().with_own("127.0.0.1")
    assert guard.permits("127.0.0.1")
    assert not guard.permits("127.0.0.2")
    assert not guard.permits("::1")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST"])
def test_h2_an_own_localhost_opens_loopback_and_nothing_else(host):
    guard = Guard().with_own(host)
    assert guard.permits("127.0.0.1")
    assert guard.permits("::1")
    assert not guard.permits("10.0.0.1")


@pytest.mark.parametrize("host", ["example.com", "localhost.", "a.localhost", "8.8.8.8"])
def test_h2_any_other_own_host_opens_nothing_private(host):
    assert not Guard().with_own(host).permits("127.0.0.1")


@pytest.mark.parametrize("text", ["", "example.com", "127.1", "0x7f000001", "2130706433"])
def test_what_is_no_address_is_not_dialled(text):
    assert not Guard.of(True).permits(text)
