"""What a document may ask for, told before anything is looked up."""

from __future__ import annotations

import pytest
from graphql import OperationDefinitionNode, get_introspection_query, parse

from api.errors import BadRequest
from api.graphql.cost import Costs, fragments_of
from api.graphql.limits import (
    ALIASES,
    COST,
    DEPTH,
    FIELDS,
    check_cost,
    check_document,
)
from api.graphql.schema import schema

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
    costs = Costs(operation, fragments_of(document), variables, schema._schema)
    check_cost(costs.of_all())


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
        f"The query costs 1,211,010; one may cost up to {COST:,}: "
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
    tools = get_introspection_query(input_value_deprecation=True, specified_by_url=True)
    cost_of(tools)
    whole = tools[tools.index("{") : tools.index("fragment FullType")].strip()[1:-1]
    many = " ".join(whole.replace("__schema", f"a{n}: __schema") for n in range(20))
    assert "costs" in refusal("{" + many + "}" + tools[tools.index("fragment FullType") :])


def test_types_of_fields_of_types_cost_what_there_really_is_of_them() -> None:
    wide = " ".join(f"a{n}: fields {{ type {{ ...F ofType {{ ...F }} }} }}" for n in range(15))
    names = " ".join(f"b{n}: fields {{ name description }}" for n in range(15))
    fragment = f"fragment F on __Type {{ {names} }}"
    assert "costs" in refusal(f"{{ __schema {{ types {{ {wide} }} }} }} {fragment}")
    one = f"query ($name: String!) {{ __type(name: $name) {{ {wide} }} }} {fragment}"
    assert "costs" in refusal(one, name="Query")
    cost_of(one, name="Nothing")
    cost_of(one, name="EntryStatus")
    cost_of("{ __schema { types { fields { name type { name fields { name } } } } } }")


def test_mutations_cost_more_than_reading_wherever_they_stand() -> None:
    def mutations(number: int) -> str:
        return " ".join(f"m{n}: deleteContentEntry(id: 1) {{ success }}" for n in range(number))

    cost_of("mutation {" + mutations(ALIASES) + "}")
    cost_of("mutation { ...M } fragment M on Mutation {" + mutations(ALIASES) + "}")
    twice = "mutation { ...M ...M } fragment M on Mutation {" + mutations(ALIASES) + "}"
    assert "costs" in refusal(twice)


def test_looking_back_costs_more_than_it_shows() -> None:
    def past(number: int) -> str:
        one = 'contentEntry(type: "posts", slug: "one", asOf: $at) { id }'
        return "query ($at: DateTime) {" + " ".join(f"a{n}: {one}" for n in range(number)) + "}"

    cost_of(past(90), at="2026-01-31")
    cost_of(past(ALIASES))
    assert "costs" in refusal(past(ALIASES), at="2026-01-31")
