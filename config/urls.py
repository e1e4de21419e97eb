"""Every address of the project."""

from django.urls import include, path, re_path
from django.views.generic import RedirectView

from scheduling.admin import console
from scheduling.api.v1.fallbacks import no_such_address

urlpatterns = [
    path("", include("scheduling.api.urls")),
    path("admin/", console.urls),
    path("", RedirectView.as_view(pattern_name="console:index")),
    re_path(r"^(?!admin(?:/|$))", no_such_address),
]

handler400 = "config.fallbacks.bad_request"
handler403 = "config.fallbacks.permission_denied"
handler404 = "config.fallbacks.page_not_found"
handler500 = "config.fallbacks.server_error"
