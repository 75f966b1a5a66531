"""Rich text without its markup. The result is text and must be escaped as text: this is not a
sanitizer."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|d[dlt]|div|fig(ure|caption)|footer|h[1-6r]|header|li|main"
    r"|[ou]l|p|pre|section|table|td|th|tr"
)
_HIDDEN = frozenset(("script", "style", "template"))
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>")


def has_markup(text: str) -> bool:
    return _MARKUP.search(text) is not None


def plain(text: str) -> str:
    """One line for each block element."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    lines = "".join(reader.parts).split("\n")
    return "\n".join(kept for line in lines if (kept := " ".join(line.split())))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self._hidden += tag in _HIDDEN
        self._break(tag)
        if tag == "li":
            self.parts.append("• ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN and self._hidden > 0
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data.replace("\n", " "))

    def _break(self, tag: str) -> None:
        if _BLOCKS.fullmatch(tag):
            self.parts.append("\n")
