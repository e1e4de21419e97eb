#!/usr/bin/env python3
"""Django's command line for this project."""

import gc
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, ManagementUtility


class CommandLine(ManagementUtility):
    """Looks for no garbage while everything is loaded, which stays: a third of the start of each command."""

    def execute(self) -> None:
        gc.disable()
        super().execute()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        gc.freeze()
        gc.enable()
        return super().fetch_command(subcommand)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        CommandLine(sys.argv).execute()
    except ImproperlyConfigured as error:
        # Who set the environment wants to know what is wrong there, not where in the code that was noticed.
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
