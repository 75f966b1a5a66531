"""`contentlog webhook`"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest
from standardwebhooks.webhooks import Webhook

from tests.integration.deploy.test_cli import Run, run
from tests.integration.live_projector import project_all
from tests.processes import http_server
from write_side.commands import SwitchWebhookOff
from write_side.dispatch import execute
from write_side.domain.identity import Actor
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

__all__ = ["run"]

MANIFEST = """
workspace: acme
name: Acme
webhooks:
  - {{name: search, url: "http://127.0.0.1:{port}/hook?token=t"}}
  - {{name: cdn, url: "https://cdn.example.com/", types: [posts], events: [entry.published]}}
contentTypes: [{{slug: posts, name: Posts}}]
"""


class Hook(BaseHTTPRequestHandler):
    status = 200
    received: ClassVar[list[tuple[dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.received.append((headers, body))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b"thanks")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of an endpoint on this machine, which the setting allows."""
    monkeypatch.setenv("CONTENTLOG_WEBHOOK_NETWORKS", "127.0.0.0/8")
    monkeypatch.setattr(Hook, "received", [])
    monkeypatch.setattr(Hook, "status", 200)
    with http_server(Hook) as url:
        yield int(url.rpartition(":")[2])


@pytest.fixture
def secret(run: Run, port: int, tmp_path: Path) -> str:
    """The secret that `contentlog apply` has printed."""
    (tmp_path / "acme.yaml").write_text(MANIFEST.format(port=port))
    result = run("apply", "acme.yaml")
    assert result.exit_code == 0, result.output
    [line] = [line for line in result.stdout.splitlines() if "secret of webhook search" in line]
    return line.rpartition(" ")[2]


WHERE = ("--workspace", "acme")


def test_endpoints_are_listed(run: Run, secret: str) -> None:
    lines = run("webhook", "list", *WHERE).stdout.splitlines()
    assert lines[0].startswith("cdn  on  https://cdn.example.com/  production  posts, entry.pub")
    assert "all changes  0 deliveries, 0 failed" in lines[1]
    rows = json.loads(run("webhook", "list", *WHERE, "--json").stdout)
    assert [(row["name"], row["off"], row["includeEntry"]) for row in rows] == [
        ("cdn", None, False),
        ("search", None, False),
    ]
    assert secret not in str(rows)


def test_a_test_message_verifies(run: Run, secret: str) -> None:
    result = run("webhook", "test", "search", *WHERE)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("webhook 'search' accepted the message: HTTP 200, ")
    [(headers, body)] = Hook.received
    assert Webhook(secret).verify(body, headers)["type"] == "webhook.test"
    [line] = run("webhook", "deliveries", "search", *WHERE).stdout.splitlines()
    assert line.startswith("#1  ")
    assert "webhook.test  HTTP 200" in line
    assert line.endswith("thanks")
    Hook.status = 500
    result = run("webhook", "test", "search", *WHERE)
    assert result.exit_code == 1
    assert result.stderr == ("contentlog: webhook 'search' did not accept the message: HTTP 500\n")
    rows = json.loads(
        run(
            "webhook", "deliveries", "search", *WHERE, "--failed", "--since", "2026-01-31", "--json"
        ).stdout
    )
    assert [(row["number"], row["status"], row["error"]) for row in rows] == [(2, 500, "HTTP 500")]


def test_a_rotated_secret_is_alone_on_standard_output(run: Run, secret: str) -> None:
    result = run("webhook", "rotate", "search", *WHERE)
    new = result.stdout.strip()
    assert result.stderr == "new secret of webhook 'search'; it is shown only once:\n"
    run("webhook", "test", "search", *WHERE)
    [(headers, body)] = Hook.received
    assert Webhook(new).verify(body, headers)
    assert Webhook(secret).verify(body, headers)
    last = json.loads(run("webhook", "rotate", "search", *WHERE, "--at-once", "--json").stdout)
    run("webhook", "test", "search", *WHERE)
    headers, body = Hook.received[-1]
    assert len(headers["webhook-signature"].split()) == 1
    assert Webhook(last["secret"]).verify(body, headers)


def test_enable_says_where_it_continues(run: Run, secret: str, database_url: str) -> None:
    result = run("webhook", "enable", "search", *WHERE)
    continues = "it continues after the changes"
    assert result.stdout.startswith(f"webhook 'search' is on already; {continues}")
    asyncio.run(switch_off(database_url))
    result = run("webhook", "enable", "search", *WHERE)
    assert result.stdout.startswith(f"webhook 'search' is switched on; {continues}")


async def switch_off(url: str) -> None:
    async with open_recorder(url) as recorder:
        command = SwitchWebhookOff(
            actor=Actor("operator", "tests"), workspace="acme", name="search", reason="it is gone"
        )
        await execute(command, Repository(recorder, EventMapper()))


def test_replay_takes_a_time_or_the_id_of_a_change(
    run: Run, secret: str, database_url: str
) -> None:
    asyncio.run(project_all(database_url, database_url))
    result = run("webhook", "replay", "search", *WHERE, "--after", "2020-01-31")
    assert (result.exit_code, result.stdout) == (
        0,
        "webhook 'search' continues from the beginning\n",
    )
    result = run("webhook", "replay", "search", *WHERE, "--after", "yesterday")
    assert result.exit_code == 1
    assert result.stderr == (
        "contentlog: 'yesterday' is neither the id of a change in production nor a time such as "
        "2027-01-31T09:30:00Z\n"
    )


def test_a_replay_from_the_future_is_refused(run: Run, secret: str, database_url: str) -> None:
    asyncio.run(project_all(database_url, database_url))
    result = run("webhook", "replay", "search", *WHERE, "--after", "2999-01-31")
    assert result.exit_code == 1
    assert result.stderr == "contentlog: '2999-01-31' is in the future: use a time in the past\n"


def test_a_replay_says_that_the_endpoint_is_off(run: Run, secret: str, database_url: str) -> None:
    asyncio.run(project_all(database_url, database_url))
    asyncio.run(switch_off(database_url))
    result = run("webhook", "replay", "search", *WHERE, "--after", "2020-01-31")
    assert result.stdout == (
        "webhook 'search' is switched off; once it is enabled, it continues from the beginning\n"
    )


def test_an_unknown_endpoint_is_one_line(run: Run, secret: str) -> None:
    unknown = "contentlog: there is no webhook 'none' in this workspace\n"
    for name, *options in (
        ("deliveries",),
        ("test",),
        ("enable",),
        ("rotate",),
        ("replay", "--after", "x"),
    ):
        result = run("webhook", name, "none", *WHERE, *options)
        assert (result.exit_code, result.stderr) == (1, unknown), name
        result = run("webhook", name, "none", "--workspace", "rival", *options)
        assert result.stderr == "contentlog: there is no workspace 'rival'\n", name
