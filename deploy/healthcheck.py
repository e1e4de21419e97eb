"""Exits with 0 if the web server of this container takes requests. The image's HEALTHCHECK.

It asks /healthz and not /readyz: a database that does not answer is no reason to restart a web server.
"""

import os
from urllib.request import Request, urlopen

PATIENCE = 4
"""Seconds; less than what HEALTHCHECK allows."""


def main() -> None:
    port = int(os.environ["PORT"])
    health = Request(f"http://127.0.0.1:{port}/healthz", headers={"Host": "localhost"})
    with urlopen(health, timeout=PATIENCE) as answer:  # noqa: S310  # our own
        answer.read()


if __name__ == "__main__":
    main()
