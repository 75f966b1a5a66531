"""YAML and JSON as plain values, with errors of one line that name the place."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml


class NotationError(Exception):
    """The document is no YAML or JSON; the text is one line that says where."""


class _Loader(yaml.SafeLoader):
    """Refuses what YAML lets pass and nobody means: one key twice in a mapping."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise NotationError(f"{_place(key.start_mark)}: {key.value!r} is there twice")
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return node


def read_yaml(document: bytes) -> Any:
    """The document's values. Raises NotationError."""
    try:
        return yaml.load(document, _Loader)  # noqa: S506 - it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        raise NotationError(f"{_place(error.problem_mark)}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise NotationError(f"not YAML: {' '.join(str(error).split())}") from None


def read_json(document: bytes) -> Any:
    """The document's values. Raises NotationError."""
    try:
        return msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotationError(f"not JSON: {error}") from None


def _place(mark: yaml.Mark | None) -> str:
    return "not YAML" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
