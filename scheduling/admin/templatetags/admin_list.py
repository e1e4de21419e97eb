"""Django's tags for lists, but for that of their filters: it would look for templates in the project around us."""

from django.contrib.admin import ListFilter
from django.contrib.admin.templatetags import admin_list
from django.contrib.admin.views.main import ChangeList
from django.template import Library
from django.utils.safestring import SafeString

from scheduling.admin.rendering import Page

register = Library()
register.tags |= admin_list.register.tags
register.filters |= admin_list.register.filters


@register.simple_tag
def admin_list_filter(cl: ChangeList, spec: ListFilter) -> SafeString:
    shown = {"title": spec.title, "choices": list(spec.choices(cl)), "spec": spec}
    return Page(spec.template).render(shown)
