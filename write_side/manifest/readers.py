"""Reads YAML and JSON as plain values, with the place of each.

Both are read into YAML nodes, which have places. The values are built from the nodes within limits:
an alias counts each time it is used.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import msgspec
import yaml
from yaml import (
    CollectionEndEvent,
    CollectionStartEvent,
    MappingNode,
    Mark,
    Node,
    ScalarNode,
    SequenceNode,
)

from write_side.domain.text import reason_not_json
from write_side.manifest.source import ManifestError, Path, Place, Problem, Source

MAX_VALUES = 300_000
MAX_DEPTH = 40
MAX_DIGITS = 100
"""Characters of a number, far more than any takes. YAML reads ``1:30`` as a number in base 60;
for a long one, PyYAML takes quadratic time or raises OverflowError."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml, which PyYAML's wheels include, is ten times as fast."""

INVALID = object()
"""Stands for a value that is omitted because its problem has been noted."""

_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_TEXT = f"{_TAG}str"
_TIMESTAMP = f"{_TAG}timestamp"
_MAPPING = f"{_TAG}map"
_SEQUENCE = f"{_TAG}seq"
_JSON = "json"
_PLAINER = {
    "found character that cannot start any token": "found a character that cannot begin a value: "
    "write text in quotes, and indent with spaces, not tabs",
    "but found another document": "a second document begins; expected one",
}
"""Plainer words for messages of libyaml."""
_NAME = re.compile(r"'[^'<\s]{4,}'")
"""What YAML reads as the name of an alias or a tag may be a secret. Names of tokens are shown."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\],:"]+', re.DOTALL)


def read_values(document: bytes, source: Source, *, is_json: bool) -> Any:
    """The values of a document; fills the places of the source, and notes the problems of single
    values there. Raises ManifestError if the document cannot be read to its end."""
    try:
        node = _json_node(document) if is_json else _yaml_node(document, source)
        return _Values(source).value(node, ()) if node else None
    except yaml.MarkedYAMLError as error:
        message = _NAME.sub("'…'", _PLAINER.get(str(error.problem), str(error.problem)))
        raise unreadable(source, message, error.problem_mark) from None
    except yaml.reader.ReaderError as error:
        reason = f"cannot be read: {error.reason} (byte {error.position})"
        raise unreadable(source, reason) from None
    except msgspec.DecodeError as error:
        raise unreadable(
            source, f"not JSON: {reason_not_json(error)}", _mark_of(error, document)
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise unreadable(source, f"cannot be read: {error}") from None
    except RecursionError:
        raise unreadable(source, _TOO_DEEP) from None


def _yaml_node(document: bytes, source: Source) -> Node | None:
    """Checks the depth first, because libyaml composes recursively on the C stack."""
    depth = 0
    for event in yaml.parse(document, LOADER):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH + 1:
            raise unreadable(source, _TOO_DEEP, cast("Mark", event.start_mark))
    return yaml.compose(document, LOADER)


_TAGGED = "has a tag, which is not supported; write a text that begins with '!' in quotes"
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels, or an alias contains itself"


def unreadable(source: Source, message: str, mark: Mark | None = None) -> ManifestError:
    line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
    return ManifestError(source.name, [Problem("", message, line, column)])


class _Values:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._loader = yaml.SafeLoader("")
        self._count = 0

    def value(self, node: Node, path: Path) -> Any:
        self._count_one(node)
        if len(path) > MAX_DEPTH:
            raise unreadable(self._source, _TOO_DEEP, node.start_mark)
        text = node.value if isinstance(node, ScalarNode) else None
        self._source.places[path] = _place(node.start_mark, text)
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        if node.tag not in (_MAPPING, _SEQUENCE):
            self._source.add(path, _TAGGED)
            return INVALID
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: Node, path: Path) -> dict[str, Any]:
        """Includes merged keys, which the mapping's own keys override."""
        self._count_one(node)
        if not isinstance(node, MappingNode):
            self._source.add(path, "'<<' takes a mapping or a list of mappings")
            return {}
        values: dict[str, Any] = {}
        merged = [value for key, value in node.value if key.tag == _MERGE]
        for one in merged:
            for each in reversed(one.value) if isinstance(one, SequenceNode) else [one]:
                values |= self._mapping(each, path)
        names: set[str] = set()
        for key, value in node.value:
            if key.tag == _MERGE:
                continue
            name = self._key(key, path)
            if name is None:
                self._source.add(path, "a key must be text")
                continue
            if name in names:
                self._source.add((*path, name), f"{name!r} occurs twice", is_key=True)
            names.add(name)
            values[name] = self.value(value, (*path, name))
        return values

    def _key(self, key: Node, path: Path) -> str | None:
        """The key as written, even if YAML reads it as another type; None if not a scalar."""
        if not isinstance(key, ScalarNode):
            return None
        name: str = msgspec.json.decode(key.value) if key.tag == _JSON else key.value
        if ":" in name:
            # No key has a colon; a space is missing before the value, which may be a secret.
            name = f"{name.partition(':')[0]}:…"
        self._source.keys[(*path, name)] = _place(key.start_mark, name)
        return name

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        if node.tag == _JSON:
            return msgspec.json.decode(node.value)
        if node.tag in (_TEXT, _TIMESTAMP):
            # An unquoted date is text too; it is parsed where a manifest has dates.
            return node.value
        with suppress(yaml.YAMLError, LookupError, ValueError):
            if len(node.value) <= MAX_DIGITS:
                return self._loader.construct_object(node)
        is_tagged = not node.tag.startswith(_TAG)
        shown = node.tag.removeprefix(_TAG)
        self._source.add(path, _TAGGED if is_tagged else f"cannot be read as '{shown}'")
        return INVALID

    def _count_one(self, node: Node) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            message = f"more than {MAX_VALUES:,} values, counting each use of an alias"
            raise unreadable(self._source, message, node.start_mark)


def _place(mark: Mark, text: str | None = None) -> Place:
    return Place(mark.line + 1, mark.column + 1, text)


class _Marks:
    """The lines and columns of the characters of a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, position: int) -> Mark:
        line = bisect_right(self._starts, position) - 1
        return Mark("", position, line, position - self._starts[line], None, 0)


def _json_node(document: bytes) -> Node | None:
    """msgspec refuses invalid JSON, so tokens are enough to read the rest."""
    if not document.strip():
        return None
    msgspec.json.decode(document)
    text = document.decode()
    marks, tokens = _Marks(text), _TOKEN.finditer(text)
    return _node(next(tokens), tokens, marks)


def _node(token: re.Match[str], tokens: Iterator[re.Match[str]], marks: _Marks) -> Node:
    mark = marks.at(token.start())
    if token[0] == "[":
        return SequenceNode(_SEQUENCE, list(_nodes(tokens, marks, "]")), mark, mark)
    if token[0] == "{":
        inside = _nodes(tokens, marks, "}")
        return MappingNode(_MAPPING, list(zip(inside, inside, strict=True)), mark, mark)
    return ScalarNode(_JSON, token[0], mark, mark)


def _nodes(tokens: Iterator[re.Match[str]], marks: _Marks, end: str) -> Iterator[Node]:
    """The nodes up to a closing bracket; for an object, keys and values alternate."""
    while (token := next(tokens))[0] != end:
        yield _node(token, tokens, marks)


def _mark_of(error: msgspec.DecodeError, document: bytes) -> Mark | None:
    """The place in msgspec's message, which is in bytes."""
    found = re.search(r"\(byte (\d+)\)", str(error))
    if found is None:
        return None
    before = document[: int(found[1])].decode("utf-8", "replace")
    return _Marks(before).at(len(before))
