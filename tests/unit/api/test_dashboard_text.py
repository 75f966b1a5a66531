"""Plain text of rich text, page numbers, addresses, language names and CSRF tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.dashboard.dashboard_request import link
from api.dashboard.security import check_csrf_token, new_csrf_token
from api.dashboard.table_pages import Paging, page_number
from api.dashboard.templates import language_name, language_options, written_date
from api.dashboard.values import has_markup, plain
from api.errors import ForgedRequest


@pytest.mark.parametrize(
    ("markup", "reads"),
    [
        ("<p>One <b>bold</b> word</p><p>Two</p>", "One bold word\nTwo"),
        ("<ul><li>a</li><li>b</li></ul>", "• a\n• b"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("a &amp; b &lt;script&gt;", "a & b <script>"),
        ("<script>alert(1)</script><style>p{}</style><p>shown", "shown"),
        ("<p>a\n  b</p>", "a b"),
        ("</script></p><p", ""),
    ],
)
def test_markup_is_removed(markup: str, reads: str) -> None:
    assert plain(markup) == reads


@pytest.mark.parametrize("text", ["a < b and b > c", "# A heading\n\n*text*", "<3", "", "1 <2> 3"])
def test_text_without_markup_is_recognized(text: str) -> None:
    assert not has_markup(text)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    plain(text)


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("", 1),
        ("0", 1),
        ("2", 2),
        ("-1", 1),
        ("x", 1),
        ("²", 1),
        ("9" * 30, 1),
        ("99999999", 10**6),
    ],
)
def test_an_invalid_page_number_means_the_first_page(text: str, page: int) -> None:
    assert page_number(text) == page


def test_pages_of_a_table() -> None:
    assert (Paging(1, 0).pages, Paging(1, 25).pages, Paging(1, 26).pages) == (1, 1, 2)
    last = Paging(2, 26)
    assert (last.first, last.last, last.is_empty, Paging(3, 26).is_empty) == (26, 26, False, True)


def test_urls_are_quoted_and_omit_empty_parameters() -> None:
    assert link("entries", "a/../b?c", page=2, search="", type="ä&b") == (
        "/dashboard/entries/a%2F..%2Fb%3Fc?page=2&type=%C3%A4%26b"
    )


def test_locales_have_names() -> None:
    assert language_name("fr-FR") == "French (France), fr-FR"
    assert language_name("xx-XX") == "xx-XX"
    assert language_name("<b>") == "<b>"


def test_languages_are_listed_by_name() -> None:
    assert [code for code, _ in language_options(["fr-FR", "de-DE", "en-US"])] == [
        *("en-US", "fr-FR", "de-DE"),
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2026-01-31", "31 Jan 2026"),
        ("2026-01-31T09:30", "31 Jan 2026, 09:30"),
        ("2026-01-31T09:30:05Z", "31 Jan 2026, 09:30:05 UTC"),
        ("2026-01-31T09:30:00+05:30", "31 Jan 2026, 09:30 +05:30"),
        ("0001-01-01", "1 Jan 1"),
        ("soon", "soon"),
    ],
)
def test_dates_keep_their_original_offset(written: str, shown: str) -> None:
    assert written_date(written) == shown


# HMAC pads a short key with NUL; no session contains one.
_sessions = st.text().filter(lambda text: "\0" not in text)


@given(_sessions, _sessions)
def test_a_token_belongs_to_one_session(session: str, other: str) -> None:
    token = new_csrf_token(session)
    check_csrf_token(session, token)
    if session != other:
        with pytest.raises(ForgedRequest):
            check_csrf_token(other, token)
    with pytest.raises(ForgedRequest):
        check_csrf_token(session, other)
