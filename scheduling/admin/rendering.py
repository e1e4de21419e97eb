"""Owns what the console's pages are made with: its own templates and Django's, in English, in UTC.

The project around it may have an admin of its own, with templates of the same names, in another language and another
time zone. Neither of the two is to see the other's, so the console's are found by this engine alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from functools import cache, wraps
from pathlib import Path
from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest, HttpResponseBase
from django.template.backends.django import DjangoTemplates, Template
from django.template.response import SimpleTemplateResponse
from django.utils import timezone, translation
from django.utils.safestring import SafeString

import scheduling

View = Callable[..., Any]


@cache
def engine() -> DjangoTemplates:
    return DjangoTemplates(
        {
            "NAME": "console",
            "DIRS": [
                Path(module).parent / "templates"
                for module in (__file__, scheduling.__file__, admin.__file__)
            ],
            "APP_DIRS": False,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ],
                "libraries": {
                    name: f"scheduling.admin.templatetags.{name}"
                    for name in ("admin_list", "console", "recurring")
                },
            },
        }
    )


class Page:
    """What Django takes for a template: the first that there is of those names."""

    def __init__(self, *names: str) -> None:
        self._template = Template(engine().engine.select_template(list(names)), engine())

    def render(
        self, context: dict[str, Any] | None = None, request: HttpRequest | None = None
    ) -> SafeString:
        with in_our_words():
            return cast("SafeString", self._template.render(context, request))


def of_the_console(name: str, view: View) -> View:
    """A view of the admin site of that name, whose answer is made with the console's templates."""

    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.current_app = name  # where Django looks for it
        with in_our_words():
            answer: HttpResponseBase = view(request, *args, **kwargs)
        if isinstance(answer, SimpleTemplateResponse) and not answer.is_rendered:
            names: Any = answer.template_name
            answer.template_name = Page(*([names] if isinstance(names, str) else names))
        return answer

    return shown


@contextmanager
def in_our_words() -> Iterator[None]:
    with translation.override("en"), timezone.override(UTC):
        yield
