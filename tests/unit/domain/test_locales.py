"""Which locale codes are valid (behaviour.md §2.1)."""

from __future__ import annotations

import re

import pytest

from write_side.domain.locales import locale_name, supported_locales


@pytest.mark.parametrize(
    "code", ["en-US", "fr-FR", "de-CH", "pt-BR", "zh-CN", "zh-TW", "sr-RS", "ar-EG", "fil-PH"]
)
def test_a_language_in_a_territory_is_supported(code: str) -> None:
    assert code in supported_locales()


@pytest.mark.parametrize(
    "code",
    [
        "",
        "en",
        "en_US",
        "en-us",
        "EN-US",
        "en-USA",
        "en-001",
        "es-419",
        "zh-Hans-CN",
        "sr-Cyrl-RS",
        "xx-YY",
        "en-US ",
        "en-US-POSIX",
        "root",
    ],
)
def test_other_forms_and_unknown_codes_are_not(code: str) -> None:
    assert code not in supported_locales()


def test_every_code_has_the_one_form() -> None:
    assert all(re.fullmatch(r"[a-z]{2,3}-[A-Z]{2}", code) for code in supported_locales())
    assert len(supported_locales()) > 500


@pytest.mark.parametrize(
    ("code", "name"), [("fr-CA", "French (Canada)"), ("xx-XX", ""), ("no code", ""), ("", "")]
)
def test_a_known_locale_has_an_english_name(code: str, name: str) -> None:
    assert locale_name(code) == name
