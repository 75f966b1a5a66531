"""Commands in Markdown documents, with the output that the document shows.

A ``console`` block has commands (``$ …``, continued after a backslash) and their output. A ``json``
block right after a command without output is that command's output, pretty-printed. A block with
``title=NAME`` is a file that the reader saves. In output, ``…`` matches any text, and an id, time
or quantity matches any other of its kind.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

_FENCE = re.compile(
    r"^```(?P<language>\w*)(?: +title=(?P<title>\S+))?\n(?P<text>.*?)^```$", re.M | re.S
)
_VARYING = {
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}": "an id",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?": "a time",
    r"\d+(?:\.\d+)? (?:ms|s|MB|kB|events/s)\b": "a quantity",
}
_VARIES = re.compile(
    "|".join(f"(?P<v{n}>{pattern})" for n, pattern in enumerate(_VARYING)) + "|(?P<any>…)"
)
PATIENCE = 120


class File(Struct, frozen=True):
    name: str
    text: str


class Command(Struct, frozen=True):
    """``output`` is None if the document shows none. ``line`` is the command's line in the
    document."""

    line: int
    text: str
    output: str | None = None
    body: Any = None


def steps(document: Path) -> list[File | Command]:
    """The files to save and commands to run, in order."""
    text = document.read_text("utf-8")
    found: list[File | Command] = []
    end_of_last = 0
    for block in _FENCE.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        if block["title"]:
            found.append(File(block["title"], block["text"]))
        elif block["language"] == "console":
            found.extend(_commands(block["text"], line))
        elif block["language"] == "json" and not text[end_of_last : block.start()].strip():
            last = found[-1]
            assert isinstance(last, Command), f"{document.name}:{line}: no command before"
            if last.output is None:
                found[-1] = Command(last.line, last.text, body=json.loads(block["text"]))
        end_of_last = block.end()
    return found


def _commands(block: str, first_line: int) -> Iterator[Command]:
    lines = block.splitlines()
    number = 0
    while number < len(lines):
        line = first_line + number
        assert lines[number].startswith("$ "), f"line {line}: not a command: {lines[number]!r}"
        command = [lines[number][2:]]
        while command[-1].endswith("\\"):
            number += 1
            command.append(lines[number])
        number += 1
        output = []
        while number < len(lines) and not lines[number].startswith("$ "):
            output.append(lines[number])
            number += 1
        yield Command(line, "\n".join(command), "\n".join(output) if output else None)


def matches(shown: str, printed: str) -> bool:
    """Returns true if a command's output matches the output in the document."""
    return re.fullmatch(_pattern(shown.strip()), printed.strip(), re.S) is not None


def _pattern(shown: str) -> str:
    pattern, end = "", 0
    for varying in _VARIES.finditer(shown):
        pattern += re.escape(shown[end : varying.start()])
        pattern += ".*?" if varying["any"] else _kind_of(varying)
        end = varying.end()
    return pattern + re.escape(shown[end:])


def _kind_of(varying: re.Match[str]) -> str:
    return next(p for n, p in enumerate(_VARYING) if varying[f"v{n}"] is not None)


def contains(shown: Any, answered: Any) -> bool:
    """Returns true if JSON matches the document's. A member ``"…"`` allows more members."""
    match shown:
        case dict():
            if not isinstance(answered, dict):
                return False
            named = {name: value for name, value in shown.items() if name != "…"}
            complete = "…" in shown or named.keys() == answered.keys()
            return complete and all(
                name in answered and contains(value, answered[name])
                for name, value in named.items()
            )
        case list():
            return (
                isinstance(answered, list)
                and len(shown) == len(answered)
                and all(map(contains, shown, answered))
            )
        case str():
            return isinstance(answered, str) and matches(shown, answered)
    return bool(shown == answered)


class Shell:
    """A bash process that runs a document's commands in sequence, in its own folder.

    ``port`` is the service's port, which replaces 8080 in the document.
    """

    def __init__(self, folder: Path, environment: dict[str, str], port: int) -> None:
        self._port = str(port)
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            text=True,
            bufsize=1,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Returns the command's exit status and output."""
        assert self._process.stdin
        assert self._process.stdout
        marker = f"-- {os.urandom(8).hex()} --"
        text = command.replace("127.0.0.1:8080", f"127.0.0.1:{self._port}")
        script = f"eval {shlex.quote(text)} </dev/null; printf '\\n%s %s\\n' '{marker}' $?\n"
        self._process.stdin.write(script)
        printed: list[str] = []
        for line in self._process.stdout:
            if line.startswith(marker):
                output = "".join(printed).replace(f"127.0.0.1:{self._port}", "127.0.0.1:8080")
                return int(line.split()[-1]), output
            printed.append(line)
        raise AssertionError(f"bash ended in {command!r}: {''.join(printed)}")

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()
