"""`python -m scripts.reference`: write the pages that are made from the code."""

import os
import sys

import django

from scripts.reference import FOLDER, PAGES


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
        sys.stdout.write(f"docs/reference/{name}\n")


if __name__ == "__main__":
    main()
