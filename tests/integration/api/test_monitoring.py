"""The monitoring dashboard and the alerts use only metrics that `/metrics` exports."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from projector.rebuild.progress import exclusive_operation
from tests.integration.api.server import Server, serving
from tests.integration.live_projector import caught_up, until
from write_side.repository import Repository

FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring"
NAME = re.compile(r"contentlog_\w+")
LABELS = re.compile(r"(contentlog_\w+)\{(?:job=\"\$job\", )?(\w+)=")


@pytest.fixture
async def server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository) as server:
        await server.workspace()
        await caught_up(database_url)
        yield server


def expressions(file: str) -> list[str]:
    text = (FOLDER / file).read_text("utf-8")
    if file.endswith(".json"):
        return [
            target["expr"] for panel in json.loads(text)["panels"] for target in panel["targets"]
        ]
    return [rule["expr"] for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


async def sample_names(server: Server) -> dict[str, set[str]]:
    """The names of all samples, each with its labels."""
    text = (await server.operator.get("/metrics")).text
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        # A metric with labels has no samples before its first count.
        found.setdefault(f"{family.name}_total", set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("file", ["dashboard.json", "alerts.yaml"])
async def test_every_metric_of_the_monitoring_exists(file: str, server: Server) -> None:
    async with exclusive_operation(server.url, "rebuild", lambda _: None) as work:
        work.begin("replay", 10)
        await server.client().get("/v1/content")

        async def has_projector_samples() -> bool:
            return {"contentlog_work_done", "contentlog_projector_heartbeat_seconds"} <= (
                await sample_names(server)
            ).keys()

        await until(has_projector_samples)
        names = await sample_names(server)
    queried = expressions(file)
    assert len(queried) > 5
    for expression in queried:
        for name in NAME.findall(expression):
            assert name in names, f"{expression} asks for {name}"
        for name, label in LABELS.findall(expression.replace('{job="$job"}', "")):
            assert label in names[name], f"{expression} asks for {name} by {label}"


async def test_the_number_of_projectors_is_0_if_there_is_none(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, projector=False) as server:
        text = (await server.operator.get("/metrics")).text
    assert 'contentlog_projectors{role="active"} 0.0' in text
    assert "contentlog_projector_heartbeat_seconds" not in text
    assert "contentlog_work_done" not in text


def test_every_alert_has_a_summary_and_a_description() -> None:
    [group] = yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert {"summary", "description"} == rule["annotations"].keys()


def test_the_runbook_has_an_action_for_every_alert() -> None:
    [group] = yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))["groups"]
    runbook = (FOLDER.parent / "docs/operations.md").read_text("utf-8")
    actions = re.findall(r"^\| (Contentlog\w+) \| \S", runbook, re.M)
    assert sorted(actions) == sorted(rule["alert"] for rule in group["rules"])


def test_panels_do_not_overlap() -> None:
    panels = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))["panels"]
    occupied: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & occupied
        assert at["x"] + at["w"] <= 24
        occupied |= cells
