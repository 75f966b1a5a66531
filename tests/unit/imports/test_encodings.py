"""Encodings other than UTF-8, detected in short lists such as people export."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.imports.test_csv_reader import cells, table
from write_side.imports.encodings import detect
from write_side.imports.table import Choice, FileRefused, non_ascii_cells

TITLES = {
    "cp1251": ("Привет, мир", "Москва", "Новости дня", "Как испечь хлеб"),
    "koi8-r": ("Привет, мир", "Москва", "Новости дня", "Как испечь хлеб"),
    "shift_jis": ("東京の夏", "こんにちは世界", "ニュース", "パンの焼き方"),
    "euc-jp": ("東京の夏", "こんにちは世界", "ニュース", "パンの焼き方"),
    "gb18030": ("北京的夏天", "你好，世界", "新闻", "如何烤面包"),
    "big5": ("臺北的夏天", "你好，世界", "新聞", "如何烤麵包"),
    "euc-kr": ("서울의 여름", "안녕하세요 세계", "뉴스", "빵 굽는 법"),
    "cp1253": ("Καλημέρα κόσμε", "Αθήνα", "Το βιβλίο", "Θάλασσα"),
    "cp1255": ("שלום עולם", "ירושלים", "חדשות היום", "ילדים"),
    "cp1256": ("مرحبا بالعالم", "القاهرة", "أخبار اليوم", "أطفال"),
    "cp1254": ("İstanbul'da yaz", "Güneş", "Çocuk şarkıları", "Türkiye"),
    "cp1250": ("Zażółć gęślą jaźń", "Książka", "Święta", "Żółw"),
    "cp1252": ("Été à la plage", "Les élèves français", "Où sont les châteaux ?", "Noël"),
    "cp1257": ("Rīga un jūra", "Šodienas ziņas", "Kur nopirkt biļetes", "Gada labākās grāmatas"),
    "iso8859-15": ("Größe und Maß", "Äpfel für Köln", "Straße nach München", "Öffnungszeiten"),
}


WINDOWS = {
    "cp932": ("①のまとめ", "髙島屋の歴史", "10時～12時の予定", "㈱日本商事", "Ⅱ期工事"),
    "cp949": ("똠방각하", "펲시 콜라", "서울의 여름"),
}
"""Titles with characters that Shift JIS and EUC-KR lack."""


SIGNS = {
    "cp1252": (
        "Käse aus der Schweiz, 5,00 €",
        "Größe: 80 × 120 cm ± 2 mm, Stärke 3 µm",
        "Fünf Brötchen (£2.50)…und Würstchen",
        "Übermorgen—vielleicht, für die 1ª und Nº 2",
        "L´Oréal für Männer",
    ),
    "mac-roman": ("Käse aus der Schweiz, 5,00 €", "Fünf Brötchen—£2.50", "Größe ± 2 mm"),
    "cp1250": ("Zażółć gęślą jaźń, 5,00 €", "Święta…80 × 120", "Żółw—książka"),
    "shift_jis": ("スター・ウォーズ", "パンの焼き方"),
    "cp950": ("史蒂芬‧史匹柏", "如何烤麵包"),
}
"""Titles with symbols and punctuation that other encodings decode as letters."""
CELLS = ("£{}.50", "{}.50 €", "€ {}", "5¢", "{}°C", "{} µm")


def document(titles: tuple[str, ...], encoding: str) -> bytes:
    rows = "".join(f'"{title}",draft,{n}\n' for n, title in enumerate(titles))
    return f"Title,Status,Views\n{rows}".encode(encoding)


@pytest.mark.parametrize(
    ("encoding", "case"),
    [
        *((encoding, str) for encoding in TITLES),
        *((encoding, str.upper) for encoding in ("cp1251", "koi8-r", "cp1253", "cp1250", "cp1257")),
    ],
)
def test_an_encoding_is_detected_from_four_titles(
    encoding: str, case: Callable[[str], str]
) -> None:
    titles = tuple(map(case, TITLES[encoding]))
    found = table(document(titles, encoding))
    assert tuple(row[0] for row in cells(found)[1:]) == titles
    assert found.encoding_source == "detected"


@pytest.mark.parametrize("encoding", WINDOWS)
def test_characters_that_only_windows_has_are_read(encoding: str) -> None:
    named = {"cp932": "shift_jis", "cp949": "euc-kr"}[encoding]
    for titles in (
        WINDOWS[encoding],
        *((title, WINDOWS[encoding][-1]) for title in WINDOWS[encoding]),
    ):
        for choice in (Choice(), Choice(encoding=named)):
            found = table(document(titles, encoding), choice)
            assert tuple(row[0] for row in cells(found)[1:]) == titles
            assert found.encoding == named


@pytest.mark.parametrize("encoding", SIGNS)
def test_signs_of_prices_sizes_and_units_are_plausible(encoding: str) -> None:
    found = table(document(SIGNS[encoding], encoding))
    assert tuple(row[0] for row in cells(found)[1:]) == SIGNS[encoding]


@pytest.mark.parametrize(
    ("encoding", "cell"),
    [
        *(("cp1252", each) for each in (*CELLS, "{} × {}")),
        *(("mac-roman", each) for each in CELLS),
    ],
)
def test_signs_of_numbers_in_an_english_file_tell_its_encoding(encoding: str, cell: str) -> None:
    titles = tuple(f"Tea and cake {cell.format(n, n + 1)}" for n in range(1, 30))
    found = table(document(titles, encoding))
    assert tuple(row[0] for row in cells(found)[1:]) == titles


def test_a_few_prices_are_no_letters_of_another_encoding() -> None:
    detection = detect("Café au lait,£3.50\nTea,£2.00\nCake,£4\n".encode("cp1252"))
    assert detection.encoding is None
    assert detection.likely[0] == ("cp1252", "Café au lait,£3.50")


def test_utf_8_and_byte_order_marks_are_certain() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert table(document(TITLES["cp1251"], encoding)).encoding_source == "certain"
    assert table(b"Title\nplain\n").encoding_source == "certain"
    chosen = table(document(TITLES["cp1251"], "cp1251"), Choice(encoding="cp1251"))
    assert (chosen.encoding, chosen.encoding_source) == ("cp1251", "chosen")


def test_a_guess_is_refused_with_the_likely_encodings() -> None:
    with pytest.raises(FileRefused) as refused:
        table("Title\nnaïve café\n".encode("cp1252"))
    message = str(refused.value)
    assert "its encoding cannot be detected for certain; it could be" in message
    assert "Windows-1252, Western European (cp1252): 'naïve café'; Windows-1250" in message
    assert "--encoding" in message


def test_likely_encodings_are_shown_with_a_line_that_differs_between_them() -> None:
    likely = detect("Café,1\nIğdır,2\nCafé,3\n".encode("cp1254")).likely
    assert ("cp1254", "Iğdır,2") in likely
    assert ("cp1252", "Iðdýr,2") in likely
    with pytest.raises(FileRefused) as refused:
        table(("Title,City\n" + "A long title " * 10 + ",Iğdır\n").encode("cp1254"))
    assert "(cp1254): '…itle A long title ,Iğdır'" in str(refused.value)


def test_an_encoding_that_is_only_a_little_likelier_is_a_guess() -> None:
    text = "Où sont les élèves et les châteaux français à Noël,old,,5"
    detection = detect(text.encode("cp1252"))
    assert detection.encoding is None
    assert [encoding for encoding, _ in detection.likely] == ["cp1252", "cp1250", "cp1257"]


def test_a_document_in_no_encoding_is_refused() -> None:
    assert detect(bytes(range(128, 256))).encoding is None
    with pytest.raises(FileRefused, match="cannot be detected for certain: save it as"):
        table(b"Title\n\x80\x81\x8d\x8f\x90\x9d\xff\xfe\n")


def test_encodings_with_the_same_text_count_as_one() -> None:
    detection = detect("naïve café".encode("cp1252"))
    texts = [line for _, line in detection.likely]
    assert len(set(texts)) == len(texts)


def test_the_cells_to_check_are_the_first_distinct_ones() -> None:
    found = table("Title,Été\nü,a\nü,ñ\nplain,ß\n".encode())
    assert non_ascii_cells(found, 3) == ["Été", "ü", "ñ"]
