"""Which addresses a tenant's request may reach."""

from collections.abc import Sequence

import pytest
from pytest_django import Settings

from scheduling.builtin import addresses
from scheduling.builtin.addresses import AddressRefused, resolve

PUBLIC = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]


@pytest.fixture(autouse=True)
def nothing_private_allowed(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"HTTP_ALLOW_PRIVATE_ADDRESSES": []}


def resolver(*found: str) -> addresses.Resolver:
    def resolve_to(host: str, port: int) -> Sequence[str]:
        return found

    return resolve_to


def literal(host: str, port: int) -> Sequence[str]:
    return [host]


def test_public_addresses_are_answered_in_their_order() -> None:
    assert resolve("example.org", 443, resolver(*PUBLIC)) == tuple(PUBLIC)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_written_itself(address: str) -> None:
    assert resolve(address, 443, literal) == [address]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",  # noqa: S104  # nothing is bound to it
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "168.63.129.16",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:0:7f00:1::1",
        "2001:db8::1",
        "100::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
        "4000::1",
    ],
)
def test_an_address_that_is_not_one_public_host_is_refused(address: str) -> None:
    with pytest.raises(AddressRefused, match="requests may not reach"):
        resolve("example.org", 80, resolver(address))


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(AddressRefused, match=r"example\.org leads to 10\.0\.0\.1"):
        resolve("example.org", 80, resolver(*PUBLIC, "10.0.0.1"))


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0X7F.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "127.0.0.01",
        "93.184.55054",
        "example.0x50",
        "0x",
    ],
)
def test_an_address_in_an_unusual_spelling_is_not_even_looked_up(host: str) -> None:
    with pytest.raises(AddressRefused, match="is a number"):
        resolve(host, 80, resolver(*PUBLIC))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_the_systems_own_resolver_leads_nowhere_private(host: str) -> None:
    with pytest.raises(AddressRefused):
        resolve(host, 80)


def test_a_host_without_addresses_is_no_host() -> None:
    with pytest.raises(OSError, match="no address"):
        resolve("example.org", 80, resolver())


@pytest.mark.parametrize("address", ["::ffff:93.184.215.14", "64:ff9b::93.184.215.14"])
def test_an_address_that_carries_a_public_one_is_public(address: str) -> None:
    assert resolve("example.org", 80, resolver(address)) == (address,)


class TestAllowed:
    def test_networks_may_be_allowed(self, settings: Settings) -> None:
        settings.RENTROLL = settings.RENTROLL | {
            "HTTP_ALLOW_PRIVATE_ADDRESSES": ["10.1.0.0/16", "fd00::/8"]
        }
        for address in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1", *PUBLIC):
            assert resolve("inside", 80, resolver(address)) == (address,)
        for address in ("10.2.0.1", "127.0.0.1", "::1"):
            with pytest.raises(AddressRefused):
                resolve("inside", 80, resolver(address))

    def test_everything_may_be_allowed(self, settings: Settings) -> None:
        settings.RENTROLL = settings.RENTROLL | {
            "HTTP_ALLOW_PRIVATE_ADDRESSES": ["0.0.0.0/0", "::/0"]
        }
        assert resolve("inside", 80, resolver("169.254.169.254")) == ("169.254.169.254",)

    def test_without_any_only_what_is_public_is_allowed(self, settings: Settings) -> None:
        settings.RENTROLL = settings.RENTROLL | {"HTTP_ALLOW_PRIVATE_ADDRESSES": []}
        assert resolve("example.org", 80, resolver(*PUBLIC)) == tuple(PUBLIC)
        with pytest.raises(AddressRefused):
            resolve("inside", 80, resolver("10.0.0.1"))
