"""The text of a manifest: where each of its values is, and the problems found in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from write_side.domain.refusals import ExplainedError, Refused, nearest, shortened

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a value: ``("keys", 0, "name")``."""

SECRET = "secret"  # noqa: S105 - the name of a key
"""The key whose value is never shown in messages."""
COMPARISONS = 100_000
"""Words that are compared for the suggestions of one manifest, which takes about a second."""
SHOWN = 100
"""Problems that the text of an error lists; ``problems`` has all of them."""


class Place(Struct, frozen=True):
    """``line`` and ``column`` count from 1. ``text``: a scalar as it is written, else None."""

    line: int
    column: int
    text: str | None = None


class Problem(Struct, frozen=True, omit_defaults=True):
    """``line`` and ``column`` are absent if the text could not be read up to there. ``value``: as
    it is written; ``allowed``: the values or keys that are allowed, if they can be listed."""

    path: str
    message: str
    line: int | None = None
    column: int | None = None
    value: str | None = None
    allowed: tuple[str, ...] = ()
    suggestion: str | None = None

    def text(self, name: str) -> str:
        """One line in the format of compilers, so that editors find the place."""
        place = "" if self.line is None else f":{self.line}:{self.column}"
        path = f"{self.path}: " if self.path else ""
        meant = f"; did you mean {self.suggestion!r}?" if self.suggestion else ""
        return " ".join(f"{name}{place}: {path}{self.message}{meant}".split())


class ManifestError(ExplainedError):
    """The manifest cannot be applied. Its text is one line; ``details`` has a line per problem if
    there are several."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        lines = [problem.text(name) for problem in problems[:SHOWN]]
        if len(problems) > SHOWN:
            lines.append(f"{name}: {len(problems) - SHOWN:,} more")
        is_single = len(problems) == 1
        super().__init__(lines[0] if is_single else f"{name} has {len(problems):,} errors:")
        self.problems = problems
        self.details = () if is_single else tuple(lines)


class Source:
    """``places`` of values and ``keys`` of keys are filled by the reader of the text."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}
        self.kept: dict[Path, list[int]] = {}
        """For lists from which invalid items were omitted: the original indexes of the other
        items."""
        self.broken: set[Path] = set()
        """Paths of values from which an invalid part was omitted."""
        self.notes: list[Problem] = []
        self._problems: list[Problem] = []
        self._comparisons = 0

    def suggestion(self, word: str, known: Collection[str]) -> str | None:
        """The known word that was probably meant; None once COMPARISONS are used up."""
        self._comparisons += len(known)
        return nearest(word, known) if self._comparisons <= COMPARISONS else None

    def add(
        self,
        path: Path,
        message: str,
        *,
        is_key: bool = False,
        is_note: bool = False,
        allowed: Sequence[str] = (),
        suggestion: str | None = None,
    ) -> None:
        """Keeps a problem. ``is_key``: with the key rather than its value. ``is_note``: possibly
        not an error."""
        place = self.keys.get(path) if is_key else self._place(path)
        value = None if place is None or path[-1:] == (SECRET,) else place.text
        problem = Problem(
            path=shown_path(path),
            message=message,
            line=place.line if place else None,
            column=place.column if place else None,
            value=None if value is None else shortened(value),
            allowed=tuple(allowed),
            suggestion=suggestion,
        )
        (self.notes if is_note else self._problems).append(problem)

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Notes a refusal as a problem at the path, in the valid part of the manifest, and
        continues. If a part of it was omitted, ignores the refusal, which may be a consequence."""
        try:
            yield
        except Refused as refusal:
            original, text = self.original(path), str(refusal)
            if original not in self.broken:
                self.add(original, text[:1].lower() + text[1:])

    def original(self, path: Path) -> Path:
        """Converts a path in the valid part of the manifest to the path in the text."""
        found: Path = ()
        for step in path:
            kept = self.kept.get(found)
            found = (*found, kept[step] if kept is not None and isinstance(step, int) else step)
        return found

    def raise_problems(self) -> None:
        """Raises ManifestError if problems were found, in the order of the text."""
        if self._problems:
            once = dict.fromkeys(self._problems)
            ordered = sorted(once, key=lambda one: (one.line or 0, one.column or 0))
            raise ManifestError(self.name, ordered)

    def _place(self, path: Path) -> Place | None:
        """The place of a value, or of what contains it if the value is absent."""
        if path in self.places or not path:
            return self.places.get(path)
        within = self._place(path[:-1])
        return None if within is None else Place(within.line, within.column)


def shown_path(path: Path) -> str:
    """``contentTypes[0].fields[2].type``"""
    steps = (f"[{step}]" if isinstance(step, int) else f".{shortened(step)}" for step in path)
    return "".join(steps).removeprefix(".")
