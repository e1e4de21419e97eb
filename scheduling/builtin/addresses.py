"""Which network addresses a tenant's request may reach: public ones, and what the operator allows.

The guard answers with addresses, and the caller dials exactly those: a name that resolves to something
else a moment later gains nothing by it.
"""

import re
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from scheduling.conf import conf
from scheduling.errors import PermanentFailure

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Sequence[str]]

NOT_PUBLIC_IPV4 = (
    IPv4Network("168.63.129.16/32"),  # Azure's metadata, in the middle of public space
    IPv4Network("192.0.0.0/24"),  # protocol assignments, Oracle's metadata; Pythons differ on it
    IPv4Network("192.88.99.0/24"),  # what is left of the 6to4 relays
)
"""Beside those that `ipaddress` knows not to be global."""
PUBLIC_IPV6 = IPv6Network("2000::/3")
"""All that is assigned to the Internet so far; in it, `ipaddress` knows the exceptions."""
NAT64 = IPv6Network("64:ff9b::/96")

_NUMERIC = re.compile(r"(.*\.)?(0x[0-9a-f]*|[0-9]+)\.?", re.ASCII | re.IGNORECASE)
"""A host whose last label is a number can only be an IPv4 address, in one spelling or another."""


class AddressRefused(PermanentFailure):
    """The request would reach an address that tenants have no business with."""


def resolve(host: str, port: int, resolver: Resolver | None = None) -> Sequence[str]:
    """The addresses of a host, in the order of preference. Each of them may be dialled.

    Raises AddressRefused if any of them may not, or if the host is an address in an unusual spelling
    (`2130706433`, `0x7f.1`); OSError if the host has none.
    """
    if _NUMERIC.fullmatch(host) and not _is_plain_ipv4(host):
        raise AddressRefused(f"{host} is a number, not a host. Write addresses like 192.0.2.1.")
    addresses = (resolver or system_resolver)(host, port)
    for address in addresses:
        if not is_allowed(ip_address(address)):
            raise AddressRefused(f"{host} leads to {address}, which requests may not reach.")
    if not addresses:
        raise OSError(f"{host} has no address.")
    return addresses


def system_resolver(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [str(socket_address[0]) for *_, socket_address in found]


def is_allowed(address: Address) -> bool:
    """Whether a request may reach it: public, or allowed by HTTP_ALLOW_PRIVATE_ADDRESSES."""
    allowed = conf().HTTP_ALLOW_PRIVATE_ADDRESSES
    meant = carried_ipv4(address) or address
    return is_public(address) or any(meant in ip_network(network) for network in allowed)


def is_public(address: Address) -> bool:
    """Whether it is one host on the Internet; an IPv6 address that carries an IPv4 one is as public as that."""
    carried = carried_ipv4(address)
    if carried:
        return is_public(carried)
    if isinstance(address, IPv6Address):
        return address in PUBLIC_IPV6 and address.is_global
    unusual = address.is_multicast or any(address in network for network in NOT_PUBLIC_IPV4)
    return address.is_global and not unusual


def carried_ipv4(address: Address) -> IPv4Address | None:
    """The IPv4 address behind one that is mapped, 6to4 or NAT64."""
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _is_plain_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True
