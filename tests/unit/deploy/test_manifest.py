"""What a manifest may say, and how its errors name the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from write_side.domain.events import Plan
from write_side.manifest.document import Manifest, ManifestError, load_manifest, read_manifest

WHOLE = """
workspace: acme
name: Acme
plan: {entries: 5000, contentTypes: 20, requestsPerMinute: 600, staging: true}
environments: [production, staging]
keys:
  - {name: website, permissions: [content.view]}
  - {name: ci, permissions: [content.view, content.edit], secret: "a-secret-of-twenty-or-more"}
media:
  - {id: hero, url: "https://cdn.example.com/hero.png", name: hero.png, contentType: image/png}
contentTypes:
  - slug: authors
    name: Authors
    fields:
      - {slug: bio, name: Bio, type: text}
  - slug: posts
    name: Posts
    workflow: {stages: [{id: writing, name: Writing}, {id: review, name: Review}]}
    environments: [staging]
    fields:
      - {slug: intro, name: Intro, type: section}
      - {slug: category, name: Category, type: select, options: [{value: news, label: News}]}
      - {slug: author, name: Author, type: reference, to: [authors]}
      - {slug: faq, name: FAQ, type: repeater, fields: [{slug: q, name: Question, type: text}]}
"""


def read(text: str) -> Manifest:
    return read_manifest(text.encode(), "acme.yaml")


def refused(text: str) -> str:
    with pytest.raises(ManifestError) as refusal:
        read(text)
    said = str(refusal.value)
    assert said.startswith("acme.yaml: ")
    assert "\n" not in said
    return said.removeprefix("acme.yaml: ")


def typed(fields: str) -> str:
    return (
        f"{{workspace: acme, name: Acme, contentTypes: [{{slug: a, name: A, fields: {fields}}}]}}"
    )


def test_the_whole_of_a_manifest_is_read() -> None:
    manifest = read(WHOLE)
    assert manifest.desired_plan(Plan()) == Plan(5000, 20, 600, staging=True)
    assert [key.name for key in manifest.keys] == ["website", "ci"]
    assert [stage.id for stage in manifest.content_types[1].stages] == ["writing", "review"]
    assert manifest.content_types[1].fields[3].fields[0].slug == "q"


def test_json_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "acme.json"
    path.write_text('{"workspace": "acme", "name": "Acme", "plan": null}')
    assert load_manifest(path).desired_plan(Plan(entries=3)) == Plan()


def test_an_absent_plan_is_left_as_it_is() -> None:
    manifest = read("{workspace: acme, name: Acme}")
    assert manifest.desired_plan(Plan(entries=3)) == Plan(entries=3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{workspace: acme, name: Acme, colour: red}", "unknown field `colour`"),
        (typed("[{slug: x, name: X, type: text, size: 3}]"), "at `$.contentTypes[0].fields[0]`"),
        (typed("[{slug: x, name: X, type: colour}]"), "at `$.contentTypes[0].fields[0].type`"),
        ("{workspace: acme, name: 3}", "at `$.name`"),
        ("workspace: acme\nname: [Acme\nkeys: 3\n", "line 3, column 5"),
        ("workspace: acme\nname: Acme\nname: Bcme\n", "line 3, column 1: 'name' occurs twice"),
        ("\t{}", "line 1, column 1"),
        ("", "got `null`"),
        (
            typed("&again [{slug: x, name: X, type: repeater, fields: *again}]"),
            "contains itself",
        ),
        (f"{{workspace: acme, name: {'A' * 201}}}", "name: has 201 characters; at most 200"),
        (
            "{workspace: acme, name: A, "
            f"keys: [{{name: {'k' * 201}, permissions: [content.view]}}]}}",
            "keys: a name has 201 characters",
        ),
        ("{workspace: Acme Inc, name: Acme}", "'Acme Inc' must be 1 to 63 of a-z"),
        ("{workspace: acme, name: ' '}", "name: is empty"),
        (
            "{workspace: acme, name: A, environments: [test]}",
            "environments: Unknown environment 'test': use prod",
        ),
        ("{workspace: acme, name: A, plan: {entries: -1}}", "at `$.plan.entries`"),
        (typed("[{slug: x, name: X, type: text, multiple: true}]"), "cannot have 'multiple'"),
        (typed("[{slug: x, name: X, type: select}]"), "needs options"),
        (
            "{workspace: acme, name: A, keys: [{name: k, permissions: [content.admin]}]}",
            "There is no permission 'content.admin'",
        ),
        (
            "{workspace: acme, name: A, keys: [{name: k, permissions: [content.view], secret: x}]}",
            "the secret of 'k' must have at least 20 characters",
        ),
        (
            "{workspace: acme, name: A, contentTypes: [{slug: a, name: A}, {slug: a, name: B}]}",
            "the slug 'a' occurs twice",
        ),
        (
            "{workspace: acme, name: A, "
            "contentTypes: [{slug: a, name: A, environments: [staging]}]}",
            "list staging under environments",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, said: str) -> None:
    assert said in refused(text)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"nowhere\.yaml cannot be read: No such file"):
        load_manifest(tmp_path / "nowhere.yaml")


def test_a_file_of_any_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * 2_000_001)
    with pytest.raises(ManifestError, match="larger than 2,000,000 bytes"):
        load_manifest(path)


def test_anchors_and_merges_are_no_repeated_keys() -> None:
    manifest = read(
        "workspace: acme\nname: Acme\ncontentTypes:\n"
        "  - &a {slug: a, name: A}\n  - &b {<<: *a, slug: b}\n  - {<<: *b, slug: c}\n"
    )
    assert [one.slug for one in manifest.content_types] == ["a", "b", "c"]
