"""The client's address is the connection's, unless an operator's proxy gives another one."""

from ipaddress import ip_network

import pytest

from service.web.auth.client_address import MAX_HOPS, UNKNOWN, client_address

TRUSTED = tuple(ip_network(text) for text in ("10.0.0.0/8", "192.0.2.1/32", "2001:db8:ffff::/48"))


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "expected"),
    [
        pytest.param("198.51.100.7", [], "198.51.100.7", id="no proxy"),
        pytest.param("198.51.100.7", ["203.0.113.9"], "198.51.100.7", id="a stranger is not believed"),
        pytest.param(None, ["203.0.113.9"], UNKNOWN, id="no peer"),
        pytest.param("/run/socket", [], UNKNOWN, id="a peer that is no address"),
        pytest.param("10.0.0.1", [], "10.0.0.1", id="a proxy that says nothing"),
        pytest.param("10.0.0.1", ["203.0.113.9"], "203.0.113.9", id="one hop"),
        pytest.param("10.0.0.1", ["1.1.1.1, 203.0.113.9"], "203.0.113.9", id="the leftmost is the client's own word"),
        pytest.param("10.0.0.1", ["1.1.1.1", "203.0.113.9"], "203.0.113.9", id="two lines"),
        pytest.param("10.0.0.1", ["203.0.113.9, 192.0.2.1, 10.1.1.1"], "203.0.113.9", id="a chain of proxies"),
        pytest.param("10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2", id="all are trusted"),
        pytest.param("10.0.0.1", ["203.0.113.9, nonsense"], "10.0.0.1", id="nonsense ends the chain"),
        pytest.param("10.0.0.1", ["203.0.113.9, , 10.0.0.2"], "10.0.0.2", id="an empty hop ends the chain"),
        pytest.param("10.0.0.1", [""], "10.0.0.1", id="an empty header"),
        pytest.param("10.0.0.1", ["203.0.113.9:4711"], "203.0.113.9", id="a port"),
        pytest.param("10.0.0.1", ["[2001:db8:1:2::5]:443"], "2001:db8:1:2::/64", id="a port after IPv6"),
        pytest.param("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64", id="IPv6 by its /64"),
        pytest.param("2001:db8:ffff::1", ["2001:db8:1:2::9"], "2001:db8:1:2::/64", id="an IPv6 proxy"),
        pytest.param("fe80::1%eth0", [], "fe80::/64", id="an IPv6 zone"),
        pytest.param("::ffff:198.51.100.7", [], "198.51.100.7", id="IPv4 in IPv6"),
        pytest.param("::ffff:10.0.0.1", ["::ffff:203.0.113.9"], "203.0.113.9", id="IPv4 in IPv6, through a proxy"),
        pytest.param("10.0.0.1", [", ".join(["1.1.1.1"] + ["10.0.0.9"] * MAX_HOPS)], "10.0.0.9", id="endless"),
        pytest.param("10.0.0.1", ["1.1.1.1, 010.0.0.1"], "10.0.0.1", id="an octal number is no address"),
    ],
)
def test_x_forwarded_for(peer: str | None, forwarded_for: list[str], expected: str) -> None:
    assert client_address(peer, TRUSTED, x_forwarded_for=forwarded_for, forwarded=[]) == expected


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        pytest.param(["for=203.0.113.9"], "203.0.113.9", id="one hop"),
        pytest.param(["proto=https;For=203.0.113.9;by=10.0.0.1"], "203.0.113.9", id="among others, any case"),
        pytest.param(["for=1.1.1.1, for=203.0.113.9"], "203.0.113.9", id="from the right"),
        pytest.param(['for="[2001:db8:1:2::9]:4711"'], "2001:db8:1:2::/64", id="quoted IPv6 with a port"),
        pytest.param(["for=1.1.1.1, for=unknown"], "10.0.0.1", id="unknown ends the chain"),
        pytest.param(["for=1.1.1.1, for=_hidden"], "10.0.0.1", id="an obfuscated name ends the chain"),
        pytest.param(["for=1.1.1.1, proto=https"], "10.0.0.1", id="a hop without for ends the chain"),
    ],
)
def test_forwarded(forwarded: list[str], expected: str) -> None:
    assert client_address("10.0.0.1", TRUSTED, x_forwarded_for=[], forwarded=forwarded) == expected


def test_where_both_headers_disagree_the_proxy_itself_counts() -> None:
    found = client_address("10.0.0.1", TRUSTED, x_forwarded_for=["203.0.113.9"], forwarded=["for=1.1.1.1"])
    assert found == "10.0.0.1"
    agreed = client_address("10.0.0.1", TRUSTED, x_forwarded_for=["203.0.113.9"], forwarded=["for=203.0.113.9"])
    assert agreed == "203.0.113.9"
