"""Rich text without its markup, read by Lexbor (ADR 31)."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

from write_side.domain.words import TAG

_BLOCKS = (
    "address,article,aside,blockquote,br,dd,div,dl,dt,figure,figcaption,footer,h1,h2,h3,h4,h5,h6,"
    "header,hr,li,main,ol,p,pre,section,table,td,th,tr,ul"
)
_HIDDEN = ["script", "style", "template"]


def has_markup(text: str) -> bool:
    return TAG.search(text) is not None


def plain(text: str) -> str:
    """One line for each block element. Deeply nested lists take quadratic time: 16 ms for 10 kB."""
    # Line ends of the source count as spaces, and a NUL would end the text.
    body = LexborHTMLParser(text.replace("\n", " ").replace("\x00", "")).body
    if body is None:
        return ""
    body.strip_tags(_HIDDEN)
    for block in body.css(_BLOCKS):
        block.insert_before("\n• " if block.tag == "li" else "\n")
        block.insert_after("\n")
    lines = body.text().split("\n")
    return "\n".join(kept for line in lines if (kept := " ".join(line.split())))
