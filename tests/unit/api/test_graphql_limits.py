"""What a document may ask for, told before anything is looked up."""

from __future__ import annotations

import pytest
from graphql import OperationDefinitionNode, get_introspection_query, parse

from api.errors import BadRequest
from api.graphql.limits import (
    ALIASES,
    COST,
    DEPTH,
    FIELDS,
    check_cost,
    check_document,
    fragments_of,
)

NESTED = """
query ($limit: Int = 10) {
  contentEntries(limit: $limit) {
    pagination { total }
    data {
      title contentType { name }
      references(field: "related") { title references(field: "related") { contentType { name } } }
    }
  }
}"""


def cost_of(query: str, **variables: object) -> None:
    document = parse(query)
    check_document(document)
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    check_cost(operation, fragments_of(document), variables)


def refusal(query: str, **variables: object) -> str:
    with pytest.raises(BadRequest) as refused:
        cost_of(query, **variables)
    return str(refused.value)


def nested(levels: int) -> str:
    return "{contentEntryById(id:1)" + "{references(field:1)" * (levels - 2) + "{id" + "}" * levels


def test_a_page_of_100_with_references_of_references_is_allowed() -> None:
    cost_of(NESTED, limit=100)


def test_a_limit_in_a_variable_counts_as_it_will_be_clamped() -> None:
    wide = NESTED.replace("contentType { name }", "history { version }")
    cost_of(wide, limit=10)
    assert "costs" in refusal(wide, limit=100)
    assert refusal(wide, limit=100) == refusal(wide, limit=10**9)
    assert refusal(wide, limit=100) == refusal(wide.replace("= 10", "= 100"))


def test_a_refusal_says_the_cost_the_bound_and_what_to_do() -> None:
    query = "{ contentEntries(limit: 100) { data { history(limit: 100) { fields { field } } } } }"
    assert refusal(query) == (
        f"The query costs 1,201,010; one may cost up to {COST:,}: "
        "ask for smaller pages, or for fewer lists inside of lists"
    )


def test_the_cost_of_a_fragment_counts_wherever_it_is_spread() -> None:
    spread = (
        "{ contentEntries(limit: 100) { ...Page } }"
        " fragment Page on ContentEntryPage { data { ...Entry } }"
        " fragment Entry on ContentEntry { history(limit: 100) { version } }"
    )
    plain = "{ contentEntries(limit: 100) { data { history(limit: 100) { version } } } }"
    assert refusal(spread) == refusal(plain)


def test_depth_is_limited() -> None:
    check_document(parse(nested(DEPTH)))
    assert f"{DEPTH + 1} levels" in refusal(nested(DEPTH + 1))


def test_aliases_and_fields_are_limited() -> None:
    check_document(parse("{" + " ".join(f"a{n}: __typename" for n in range(ALIASES)) + "}"))
    assert "aliases" in refusal("{" + " ".join(f"a{n}: x" for n in range(ALIASES + 1)) + "}")
    check_document(parse("{" + "x " * FIELDS + "}"))
    assert "fields" in refusal("{" + "x " * (FIELDS + 1) + "}")


def test_fragments_that_spread_each_other_are_left_to_validation() -> None:
    check_document(parse("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"))


def test_fragments_that_double_at_each_level_are_counted_at_once() -> None:
    levels = 9
    doubling = " ".join(
        f"fragment F{n} on ContentEntry {{ a: references(field: 1) {{ ...F{n + 1} }} "
        f"b: references(field: 1) {{ ...F{n + 1} }} }}"
        for n in range(levels - 1)
    )
    last = f"fragment F{levels - 1} on ContentEntry {{ id }}"
    query = "{ contentEntryById(id: 1) { ...F0 } }" + doubling + last
    assert "costs" in refusal(query)


def test_the_introspection_of_tools_is_allowed_and_a_hundred_of_them_are_not() -> None:
    cost_of(get_introspection_query(input_value_deprecation=True, specified_by_url=True))
    many = "{" + " ".join(f"a{n}: __schema {{ types {{ name }} }}" for n in range(ALIASES)) + "}"
    assert "costs" in refusal(many)


def test_mutations_cost_more_than_reading() -> None:
    one = "deleteContentEntry(id: 1) { success }"
    cost_of("mutation {" + " ".join(f"m{n}: {one}" for n in range(ALIASES)) + "}")
