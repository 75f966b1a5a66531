"""The versions locked in deploy/requirements satisfy pyproject.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
LOCKS = ROOT / "deploy/requirements"
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())

# A version, its hashes and its reasons; nothing else, so no address of a registry.
PIN = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?P<marker> ;[^\\]+)? \\\n"
    r"(?: {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
    r"(?P<reasons>(?: {4}#.*\n)+)"
)
EXTRAS = {"dev": ("dev", "otel"), "otel": ("otel",)}
DIRECT = re.compile(r"contentlog \(pyproject\.toml\)|-r deploy/requirements/")


def requested(lock: str) -> list[Requirement]:
    source = LOCKS / f"{lock}.in"
    if source.exists():
        lines = source.read_text().splitlines()
        return [Requirement(line) for line in lines if not line.startswith("#")]
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"]]
    for extra in EXTRAS.get(lock, ()):
        lines += extras[extra]
    return [Requirement(line) for line in lines]


def pins(lock: str) -> list[re.Match[str]]:
    text = (LOCKS / f"{lock}.txt").read_text()
    heading = re.match(r"(#.*\n)*", text)
    assert heading
    found = list(PIN.finditer(text, heading.end()))
    assert heading.end() + sum(len(pin[0]) for pin in found) == len(text), "a line is no pin"
    return found


def versions(lock: str) -> dict[str, str]:
    return {pin["name"]: pin["version"] for pin in pins(lock)}


@pytest.mark.parametrize("lock", ["build", "charts", "dev", "otel", "runtime", "tools"])
def test_lock_answers_what_is_requested(lock: str) -> None:
    requests, locked = requested(lock), versions(lock)
    direct = {pin["name"] for pin in pins(lock) if DIRECT.search(pin["reasons"])}
    assert direct == {canonicalize_name(request.name) for request in requests}, (
        "run deploy/dev lock"
    )
    for request in requests:
        version = locked[canonicalize_name(request.name)]
        assert request.specifier.contains(version), f"{request} is locked at {version}"


@pytest.mark.parametrize("lock", ["build", "charts", "otel", "runtime"])
def test_versions_are_those_that_are_tested(lock: str) -> None:
    tested = versions("dev")
    locked = versions(lock)
    assert {name: tested.get(name, version) for name, version in locked.items()} == locked


def test_build_lock_has_the_build_system() -> None:
    assert set(PYPROJECT["build-system"]["requires"]) <= {str(line) for line in requested("build")}
