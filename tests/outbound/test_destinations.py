"""URLs and addresses that a project may name, and those that it may not."""

from ipaddress import ip_network

import pytest

from service.outbound.destinations import AddressRefused, Destinations, UrlRefused, read_address, read_url

BAD_URLS = [
    "ftp://example.com/",
    "example.com",
    "https:///x",
    "https://ann@example.com/",
    "https://example.com/#x",
    "https://example.com/#",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://127.1/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://a.0x7f/",
    "https://0177.0.0.1/",
    "https://127.0.0.1./",
    "https://[fe80::1%25eth0]/",
    "https://a..b/",
    "https://exa mple/",
    "https://\uff11\uff12\uff17.0.0.1/",
    "https://a\r\nhost:b/",
    f"https://example.com/{'x' * 2_030}",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_h7_a_url_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(UrlRefused):
        read_url(url)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://example.com/hook?x=1", "example.com", 443),
        ("https://Bücher.example:8443/", "xn--bcher-kva.example", 8443),
        ("http://93.184.215.14/", "93.184.215.14", 80),
        ("https://[2606:2800::1]/", "2606:2800::1", 443),
    ],
)
def test_a_url_has_a_host_in_ascii_and_a_port(url: str, host: str, port: int) -> None:
    target = read_url(url)
    assert (target.host, target.port) == (host, port)


CLOSED = [
    *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "0.0.0.1", "224.0.0.1", "240.0.0.1"),
    *("169.254.169.254", "192.88.99.1", "192.0.2.1", "198.18.0.1", "255.255.255.255"),
    *("::1", "::", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    *("fec0::1", "fe80::1", "fd00:ec2::254", "3fff::1", "2001:db8::1", "2001::1", "ff02::1"),
]


@pytest.mark.parametrize("text", CLOSED)
def test_h7_an_address_that_is_not_public_is_refused(text: str) -> None:
    address = read_address(text)
    assert address is not None
    with pytest.raises(AddressRefused):
        Destinations().check_all([address], 443, is_tls=True)


PUBLIC = [address for text in ("93.184.215.14", "2606:2800::1") if (address := read_address(text)) is not None]


@pytest.mark.parametrize("port", [443, 1_024, 65_535])
def test_a_public_address_is_reached_by_https_at_open_ports(port: int) -> None:
    Destinations().check_all(PUBLIC, port, is_tls=True)


@pytest.mark.parametrize(("port", "is_tls"), [(80, False), (8080, False), (25, True), (1_023, True)])
def test_a_public_address_is_not_reached_by_http_or_at_other_ports(port: int, is_tls: bool) -> None:
    with pytest.raises(AddressRefused):
        Destinations().check_all(PUBLIC, port, is_tls=is_tls)


def test_an_opened_network_is_reached_by_http_too_but_never_what_is_link_local() -> None:
    opened = Destinations((ip_network("10.0.0.0/8"), ip_network("169.254.0.0/16")))
    own, link_local = read_address("10.1.2.3"), read_address("169.254.169.254")
    assert own is not None
    assert link_local is not None
    opened.check_all([own], 80, is_tls=False)
    with pytest.raises(AddressRefused):
        opened.check_all([link_local], 80, is_tls=False)
