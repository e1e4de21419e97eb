"""Every address of the project."""

from django.urls import include, path, re_path
from django.views.generic import RedirectView

from scheduling.admin import console
from scheduling.api.health import HealthView, ReadyView
from scheduling.api.metrics import MetricsView
from scheduling.api.v1.fallbacks import no_such_address

urlpatterns = [
    path("v1/", include("scheduling.api.v1.urls")),
    path("healthz", HealthView.as_view(), name="health"),
    path("readyz", ReadyView.as_view(), name="ready"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("admin/", console.urls),
    path("", RedirectView.as_view(pattern_name="admin:index")),
    re_path(r"^(?!admin(?:/|$))", no_such_address),
]

handler400 = "scheduling.api.v1.fallbacks.bad_request"
handler403 = "scheduling.api.v1.fallbacks.permission_denied"
handler404 = "scheduling.api.v1.fallbacks.page_not_found"
handler500 = "scheduling.api.v1.fallbacks.server_error"
