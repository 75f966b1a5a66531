"""The result of a check."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Level = Literal["ok", "warning", "problem"]


class Finding(Struct, frozen=True):
    """``subject``: what was looked at. ``fix``: the statement or command to run, or what to do."""

    level: Level
    subject: str
    text: str
    fix: str = ""


def ok(subject: str, text: str) -> Finding:
    return Finding("ok", subject, text)


def warning(subject: str, text: str, fix: str) -> Finding:
    return Finding("warning", subject, text, fix)


def problem(subject: str, text: str, fix: str) -> Finding:
    return Finding("problem", subject, text, fix)
