import pytest

from toolrt.bindings.network.urls import Origin, Url, join_url, read_url


@pytest.mark.parametrize(
    ("text", "origin", "target"),
    [
        ("http://example.com", Origin("http", "example.com", 80), "/"),
        ("HTTPS://Example.COM/A/b?c=d#e", Origin("https", "example.com", 443), "/A/b?c=d"),
        ("http://example.com?x=1", Origin("http", "example.com", 80), "/?x=1"),
        ("http://127.0.0.1:7850/x", Origin("http", "127.0.0.1", 7850), "/x"),
        ("http://[::1]:80/", Origin("http", "[::1]", 80), "/"),
        ("http://[0:0::1]/", Origin("http", "[::1]", 80), "/"),
        ("http://a_b.example/%2e%2e/", Origin("http", "a_b.example", 80), "/%2e%2e/"),
    ],
)
def test_a_url_is_read_into_origin_and_target(text, origin, target):
    assert read_url(text) == Url(origin, target)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "http:///x",
        "http://",
        "http://user@example.com/",
        "http://user:secret@example.com/",
        "http://ok@127.0.0.1/",
        "http://example.com\\@evil.com/",
        "http://exa mple.com/",
        "http://example.com/a b",
        "http://example.com/\r\nx",
        "http://bücher.example/",
        "http://①②⑦.⓪.⓪.①/",
        "http://example.com:0/",
        "http://example.com:70000/",
        "http://example.com:/",
        "http://example.com:8o/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://0/",
        "http://127.0.0.1./",
        "http://1.2.3.0x4/",
        "http://[127.0.0.1]/",
        "http://[::1%25eth0]/",
        "http://[::1",
        "http://{{ host }}/",
    ],
)
def test_h1_what_could_be_read_in_two_ways_is_no_url(text):
    with pytest.raises(ValueError, match=r"URL|host|port"):
        read_url(text)


@pytest.mark.parametrize(
    ("origin", "authority"),
    [
        (Origin("http", "example.com", 80), "example.com"),
        (Origin("https", "example.com", 443), "example.com"),
        (Origin("http", "example.com", 443), "example.com:443"),
        (Origin("http", "[::1]", 8080), "[::1]:8080"),
    ],
)
def test_the_authority_leaves_out_a_default_port(origin, authority):
    assert origin.authority == authority


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("/y", "http://example.com/y"),
        ("y?z=1", "http://example.com/a/y?z=1"),
        ("?z=1", "http://example.com/a/b?z=1"),
        ("//other.example/y", "http://other.example/y"),
        ("https://other.example", "https://other.example/"),
    ],
)
def test_a_reference_is_joined_to_its_base(reference, expected):
    assert join_url(read_url("http://example.com/a/b?c=d"), reference) == read_url(expected)


@pytest.mark.parametrize("reference", ["http://ok@127.0.0.1/", "/a\\b", "\thttp://x/", "//①/"])
def test_a_reference_is_read_as_strictly(reference):
    with pytest.raises(ValueError, match="URL"):
        join_url(read_url("http://example.com/"), reference)
