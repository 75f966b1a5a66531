"""Rich text as somebody reads it: without its markup, block by block. What comes out is text and is
shown as text; nothing here makes markup safe."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|d[dlt]|div|fig(ure|caption)|footer|h[1-6r]|header|li|main"
    r"|[ou]l|p|pre|section|table|td|th|tr"
)
_UNREAD = frozenset(("script", "style", "template"))
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>")


def has_markup(text: str) -> bool:
    return _MARKUP.search(text) is not None


def plain(text: str) -> str:
    """A line for each block. Text without markup stays as it is."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    lines = "".join(reader.parts).split("\n")
    return "\n".join(kept for line in lines if (kept := " ".join(line.split())))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self._unread += tag in _UNREAD
        self._break(tag)
        if tag == "li":
            self.parts.append("• ")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD and self._unread > 0
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.parts.append(data.replace("\n", " "))

    def _break(self, tag: str) -> None:
        if _BLOCKS.fullmatch(tag):
            self.parts.append("\n")
