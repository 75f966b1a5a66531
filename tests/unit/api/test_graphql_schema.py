"""The GraphQL schema has not changed, and its file agrees with it."""

from __future__ import annotations

import re
from pathlib import Path

from graphql import build_schema, lexicographic_sort_schema, print_schema

import api.graphql
from api.graphql.schema import schema

FILE = Path(api.graphql.__path__[0]) / "schema.graphql"
PROMISED = """
enum EntryStatus { draft published archived }
scalar JSON @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc8259")
scalar DateTime @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc3339")

type Query {
  contentEntry(type: String!, slug: String!, language: String = "en-US", locale: String, asOf: DateTime): ContentEntry
  contentEntryById(id: ID!, locale: String): ContentEntry
  contentEntries(type: String, status: EntryStatus, language: String, locale: String, limit: Int = 10, offset: Int = 0, filter: JSON, sort: [String!], search: String, cursor: String, asOf: DateTime): ContentEntryPage!
  contentTypes: [ContentType!]!
  contentType(slug: String!): ContentType
  media(id: ID!): Media
}
type Mutation {
  createContentEntry(input: CreateContentEntryInput!): ContentEntryPayload!
  updateContentEntry(id: ID!, input: UpdateContentEntryInput!): ContentEntryPayload!
  deleteContentEntry(id: ID!): DeletePayload!
}
input CreateContentEntryInput { contentTypeSlug: String!, title: String!, slug: String, fields: JSON, status: EntryStatus = draft, language: String, stageId: ID, translations: [TranslationInput!] }
input UpdateContentEntryInput { title: String, slug: String, fields: JSON, status: EntryStatus, stageId: ID, translations: [TranslationInput!], expectedVersion: Int }
input TranslationInput { locale: String!, title: String, fields: JSON }
type ContentEntryPayload { success: Boolean!, message: String!, entry: ContentEntry }
type DeletePayload { success: Boolean!, message: String! }
type ContentEntry { id: ID!, title: String!, slug: String!, status: EntryStatus!, stage: Stage, language: String!, locale: String!, publishedAt: DateTime, createdAt: DateTime!, updatedAt: DateTime!, contentType: ContentType!, fields: JSON!, version: Int!, references(field: String!): [ContentEntry!]!, history(limit: Int = 20, before: Int): [Change!]! }
type Change { version: Int!, at: DateTime!, actor: String!, action: String!, fields: [FieldChange!]! }
type FieldChange { field: String!, before: JSON, after: JSON }
type ContentEntryPage { data: [ContentEntry!]!, pagination: Pagination! }
type Pagination { limit: Int!, offset: Int!, total: Int!, next: String }
type Media { id: ID!, url: String!, name: String!, contentType: String! }
type Stage { id: ID!, name: String! }
type ContentType { id: ID!, name: String!, slug: String!, fields: [Field!]!, stages: [Stage!]! }
type Field { slug: String!, name: String!, type: String!, required: Boolean!, multiple: Boolean!, options: [String!]!, to: [String!]! }
"""  # noqa: E501 - to the letter


def _comparable(sdl: str) -> str:
    bare = re.sub(r'""".*?"""', "", sdl, flags=re.DOTALL)
    return print_schema(lexicographic_sort_schema(build_schema(bare)))


def test_the_schema_has_the_specified_operations() -> None:
    assert _comparable(schema.as_str()) == _comparable(PROMISED)


def test_the_file_matches_the_code() -> None:
    assert FILE.read_text() == schema.as_str() + "\n", "write schema.as_str() into schema.graphql"


def test_every_type_and_every_field_with_arguments_has_a_description() -> None:
    ours = [t for t in schema._schema.type_map.values() if not t.name.startswith("__")]
    assert [type_.name for type_ in ours if not type_.description] == []
    fields = [field for type_ in ours for field in getattr(type_, "fields", {}).values()]
    assert [field for field in fields if getattr(field, "args", {}) and not field.description] == []
