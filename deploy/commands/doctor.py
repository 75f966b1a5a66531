"""`contentlog doctor`: what to change in an installation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from deploy.progress import show_rows
from deploy.runner import json_option, read_model_option, run

if TYPE_CHECKING:
    from deploy.doctor.server import Finding


@click.command("doctor", epilog="\b\nExample:\n  contentlog doctor")
@read_model_option
@json_option
def doctor_command(as_json: bool) -> None:
    """Check an installation, and say what to change.

    Looks at the settings, the databases, the processes and this machine, and changes nothing. Exits
    with status 1 if there is a problem; warnings leave it at 0.
    """
    from deploy.doctor.installation import examine

    environment = dict(os.environ)
    findings = run(lambda databases, settings: examine(databases, settings, environment))
    show_rows(findings, _text, as_json=as_json)
    if any(finding.level == "problem" for finding in findings):
        raise click.exceptions.Exit(1)


def _text(finding: Finding) -> str:
    text = f"{finding.level:8} {finding.subject}: {finding.text}"
    return f"{text}\n         {finding.fix}" if finding.fix else text
