"""GraphQL requests that cost far more than their size suggests."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tests.benchmarks.attack_shapes import EDIT, VIEW, Shape, bearer, gzipped


def variables() -> Iterator[Shape]:
    create = (
        "mutation($t: [TranslationInput!]) { createContentEntry(input: {contentTypeSlug: "
        '"posts", title: "x", translations: $t}) { success message } }'
    )
    locales = b'{"t":[' + b'{"locale":"a"},' * 274_999 + b'{"locale":"a"}]}'
    for name, key in (("view", VIEW), ("edit", EDIT)):
        yield _query(f"variables: 275,000 objects, gzip ({name} key)", create, locales, key, True)
    yield _query("variables: 1,300,000 nulls", create, b'{"t":[' + b"0," * 1_300_000 + b"0]}", VIEW)
    fields = "mutation($f: JSON) { createContentEntry(input: {contentTypeSlug: "
    fields += '"posts", title: "x", fields: $f}) { success message } }'
    wide = b'{"f":{"meta":[' + b"{}," * 1_200_000 + b"{}]}}"
    yield _query("variables: wide JSON value, gzip", fields, wide, EDIT, True)
    deep = b'{"f":' + b"[" * 1_900_000 + b"]" * 1_900_000 + b"}"
    yield _query("variables: 1,900,000 levels, gzip", fields, deep, VIEW, True)
    many = b"{" + b",".join(b'"v%d":1' % n for n in range(300_000)) + b"}"
    yield _query("variables: 300,000 names, gzip", fields, many, VIEW, True)
    number = b'{"t":' + b"9" * 3_900_000 + b"}"
    yield _query("variables: a number of 3.9 MB", "query($t: Int) { a: __typename }", number, VIEW)
    string = b'{"t":"' + b"\\u0041" * 600_000 + b'"}'
    by_slug = 'query($t: String!) { contentEntry(type: "posts", slug: $t) { id } }'
    yield _query("variables: a slug of 600,000 escapes", by_slug, string, VIEW)


def documents() -> Iterator[Shape]:
    def fragments(number: int, spread: str) -> str:
        made = " ".join(f"fragment f{n} on Query {{ {spread} }}" for n in range(number))
        return "{ " + " ".join(f"...f{n}" for n in range(number)) + " } " + made

    typed = "contentTypes { name }"
    entry = "contentEntries(limit: 1) { data { id } }"
    sent = {
        "480 fragments": fragments(480, "__typename"),
        "240 fragments that overlap": fragments(240, typed),
        "160 fragments of pages": fragments(160, entry),
        "100 aliases of pages": "{" + "".join(f"a{n}: {entry} " for n in range(100)) + "}",
        "490 equal fields": "{" + "__typename " * 490 + "}",
        "240 equal pages": "{" + "contentTypes { name } " * 240 + "}",
        "60 spreads of 60": "{"
        + "...A " * 60
        + "} fragment A on Query {"
        + "__typename " * 60
        + "}",
        "4,900 tokens of a list": '{ contentEntries(type: "'
        + "x"
        + '") { data { id references(field: "a") { id } } } }'
        + " query($x: [Int!] = ["
        + "1 " * 4_800
        + "]) { contentTypes { name } }",
        "200 kB of comments": "#" + "x" * 199_000 + "\n{ contentTypes { name } }",
        "200 kB of white space": "{ contentTypes { name } }" + " \n" * 99_000,
        "a string of 199 kB": '{ contentType(slug: "' + "\\u0041" * 33_000 + '") { name } }',
        "2,400 unknown fields": "{" + "x " * 2_400 + "}",
        "490 unknown fields": "{" + " ".join(f"x{n}" for n in range(490)) + "}",
        "120 unknown arguments": "{ contentTypes("
        + " ".join(f"x{n}: 1" for n in range(1_200))
        + ") { name } }",
        "1,200 variables": "query("
        + " ".join(f"$v{n}: Int" for n in range(1_200))
        + ") { contentTypes { name } }",
        "2,400 nested lists": "{ contentEntry(type: " + "[" * 2_400 + "]" * 2_400 + ") { id } }",
        "nested selections": "{ a" * 1_600 + "}" * 1_600,
        "400 operations": " ".join(f"query q{n} {{ contentTypes {{ name }} }}" for n in range(240)),
        "1,200 directives": "{ contentTypes " + "@include(if: true) " * 700 + "{ name } }",
        "5 introspections": "{" + "".join(f"a{n}: {_SCHEMA}" for n in range(5)) + "}",
        "a page of 100 of 100 changes": "{ contentEntries(limit: 100) { data { id fields title slug"
        " contentType { name fields { slug name } } } } }",
        "90 mutations": "mutation {"
        + "".join(f'm{n}: deleteContentEntry(id: "x") {{ success }} ' for n in range(90))
        + "}",
    }
    for name, document in sent.items():
        yield _query(f"document: {name}", document, b"{}", VIEW)


_SCHEMA = "__schema { types { name fields { name args { name type { name } } type { name } } } } "


def _query(name: str, document: str, variables: bytes, key: str, packed: bool = False) -> Shape:
    body = b'{"query":' + msgspec.json.encode(document) + b',"variables":' + variables + b"}"
    sent, headers = gzipped(body, key) if packed else (body, bearer(key))
    return Shape(f"GraphQL {name}", "/graphql", sent, headers)
