"""Every address of the API: `path("", include("scheduling.api.urls"))`, or below a prefix."""

from django.urls import include, path, re_path

from scheduling.api.health import HealthView, ReadyView
from scheduling.api.metrics import MetricsView
from scheduling.api.v1.fallbacks import no_such_address

app_name = "rentroll"
urlpatterns = [
    path("v1/", include("scheduling.api.v1.urls")),
    re_path(r"^v1/", no_such_address),
    path("healthz", HealthView.as_view(), name="health"),
    path("readyz", ReadyView.as_view(), name="ready"),
    path("metrics", MetricsView.as_view(), name="metrics"),
]
