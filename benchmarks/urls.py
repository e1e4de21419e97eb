"""The project's addresses, and the two views that the API is measured beside."""

from django.urls import include, path

from benchmarks import views

urlpatterns = [
    path("bench/insert", views.insert),
    path("bench/nothing", views.nothing),
    path("", include("config.urls")),
]
