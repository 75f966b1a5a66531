"""Names of schemas and operations, made from slugs.

A name is unique without regard to case, because generators make file names of names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import count

_WORD = re.compile(r"[a-z0-9]+")
# The generators of clients define or import these in modules of models.
RESERVED = ("Any", "Cast", "False", "Generator", "Mapping", "None", "T", "True", "Unset")


def pascal_case(*slugs: str) -> str:
    """``goes_live`` is GoesLive."""
    return "".join(word.capitalize() for slug in slugs for word in _WORD.findall(slug))


def _itself(name: str) -> Iterable[str]:
    return (name,)


class Names:
    """Names that are taken; those that generated code needs for itself are from the beginning."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {name.casefold() for name in (*taken, *RESERVED)}
        self._numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(2))

    def claim(self, name: str, members: Callable[[str], Iterable[str]] = _itself) -> str:
        """The name, or the first of name2, name3, … of which all members are free."""
        claimed = name
        while not self._free(members(claimed)):
            claimed = f"{name}{next(self._numbers[name.casefold()])}"
        self._taken.update(member.casefold() for member in members(claimed))
        return claimed

    def claim_type(self, slug: str, members: Callable[[str], Iterable[str]]) -> str:
        """The name of a content type's entry: Posts, or PostsEntry if that is taken."""
        name = pascal_case(slug)
        if name[0].isdigit():
            name = f"Type{name}"
        return self.claim(name if self._free(members(name)) else f"{name}Entry", members)

    def _free(self, names: Iterable[str]) -> bool:
        return self._taken.isdisjoint(name.casefold() for name in names)
