"""A process of a benchmark: `python -m benchmarks.act MODULE:FUNCTION JSON` plays it, then answers in JSON."""

import json
import os
import sys
from importlib import import_module

from benchmarks import prompter


def main() -> None:
    act, given = sys.argv[1:]
    prompter.take_stdout()
    if os.environ.get("DJANGO_SETTINGS_MODULE"):
        import django

        django.setup()
    module, _, function = act.partition(":")
    prompter.answer(getattr(import_module(module), function)(**json.loads(given)))


if __name__ == "__main__":
    main()
