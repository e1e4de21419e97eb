#!/usr/bin/env python3
"""Django's command line for this project."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # Who set the environment wants to know what is wrong there, not where in the code that was noticed.
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
