"""Renders the Helm chart with Helm and validates it against Kubernetes' schemas.

Needs `pip install --require-hashes -r deploy/requirements/charts.txt`, as CI does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
# Kinds of the Prometheus Operator, missing from Kubernetes' own schemas.
OPERATOR_KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}
KUBERNETES = ("1.29", "1.37")
EVERYTHING: dict[str, Any] = {
    "settings": {"CONTENTLOG_WORKERS": "2"},
    "settingsSecret": "contentlog-settings",
    "ownerSecret": "contentlog-owner",
    "networkPolicy": {
        "clients": [{"podSelector": {"matchLabels": {"app": "proxy"}}}],
        "monitoring": [],
        "databases": [{"ipBlock": {"cidr": "192.0.2.0/24"}}],
        "databasePorts": [5432, 6432],
        "collectors": [{"podSelector": {"matchLabels": {"app": "collector"}}}],
    },
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
}

pytestmark = pytest.mark.slow


def manifests(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    helm = pytest.importorskip("helm_python", reason="needs deploy/requirements/charts.txt")
    chart = helm.Chart.load(str(DEPLOY / "kubernetes/contentlog"))
    for text in chart.render(values, name="site", namespace="content").values():
        yield from filter(None, yaml.safe_load_all(text))


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_accepts_every_manifest(values: dict[str, Any], version: str) -> None:
    schemas = pytest.importorskip("kubernetes_validate")
    found = list(manifests(values))
    assert len(found) == (15 if values else 12)
    for manifest in found:
        if manifest["kind"] not in OPERATOR_KINDS:
            schemas.validate(manifest, version, strict=True)


def test_every_process_runs_twice_without_privileges() -> None:
    found = list(manifests({}))
    deployments = {m["metadata"]["name"]: m["spec"] for m in found if m["kind"] == "Deployment"}
    assert deployments.keys() == {"site-api", "site-projector", "site-webhooks"}
    assert [spec.get("replicas") for spec in deployments.values()].count(2) == 2
    [autoscaler] = (m["spec"] for m in found if m["kind"] == "HorizontalPodAutoscaler")
    assert autoscaler["minReplicas"] == 2
    for spec in deployments.values():
        pod = spec["template"]["spec"]
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]


def test_every_process_reads_the_secret_of_settings_and_reaches_the_ports_of_its_urls() -> None:
    found = list(manifests(EVERYTHING))
    processes = [m["spec"]["template"]["spec"] for m in found if m["kind"] in {"Deployment", "Job"}]
    for pod in processes:
        [container] = pod["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": "contentlog-settings"}}]
    assert len(processes) == 4
    policies = {m["metadata"]["name"]: m["spec"] for m in found if m["kind"] == "NetworkPolicy"}
    databases = policies["site-databases"]["egress"][1]
    assert databases["ports"] == [{"port": 5432}, {"port": 6432}]


def test_without_peers_no_pod_reads_metrics() -> None:
    """A NetworkPolicy with an empty list of peers allows all of them."""
    policies = [m for m in manifests(EVERYTHING) if m["kind"] == "NetworkPolicy"]
    assert not any("operators" in yaml.dump(policy) for policy in policies)


def test_only_the_migration_knows_the_owner() -> None:
    knowing = [m["kind"] for m in manifests(EVERYTHING) if "contentlog-owner" in yaml.dump(m)]
    assert knowing == ["Job"]


def test_alerts_are_those_of_the_monitoring_folder() -> None:
    [rules] = (m["spec"] for m in manifests(EVERYTHING) if m["kind"] == "PrometheusRule")
    assert rules == yaml.safe_load((DEPLOY / "monitoring/alerts.yaml").read_text())


def test_release_of_a_named_read_model_has_its_settings_and_delivers_no_webhooks() -> None:
    values = {**EVERYTHING, "readModel": {"name": "eu", "workspaces": ["acme", "magazine"]}}
    found = list(manifests(values))
    deployments = {m["metadata"]["name"]: m["spec"] for m in found if m["kind"] == "Deployment"}
    assert deployments.keys() == {"site-api", "site-projector"}
    jobs = [m["spec"] for m in found if m["kind"] == "Job"]
    for spec in (*deployments.values(), *jobs):
        [container] = spec["template"]["spec"]["containers"]
        settings = {one["name"]: one.get("value") for one in container["env"]}
        assert settings["CONTENTLOG_READ_MODEL"] == "eu"
        assert settings["CONTENTLOG_READ_MODEL_EU_WORKSPACES"] == "acme,magazine"
        assert "CONTENTLOG_READ_MODEL_EU_URL" in settings
        assert "CONTENTLOG_READ_MODEL_URL" not in settings
    scraped = [m for m in found if m["kind"] in {"ServiceMonitor", "PodMonitor"}]
    assert len(scraped) == 2
    assert all("contentlog-eu" in yaml.dump(m) for m in scraped)
