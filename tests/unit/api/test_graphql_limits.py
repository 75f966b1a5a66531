"""The limits of a GraphQL document, checked before anything is read."""

from __future__ import annotations

import pytest
from graphql import (
    OperationDefinitionNode,
    execute_sync,
    get_introspection_query,
    parse,
    validate,
)

from api.errors import BadRequest
from api.graphql.cost import COST, INTROSPECTION, MUTATION, Budget, CostEstimate
from api.graphql.document_limits import (
    ALIASES,
    DEFINITIONS,
    DEPTH,
    ERRORS,
    FIELDS,
    SELECTIONS,
    TOO_DEEP,
    VALIDATION,
    check_document,
    fragments_of,
    validation_errors,
)
from api.graphql.schema import schema
from api.rest.list_query import ListQuery
from read_side.queries.request import SortKey
from tests.time_limits import at_most

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
    """Charges the document's cost to a new budget. Raises BadRequest if it exceeds a limit."""
    check_document(parse(query))
    charge(query, **variables)


def charge(query: str, **variables: object) -> None:
    """Like ``cost_of``, but without checking the other limits of the document."""
    document = parse(query)
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    Budget().begin(CostEstimate(operation, fragments_of(document), variables))


def refusal(query: str, **variables: object) -> str:
    with pytest.raises(BadRequest) as refused:
        cost_of(query, **variables)
    return str(refused.value)


def broken_rules(query: str) -> list[str]:
    document = parse(query)
    check_document(document)
    return [error.message for error in validation_errors(schema._schema, document)]


def nested(levels: int) -> str:
    return "{contentEntryById(id:1)" + "{references(field:1)" * (levels - 2) + "{id" + "}" * levels


def test_a_page_of_100_with_references_of_references_is_allowed() -> None:
    cost_of(NESTED, limit=100)


def test_a_limit_in_a_variable_counts_clamped() -> None:
    wide = NESTED.replace("contentType { name }", "history { version }")
    cost_of(wide, limit=10)
    assert "costs" in refusal(wide, limit=100)
    assert refusal(wide, limit=100) == refusal(wide, limit=10**9)
    assert refusal(wide, limit=100) == refusal(wide.replace("= 10", "= 100"))


def test_every_mutation_has_a_price() -> None:
    mutations = schema._schema.mutation_type
    assert mutations is not None
    for name in mutations.fields:
        [operation] = parse(f"mutation {{ {name} {{ success }} }}").definitions
        assert isinstance(operation, OperationDefinitionNode)
        cost = CostEstimate(operation, {}, {}).total()
        assert cost > MUTATION, f"add '{name}' to _SURCHARGES in api/graphql/cost.py"


