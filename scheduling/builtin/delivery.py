"""One HTTP exchange with a host a tenant chose: to a checked address, without redirects, proxies or an end
that the other side decides."""

import re
import ssl
from collections.abc import Mapping
from functools import cache, partial

import httpx

from scheduling import payload
from scheduling.builtin.addresses import resolve
from scheduling.builtin.answer import Answer, DeliveryFailed
from scheduling.builtin.line import Line, interruptibly
from scheduling.errors import PermanentFailure

TIMEOUT = httpx.Timeout(15, connect=5)
"""Seconds, for each step. The timeout of the task is what bounds the whole."""
ANSWER_KEPT = 16 * 1024
"""Bytes of the answer's body that are read; nobody needs to send more."""
DEFAULT_PORTS = {"http": 80, "https": 443}
PORT_MAX = 65_535
HOST = re.compile(r"[a-z0-9._-]{1,253}|[0-9a-f:.]+", re.ASCII)
"""A name or an IPv4 address, or an IPv6 address; the parser lets more through."""


def send(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, *, attempt: int
) -> Answer:
    """Send a request and read the answer, whatever it says.

    The host is resolved here, once, and the connection goes to the very address that was checked; name and
    certificate stay those of the host. Each attempt dials the next address.

    Raises PermanentFailure for a URL that leads nowhere a request may go, DeliveryFailed without an answer,
    and at once what is raised in the thread that waits.
    """
    target = parse(url)
    return interruptibly(partial(exchange, method, target, headers, body, attempt))


def exchange(
    method: str,
    target: httpx.URL,
    headers: Mapping[str, str],
    body: bytes | None,
    attempt: int,
    line: Line,
) -> Answer:
    try:
        addresses = resolve(host_of(target), port_of(target))
        address = addresses[(attempt - 1) % len(addresses)]
        with (
            httpx.Client(verify=tls(), timeout=TIMEOUT, trust_env=False) as client,
            client.stream(
                method,
                target.copy_with(host=address),
                headers={**headers, "Host": target.netloc.decode("ascii"), "Connection": "close"},
                content=body,
                extensions={"sni_hostname": host_of(target), "trace": line.trace},
            ) as response,
        ):
            return answer_of(response)
    except (OSError, httpx.TransportError) as error:
        raise DeliveryFailed(
            f"{target.host} did not answer: {str(error) or type(error).__name__}"
        ) from error


def parse(url: str) -> httpx.URL:
    """Raises PermanentFailure unless it is an absolute http or https URL of a host and port that can exist."""
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise PermanentFailure(f"The URL is invalid: {error}.") from error
    if target.scheme not in DEFAULT_PORTS or not target.host:
        raise PermanentFailure("The URL must begin with http:// or https:// and name a host.")
    if not HOST.fullmatch(host_of(target)):
        raise PermanentFailure("The URL names no valid host.")
    if not 0 < port_of(target) <= PORT_MAX:
        raise PermanentFailure(f"The URL names no valid port: {port_of(target)}.")
    return target


def port_of(target: httpx.URL) -> int:
    return DEFAULT_PORTS[target.scheme] if target.port is None else target.port


def host_of(target: httpx.URL) -> str:
    """As it is looked up, sent and certified: in ASCII."""
    return target.raw_host.decode("ascii")


@cache
def tls() -> ssl.SSLContext:
    """Made once: reading the certificates takes longer than most requests."""
    return httpx.create_ssl_context(trust_env=False)


def answer_of(response: httpx.Response) -> Answer:
    received = bytearray()
    for chunk in response.iter_raw():
        received += chunk
        if len(received) > ANSWER_KEPT:
            break
    text = received[:ANSWER_KEPT].decode(errors="replace")
    return Answer(
        status=response.status_code,
        retry_after=response.headers.get("retry-after"),
        body=payload.clean_text(text, ANSWER_KEPT),
        is_truncated=len(received) > ANSWER_KEPT,
    )
