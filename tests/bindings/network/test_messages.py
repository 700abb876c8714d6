import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.bindings.network import Origin, Url, new_request
from toolrt.bindings.network.urls import read_url

NAMES = string.ascii_lowercase + string.digits
HOSTS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "xn--", "a_b.", "a-", "..", "_"]),
        st.text(f"{NAMES}._-", max_size=12),
        st.sampled_from(["a", "z."]),
    ),
)
TARGETS = st.text(f"{NAMES}{string.ascii_uppercase}!\"$%&'()*+,-./:;<=>?@[]^_`{{|}}~", max_size=40)


@given(HOSTS, st.sampled_from(["http", "https"]), st.integers(1, 65535), TARGETS)
def test_what_goes_over_the_wire_is_the_url_as_it_is_written(host, scheme, port, target):
    url = read_url(f"{scheme}://{host}:{port}/{target}")
    request = new_request("GET", url, {})

    assert request.extensions["target"] == f"/{target}".encode()
    assert request.headers["host"] == url.origin.authority
    assert request.url.netloc.decode() == url.origin.authority


@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1", "xn--a", "a_b.example", "localhost."])
def test_a_host_goes_through_httpx_unchanged(host):
    request = new_request("GET", Url(Origin("http", host, 8080), "/"), {})

    assert request.url.netloc == f"{host}:8080".encode()


def test_names_of_headers_keep_their_spelling():
    request = new_request("POST", read_url("http://example.com/"), {"X-b": "2", "x-A": "1"}, b"x")

    assert (b"X-b", b"2") in request.headers.raw
    assert (b"x-A", b"1") in request.headers.raw
    assert request.content == b"x"