def test_a_refusal_has_the_cost_the_limit_and_what_to_do() -> None:
    query = "{ contentEntries(limit: 100) { data { history(limit: 100) { fields { field } } } } }"
    assert refusal(query) == (
        f"The query costs 1,211,010; the limit is {COST:,}: "
        "request smaller pages, or fewer nested lists, searches, filters and sort keys"
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
    assert refusal(nested(DEPTH + 1)) == TOO_DEEP


def test_levels_of_fragments_count_where_they_are_spread() -> None:
    def spread(levels: int) -> str:
        inner = nested(levels).replace("{id}", "{...A ... {...A}}", 1)
        return inner + " fragment A on ContentEntry {id}"

    check_document(parse(spread(DEPTH)))
    assert refusal(spread(DEPTH + 1)) == TOO_DEEP


@pytest.mark.parametrize(
    "query",
    [
        "mutation {" + " ".join(f"a{n}: updateContentEntr{n}" for n in range(ALIASES)) + "}",
        "{" + " ".join(f"... on ContentEntr {{ x{n} }}" for n in range(ALIASES)) + "}",
    ],
)
def test_validation_stops_after_some_errors(query: str) -> None:
    found = broken_rules(query)
    assert len(found) == ERRORS + 1
    assert "Did you mean" in found[0]
    assert found[-1] == (
        "Only the first 10 errors are listed: correct these and send the query again"
    )


def test_aliases_are_limited_wherever_their_fragment_is_spread() -> None:
    def aliases(number: int) -> str:
        return " ".join(f"a{n}: __typename" for n in range(number))

    too_many = "The query has %d aliases; it may have up to 100: send several requests"
    check_document(parse("{" + aliases(ALIASES) + "}"))
    assert refusal("{" + aliases(ALIASES + 1) + "}") == too_many % 101
    spread = "{ ...A ...A } fragment A on Query {" + aliases(ALIASES // 2) + " %s}"
    check_document(parse(spread % ""))
    assert refusal(spread % "more: __typename") == too_many % 102
    check_document(parse("{ x } fragment A on Query {" + aliases(ALIASES + 1) + "}"))


def names(number: int) -> str:
    return " ".join(f"x{n}" for n in range(number))


def test_fields_are_limited() -> None:
    check_document(parse("{" + names(FIELDS) + "}"))
    assert refusal("{" + names(FIELDS + 1) + "}") == (
        f"The query has {FIELDS + 1} fields; it may have up to {FIELDS}: send several requests"
    )


def test_documents_that_limiters_cannot_read_are_refused_before_them() -> None:
    circle = "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"
    assert refusal(circle) == "Fragment 'A' spreads itself: remove that spread"
    assert (
        refusal("{ ...A } fragment A on Query { ...B }")
        == "Unknown fragment 'B': define it in the document"
    )
    empty = "A selection set is empty: select at least one field"
    assert refusal("{ contentTypes { } }") == empty


def test_fragments_that_no_operation_spreads_are_refused_for_the_same_reasons() -> None:
    assert refusal("{ x } fragment A on Query { x { ...A } }").startswith("Fragment 'A' spreads")
    assert refusal("{ x } fragment A on Query { ...B }").startswith("Unknown fragment 'B'")


def test_fields_of_fragments_count_wherever_they_are_spread() -> None:
    def spread(number: int) -> str:
        return "{" + "...A " * number + "} fragment A on Query {" + names(499) + "}"

    assert SELECTIONS == 5_000
    check_document(parse(spread(10)))
    assert "more than 5,000 fields with its fragments expanded" in refusal(spread(11))


def test_exponential_fragments_are_refused_at_once() -> None:
    doubling = " ".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(48))
    last = "fragment F48 on Query { x }"
    assert "with its fragments expanded" in refusal("{ ...F0 }" + doubling + last)


def test_exponential_fragments_that_no_operation_spreads_are_refused_at_once() -> None:
    double = "".join(
        f" fragment F{n} on ContentType {{ a {{ ...F{n + 1} }} b {{ ...F{n + 1} }} }}"
        for n in range(16)
    )
    query = f"{{ contentTypes {{ id }} }}{double} fragment F16 on ContentType {{ id }}"
    with at_most(0.5):
        assert "more than 5,000 fields with its fragments expanded" in refusal(query)


def test_definitions_are_limited() -> None:
    def fragments(number: int) -> str:
        return "{ x }" + "".join(f" fragment F{n} on Query {{ x }}" for n in range(number))

    check_document(parse(fragments(DEFINITIONS - 1)))
    assert refusal(fragments(DEFINITIONS)) == (
        "The query has 51 operations and fragments; it may have up to 50: send several requests"
    )


@pytest.mark.parametrize(
    "query",
    [
        "{%s}",
        "{ a { %s } a { y } }",
        "{ a: b { ...A } } fragment A on Query { ...B } fragment B on Query {%s}",
        "{ a { ... on Query { ... @skip(if: $s) {%s} } } }",
        "{ y } fragment A on Query {%s}",
    ],
)
def test_fields_that_validation_compares_in_pairs_are_limited(query: str) -> None:
    check_document(parse(query % ("x " * 36)))
    assert "repeats the same fields" in refusal(query % ("x " * 64))


def test_fields_are_compared_below_fields_that_are_merged() -> None:
    apart = "".join(f"a{n}: b {{ x y z }} " for n in range(100))
    check_document(parse("{" + apart + "}"))
    merged = "b { x y z } " * 40
    assert "repeats the same fields" in refusal("{" + merged + "}")


def test_a_fragment_is_compared_once_in_each_place() -> None:
    check_document(parse("{" + "...A " * 70 + "} fragment A on Query { x y }"))


def test_fragments_that_double_at_each_level_are_counted_at_once() -> None:
    levels = 9
    doubling = " ".join(
        f"fragment F{n} on ContentEntry {{ a: references(field: 1) {{ ...F{n + 1} }} "
        f"b: references(field: 1) {{ ...F{n + 1} }} }}"
        for n in range(levels - 1)
    )
    last = f"fragment F{levels - 1} on ContentEntry {{ id }}"
    query = "{ contentEntryById(id: 1) { ...F0 } }" + doubling + last
    assert "aliases" in refusal(query)
    with pytest.raises(BadRequest, match="costs"):
        charge(query)


def test_the_introspection_of_tools_is_allowed_and_a_dozen_of_them_are_not() -> None:
    tools = get_introspection_query(input_value_deprecation=True, specified_by_url=True)
    cost_of(tools)
    assert broken_rules(tools) == []
    whole = tools[tools.index("{") : tools.index("fragment FullType")].strip()[1:-1]
    many = " ".join(whole.replace("__schema", f"a{n}: __schema") for n in range(12))
    assert "costs" in refusal("{" + many + "}" + tools[tools.index("fragment FullType") :])


def test_each_introspection_has_a_fixed_price() -> None:
    def introspections(number: int) -> str:
        return "{" + " ".join(f"a{n}: __type(name: $name) {{ name }}" for n in range(number)) + "}"

    cost_of("{ __schema { types { fields { name type { name fields { name } } } } } }")
    cost_of(introspections(COST // INTROSPECTION))
    assert "costs 102,000" in refusal(introspections(COST // INTROSPECTION + 1))


def test_the_largest_introspection_has_about_10_000_values() -> None:
    names = " ".join(f"a{n}: name" for n in range(ALIASES))
    for inner in (
        f"args {{ {names} }}",
        f"type {{ fields {{ {names} }} }}",
        f"type {{ ofType {{ ofType {{ ofType {{ fields {{ {names} }} }} }} }} }}",
    ):
        query = f"{{ __schema {{ types {{ fields {{ {inner} }} }} }} }}"
        assert broken_rules(query) == []
        assert validate(schema._schema, parse(query)) == []
        assert values(execute_sync(schema._schema, parse(query)).data) < 10_000
    circle = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }"
    assert validate(schema._schema, parse(circle)) != []


def values(answer: object) -> int:
    if isinstance(answer, list):
        return sum(map(values, answer))
    return 1 + sum(map(values, answer.values())) if isinstance(answer, dict) else 1


@pytest.mark.parametrize("name", getattr(schema._schema.mutation_type, "fields", ()))
def test_mutations_cost_more_than_reads_everywhere(name: str) -> None:
    def mutations(number: int) -> str:
        return " ".join(f"m{n}: {name} {{ success }}" for n in range(number))

    cost_of("mutation {" + mutations(ALIASES) + "}")
    cost_of("mutation { ...M } fragment M on Mutation {" + mutations(ALIASES) + "}")
    twice = "mutation { ...M ...M } fragment M on Mutation {" + mutations(ALIASES) + "}"
    with pytest.raises(BadRequest, match="costs"):
        charge(twice)


def test_reads_of_the_past_cost_more_than_their_values() -> None:
    def past(number: int) -> str:
        one = 'contentEntry(type: "posts", slug: "one", asOf: $at) { id }'
        return "query ($at: DateTime) {" + " ".join(f"a{n}: {one}" for n in range(number)) + "}"

    cost_of(past(90), at="2026-01-31")
    cost_of(past(ALIASES))
    assert "costs" in refusal(past(ALIASES), at="2026-01-31")


def test_a_list_of_the_past_costs_more_with_each_entry_of_its_page() -> None:
    def pages(number: int, limit: int, at: str) -> str:
        one = f"contentEntries(limit: {limit}{at}) {{ data {{ id }} }}"
        return "query ($at: DateTime) {" + " ".join(f"a{n}: {one}" for n in range(number)) + "}"

    cost_of(pages(80, 100, ""))
    cost_of(pages(8, 100, ", asOf: $at"), at="2026-01-31")
    assert "costs" in refusal(pages(9, 100, ", asOf: $at"), at="2026-01-31")
    cost_of(pages(50, 1, ", asOf: $at"), at="2026-01-31")


def test_a_search_and_the_offset_of_a_sorted_list_cost_more() -> None:
    def lists(number: int, arguments: str) -> str:
        one = f"contentEntries(limit: 10, {arguments}) {{ data {{ title slug }} }}"
        return "{" + " ".join(f"a{n}: {one}" for n in range(number)) + "}"

    cost_of(lists(87, "sort: $keys"), keys=["title"])
    cost_of(lists(ALIASES, "sort: $keys, offset: 90000"))
    for most, arguments in (
        (24, 'search: "fog"'),
        (4, 'sort: ["title"], offset: 100000'),
        (4, 'cursor: "first", offset: 9000000'),
        (87, 'sort: ["title"], offset: -9'),
    ):
        cost_of(lists(most, arguments))
        assert "costs" in refusal(lists(most + 5, arguments))


def test_a_refused_list_is_not_charged() -> None:
    budget = Budget()
    query = ListQuery(10, 0, words="fog", sort=(SortKey("title"), SortKey("slug")))
    for _ in range(16):
        budget.charge_checks(query)
    for _ in range(9):
        with pytest.raises(BadRequest, match="costs 102,000; the limit"):
            budget.charge_checks(query)
    assert budget.cost == 96_000


def test_an_argument_is_refused_for_its_first_error_alone() -> None:
    unknown = ", ".join(f"title{n}: 1" for n in range(900))
    query = f"mutation {{ a: createContentEntry(input: {{{unknown}}}) {{ success }} "
    query += "b: deleteContentEntry(id: {}) { success } }"
    with at_most(1):
        errors = validate(schema._schema, parse(query), VALIDATION)
    assert ["contentTypeSlug" in errors[0].message, "ID cannot" in errors[1].message] == [True] * 2
    assert len(errors) == 2


def test_a_number_with_more_digits_than_python_reads_is_an_error_of_the_query() -> None:
    query = "{ contentEntries(limit: %s) { data { id } } }" % ("9" * 5_000)
    [error] = validate(schema._schema, parse(query), VALIDATION)
    assert error.message == "Int cannot represent a number of this length"
    assert error.original_error is None
