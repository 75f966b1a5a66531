"""Tracebacks in the console log never show the values of local variables. Servers configure their
logs before they import structlog."""

from __future__ import annotations

import errno
import io
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

import pytest
import structlog

from deploy.logs import configure_logs
from deploy.settings import Settings

SECRET = "a-secret-of-a-local-variable"
STARTS = """
import sys
import click
from deploy import cli, logs

def end(*_, **__):
    raise click.exceptions.Exit

logs.configure_logs = end
for command in ("api", "projector", "webhooks"):
    cli.cli([command], standalone_mode=False)
print("structlog" in sys.modules)
"""


@pytest.fixture
def _configuration() -> Iterator[None]:
    """Restores the log configuration after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def fail() -> None:
    secret = "-".join(SECRET.split("-"))  # not a literal: a traceback shows the source line
    raise RuntimeError("a fault" if secret else "")


@pytest.mark.usefixtures("_configuration")
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_traceback_shows_no_local_variables(
    monkeypatch: pytest.MonkeyPatch, log_format: Literal["text", "json"]
) -> None:
    stderr = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    monkeypatch.setattr(sys, "stderr", stderr)
    configure_logs(Settings(log_format=log_format))
    structlog.configure(cache_logger_on_first_use=False)
    try:
        fail()
    except RuntimeError:
        structlog.get_logger().exception("ours")
        logging.getLogger("library").exception("of the standard library")
    stderr.seek(0)
    text = stderr.read()
    assert text.count("RuntimeError: a fault") == 2
    assert SECRET not in text


@pytest.mark.usefixtures("_configuration")
@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize(("name", "times"), [("default", 0), ("eu", 3)])
def test_each_line_has_the_name_of_a_read_model_that_is_not_the_default_one(
    monkeypatch: pytest.MonkeyPatch, name: str, times: int, log_format: Literal["text", "json"]
) -> None:
    stderr = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    monkeypatch.setattr(sys, "stderr", stderr)
    configure_logs(Settings(log_format=log_format, read_model=name))
    structlog.configure(cache_logger_on_first_use=False)
    structlog.get_logger().info("frequent")
    structlog.get_logger().warning("ours")
    logging.getLogger("library").warning("of the standard library")
    stderr.seek(0)
    assert stderr.read().count("read_model") == times


class FullDisk(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, _bytes: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.usefixtures("_configuration")
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_full_disk_of_the_log_does_not_end_the_work(
    monkeypatch: pytest.MonkeyPatch, log_format: Literal["text", "json"]
) -> None:
    stderr = io.TextIOWrapper(io.BufferedWriter(FullDisk()), "utf-8")
    monkeypatch.setattr(sys, "stderr", stderr)
    configure_logs(Settings(log_format=log_format))
    structlog.configure(cache_logger_on_first_use=False)
    for _ in range(3):
        structlog.get_logger().warning("a fault", reason=10_000 * "x")
    with suppress(OSError):
        stderr.close()


def test_a_server_configures_its_logs_before_it_imports_structlog() -> None:
    """Otherwise structlog would import rich, which takes memory."""
    done = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
