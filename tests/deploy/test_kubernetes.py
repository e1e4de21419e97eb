"""The manifests that the guide shows for Kubernetes: whether they fit the programs. No cluster is asked."""

from typing import Any

import pytest

from tests.deploy.kit import (
    CONTAINERS,
    MANIFESTS,
    MARGIN,
    WEB_SECONDS_TO_STOP,
    WORKERS_SECONDS_TO_STOP,
    all_containers,
    require_program,
)


def manifest(kind: str, name: str) -> Any:
    (found,) = (one for one in MANIFESTS if one["kind"] == kind and one["metadata"]["name"] == name)
    return found["spec"]


def pod(name: str) -> Any:
    return manifest("Deployment", name)["template"]["spec"]


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda one: one["name"])
def test_commands_are_ours(container: dict[str, Any]) -> None:
    if container["name"] != "web":  # which has the image's own
        require_program(container["command"])


def test_web_pods_are_given_the_time_to_end() -> None:
    (web,) = pod("rentroll-web")["containers"]
    (leaving,) = web["env"]
    assert leaving["name"] == "WEB_SECONDS_TO_LEAVE"
    least = int(leaving["value"]) + WEB_SECONDS_TO_STOP + MARGIN
    assert pod("rentroll-web")["terminationGracePeriodSeconds"] >= least
    assert "lifecycle" not in web, "two waits, one after the other"


def test_workers_are_given_the_time_to_end() -> None:
    least = WORKERS_SECONDS_TO_STOP + MARGIN
    assert pod("rentroll-workers")["terminationGracePeriodSeconds"] >= least


def test_restarts_go_by_one_question_and_traffic_by_another() -> None:
    (web,) = pod("rentroll-web")["containers"]
    asked = {
        probe: web[probe]["httpGet"]["path"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert asked == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }


def test_disk_that_ready_pods_need_is_no_memory() -> None:
    (files,) = (one for one in pod("rentroll-web")["volumes"] if one["name"] == "files")
    assert files["emptyDir"] == {}


@pytest.mark.parametrize("name", ["rentroll-web", "rentroll-workers"])
def test_budgets_are_for_pods_that_there_are(name: str) -> None:
    labels = manifest("Deployment", name)["template"]["metadata"]["labels"]
    assert manifest("Deployment", name)["selector"]["matchLabels"] == labels
    assert manifest("PodDisruptionBudget", name)["selector"]["matchLabels"] == labels


@pytest.mark.parametrize("name", ["rentroll-web", "rentroll-workers"])
def test_pods_run_as_somebody(name: str) -> None:
    assert pod(name)["securityContext"]["runAsNonRoot"] is True


def test_no_pod_changes_tables_when_it_starts() -> None:
    commands = [
        container["command"]
        for name in ("rentroll-web", "rentroll-workers")
        for container in all_containers(manifest("Deployment", name))
        if "command" in container
    ]
    assert commands
    assert not [one for one in commands if {"bootstrap", "migrate"} & set(one)]
