"""The deployment files name only settings and files that exist."""

import re
from pathlib import Path

import pytest
import yaml

from deploy.environment import load_settings, unknown_names
from deploy.settings import Settings

DEPLOY = Path(__file__).parents[3] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "container/compose.yaml").read_text())
FOLDERS = ("backup/systemd", "container", "kubernetes", "systemd")
FILES = [
    file for folder in FOLDERS for file in sorted((DEPLOY / folder).rglob("*")) if file.is_file()
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_names_only_settings_that_exist(file: Path) -> None:
    names = set(re.findall(r"CONTENTLOG_\w+", file.read_text()))
    assert unknown_names(dict.fromkeys(names, "")) == {}


def test_timers_start_units_that_exist() -> None:
    timers = sorted((DEPLOY / "backup/systemd").glob("*.timer"))
    assert len(timers) == 3
    for timer in timers:
        named = re.search(r"^Unit=(.+)$", timer.read_text(), re.M)
        unit = named[1] if named else timer.with_suffix(".service").name
        assert timer.with_name(re.sub("@.+[.]", "@.", unit)).is_file(), timer


def test_compose_mounts_files_that_exist() -> None:
    volumes = [
        volume for service in COMPOSE["services"].values() for volume in service.get("volumes", [])
    ]
    sources = [source for source, *_ in (volume.split(":") for volume in volumes) if "/" in source]
    assert len(sources) == 7
    # The operator provides this file.
    sources.remove("./tls.pem")
    for source in sources:
        assert (DEPLOY / "container" / source).is_file(), source


def test_compose_starts_the_migration_when_postgresql_listens_on_its_port() -> None:
    """While the image creates the cluster, it runs a server on a Unix socket only."""
    assert "--host=127.0.0.1" in COMPOSE["services"]["postgres"]["healthcheck"]["test"]


def test_compose_takes_a_password_with_any_characters() -> None:
    given = COMPOSE["services"]["api-1"]["environment"]
    password = "a/b?c#d[e]@f%g"
    environment = {
        name: str(value).replace("${POSTGRES_PASSWORD:?set it}", password)
        for name, value in given.items()
    }
    assert load_settings(environment).read_model_url
    assert environment["PGPASSWORD"] == password


def test_temporary_files_of_compose_have_room_for_all_that_an_api_process_keeps() -> None:
    api = COMPOSE["services"]["api-1"]
    [(folder, megabytes)] = re.findall(r"^(.+):size=(\d+)m$", "\n".join(api["tmpfs"]), re.M)
    assert folder == "/tmp"  # noqa: S108
    room = int(megabytes) * 1024**2
    assert room > api["environment"]["CONTENTLOG_RESPONSE_FILE_BYTES"]


def test_temporary_files_of_the_chart_have_room_for_all_that_an_api_process_keeps() -> None:
    values = yaml.safe_load((DEPLOY / "kubernetes/contentlog/values.yaml").read_text())
    room = int(values["temporaryFiles"].removesuffix("Gi")) * 1024**3
    assert room > Settings().response_file_bytes


def test_patroni_requires_a_password_for_control() -> None:
    """Its REST API can set ``archive_command``, and a superuser can run programs."""
    text = (DEPLOY / "ha/patroni.yml").read_text()
    patroni = yaml.safe_load(re.sub(r"\$\{(\w+)\}", r"\1", text))
    bootstrap = patroni["bootstrap"]
    assert {rule.split()[-1] for rule in bootstrap["pg_hba"]} == {"scram-sha-256"}
    # The rules of initdb come first.
    assert {"auth-local": "peer"} in bootstrap["initdb"]
    assert {"auth-host": "scram-sha-256"} in bootstrap["initdb"]
    assert patroni["restapi"]["authentication"] == {"username": "patroni", "password": "password"}


def test_haproxy_and_the_chart_ask_the_same_of_an_api_process() -> None:
    haproxy = (DEPLOY / "proxy/haproxy.cfg").read_text()
    chart = (DEPLOY / "kubernetes/contentlog/templates/api.yaml").read_text()
    assert re.findall(r"option httpchk GET (\S+)", haproxy) == ["/healthz"]
    assert re.findall(r"readinessProbe:\s+httpGet: \{path: (\S+),", chart) == ["/healthz"]
