"""How the query parameters of lists are parsed."""

from __future__ import annotations

import pytest
from multidict import MultiDict
from yarl import URL

from api.errors import BadRequest
from api.rest.list_query import ListQuery, list_query
from read_side.queries.request import Filter, SortKey


def parsed(query: str) -> ListQuery:
    return list_query(URL(f"/?{query}").query, 10)


def values(query: str) -> tuple[str, ...]:
    [one] = parsed(query).filters
    return one.values


def test_filters_have_one_canonical_order() -> None:
    one, other = "filter[title]=a", "filter[fields.price][gte]=10"
    filters = (Filter("fields.price", "gte", ("10",)), Filter("title", "eq", ("a",)))
    assert parsed(f"{one}&{other}").filters == parsed(f"{other}&{one}").filters == filters
    assert parsed("filter%5Btitle%5D%5Beq%5D=a").filters == (Filter("title", "eq", ("a",)),)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        ('"a,b",c', ("a,b", "c")),
        ('"say ""hi""",b', ('say "hi"', "b")),
        ('","', (",",)),
    ],
)
def test_values_are_separated_by_commas(value: str, expected: tuple[str, ...]) -> None:
    query = MultiDict({"filter[title][in]": value})
    assert list_query(query, 10).filters == (Filter("title", "in", expected),)


def test_a_comma_separates_only_the_values_of_in_and_nin() -> None:
    assert values("filter[title]=a,b") == ("a,b",)
    assert values("filter[title][nin]=a,b") == ("a", "b")


def test_sort_keys() -> None:
    expected = (SortKey("publishedAt", descending=True), SortKey("title"))
    assert parsed("sort=-publishedAt,title").sort == expected
    assert parsed("sort=-publishedAt, title ").sort == expected


@pytest.mark.parametrize("query", ["sort=", "cursor=", "total=", "sort=&cursor=&offset=3", "x=1"])
def test_empty_and_unknown_parameters_are_absent(query: str) -> None:
    assert parsed(query).is_plain
    assert parsed(query).counted


def test_a_cursor_excludes_an_offset() -> None:
    assert parsed("cursor=first&offset=").cursor == "first"
    with pytest.raises(BadRequest, match="cursor and offset exclude each other"):
        parsed("cursor=first&offset=0")


REFUSED = {
    "filter=a": "Malformed parameter 'filter': use filter[FIELD] or filter[FIELD][OP]",
    "filter[=a": "Malformed parameter 'filter['",
    "filter[]=a": "Malformed parameter 'filter[]'",
    "filter[title=a": "Malformed parameter 'filter[title'",
    "filter[title]x=a": "Malformed parameter 'filter[title]x'",
    "filter[title][eq][a]=a": "Malformed parameter 'filter[title][eq][a]'",
    "filter[fields][price]=1": "Unknown field 'fields' in filter: name a field of the content type",
    "filter[fields][price][gt]=1": "Unknown field 'fields' in filter",
    "filter[title][like]=a": "Unknown operator 'like' in filter[title]: use eq, ne, lt, lte",
    "filter[title][]=a": "Unknown operator '' in filter[title]",
    "filter[title]=": "filter[title] has an empty value",
    "filter[title][in]=a,,b": "filter[title][in] has an empty value",
    'filter[title][in]=a"b': "Malformed value of filter[title][in]",
    'filter[title][in]="a': "Malformed value of filter[title][in]",
    "filter[title]=a&filter[title]=b": "filter[title] is given twice: give it once",
    "filter[title]=a&filter[title][eq]=b": "filter[title] is given twice: give it once",
    f"filter[title]={'x' * 1001}": "A value of filter[title] is too long: at most 1,000 bytes",
    f"filter[title]={'é' * 501}": "A value of filter[title] is too long",
    f"filter[title][in]={','.join('a' * 101)}": "filter[title][in] has too many values: at most",
    "&".join(f"filter[fields.f{n}]=1" for n in range(11)): "Too many filters: at most 10",
    "sort=a,b,c,d": "Too many keys in sort: at most 3",
    "sort=a,": "sort has an empty key",
    "sort=-": "sort has an empty key",
    "sort=a,-a": "sort names a field twice",
    "total=all": "Unknown total 'all': use none, or leave it out",
}


@pytest.mark.parametrize(("query", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_a_malformed_parameter_is_refused_by_name(query: str, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parsed(query)
    assert str(refused.value).startswith(message)


def test_a_long_name_is_shortened_in_the_refusal() -> None:
    for query in (f"filter[{'x' * 5000}]=", f"filter[{'x' * 5000}", f"filter[a][{'x' * 5000}]=1"):
        with pytest.raises(BadRequest) as refused:
            parsed(query)
        assert len(str(refused.value)) < 400
