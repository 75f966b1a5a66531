"""`contentlog settings`"""

from __future__ import annotations

import os

import click
import msgspec

from deploy.settings import Setting, describe, load_settings, unknown_names


@click.command(
    short_help="The settings, with their meaning and the values in force.",
    epilog="\b\nExample:\n  CONTENTLOG_PORT=9000 contentlog settings",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Print every setting with its meaning, its default and the value in force.

    Settings come from the environment. Passwords are not shown.
    """
    settings = describe(load_settings(os.environ))
    if as_json:
        click.echo(msgspec.json.encode(settings))
    else:
        click.echo("\n\n".join(map(_told, settings)))
    for name in unknown_names(os.environ):
        click.echo(f"note: {name} is set, and there is no such setting", err=True)


def _told(setting: Setting) -> str:
    return (
        f"{setting.name}={setting.value}\n"
        f"  {setting.meaning}.\n"
        f"  Takes {setting.takes}; default: {setting.default}"
    )
