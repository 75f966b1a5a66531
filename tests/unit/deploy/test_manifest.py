"""What a manifest may contain, and how its errors name the location."""

from __future__ import annotations

import gc
from collections.abc import Collection
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from write_side.domain.definition import Field, Option, Stage
from write_side.domain.events import Plan
from write_side.domain.field_types import FIELD_TYPES
from write_side.manifest import readers, source
from write_side.manifest.document import Manifest, ManifestContentType
from write_side.manifest.loader import load_manifest, read_manifest
from write_side.manifest.snapshot import json_text, yaml_text
from write_side.manifest.source import ManifestError, Source

*OTHER_TYPES, LAST_TYPE = sorted(FIELD_TYPES)
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
    return read_manifest(text.encode(), "acme.yaml").manifest


def refused(text: str) -> str:
    """Returns the manifest's only error, without the file name."""
    with pytest.raises(ManifestError) as refusal:
        read(text)
    message = str(refusal.value)
    assert message.startswith("acme.yaml:")
    assert "\n" not in message
    return message.removeprefix("acme.yaml:")


def typed(fields: str) -> str:
    return (
        f"{{workspace: acme, name: Acme, contentTypes: [{{slug: a, name: A, fields: {fields}}}]}}"
    )


def test_the_whole_of_a_manifest_is_read() -> None:
    manifest = read(WHOLE)
    assert manifest.desired_plan(Plan()) == Plan(5000, 20, 600, staging=True)
    assert [key.name for key in manifest.keys] == ["website", "ci"]
    assert [stage.id for stage in manifest.content_types[1].desired_stages()] == [
        "writing",
        "review",
    ]
    assert manifest.content_types[1].desired_fields()[3].fields[0].slug == "q"


def test_the_type_of_a_manifest_is_inspected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_manifest(b"{workspace: acme, name: Acme}", "manifest.yaml")
    monkeypatch.delattr(msgspec.inspect, "type_info")
    read_manifest(b"{workspace: acme, name: Acme}", "manifest.yaml")


def test_json_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "acme.json"
    path.write_text('{"workspace": "acme", "name": "Acme", "plan": null}')
    assert load_manifest(path).manifest.desired_plan(Plan(entries=3)) == Plan()


def test_an_absent_plan_is_unchanged() -> None:
    manifest = read("{workspace: acme, name: Acme}")
    assert manifest.desired_plan(Plan(entries=3)) == Plan(entries=3)


BIO, REVIEW = Field("bio", "Bio", "text"), Stage("review", "Review")


@pytest.mark.parametrize(
    ("keys", "fields", "stages"),
    [
        ("", (BIO,), (REVIEW,)),
        (", fields: []", (), (REVIEW,)),
        (", workflow: null", (BIO,), ()),
        (", workflow: {stages: []}", (BIO,), ()),
    ],
)
def test_absent_fields_and_workflow_are_unchanged(
    keys: str, fields: tuple[Field, ...], stages: tuple[Stage, ...]
) -> None:
    manifest = read(f"{{workspace: a, name: A, contentTypes: [{{slug: a, name: A{keys}}}]}}")
    (content_type,) = manifest.content_types
    assert content_type.desired_fields((BIO,)) == fields
    assert content_type.desired_stages((REVIEW,)) == stages
    assert (content_type.desired_fields(), content_type.desired_stages()) == ((), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{workspace: acme, name: Acme, media_: []}",
            "1:31: media_: unknown key 'media_'; expected workspace, name, plan, environments, "
            "keys, media, webhooks or contentTypes; did you mean 'media'?",
        ),
        (
            typed("[{slug: x, name: X, type: text, size: 3}]"),
            "1:105: contentTypes[0].fields[0].size: unknown key 'size'; expected slug, name, ",
        ),
        (
            typed("[{slug: x, name: X, type: selekt}]"),
            "1:99: contentTypes[0].fields[0].type: 'selekt' is not allowed; expected "
            f"{', '.join(OTHER_TYPES)} or {LAST_TYPE}; did you mean 'select'?",
        ),
        (
            "{workspace: acme, name: 3}",
            "1:25: name: '3' is a number; expected text: write it in quotes",
        ),
        (
            "workspace: acme\nname: No",
            "2:7: name: 'No' is read as false; expected text: write it in quotes",
        ),
        ("workspace: acme\nname: [Acme\nkeys: 3\n", "3:5: did not find expected ',' or ']'"),
        ("workspace: acme\nname: Acme\nname: Bcme\n", "3:1: name: 'name' occurs twice"),
        ("workspace: acme\nname: Acme\nkeys:\n", "3:6: keys: is empty; expected a list"),
        ("workspace: acme\nname: Acme\nkeys: [7]\n", "3:8: keys[0]: '7' is a number; expected a "),
        ("workspace: acme\nname: Acme\n? [a]\n: 3\n", "1:1: a key must be text"),
        ("workspace: acme\nname: !!set {a}", "2:7: name: has a tag, which is not supported"),
        (
            "workspace: acme\nname: !loud Acme",
            "2:7: name: has a tag, which is not supported; write ",
        ),
        ("\t{}", "1:1: found a character that cannot begin a value: write text in quotes, and "),
        ("workspace: acme\n---\nname: Acme\n", "2:1: a second document begins; expected one"),
        ("", " is empty; expected a mapping with workspace and name"),
        ("[]", "1:1: is a list; expected a mapping with workspace and name"),
        ("workspace: acme", "1:1: the key 'name' is missing"),
        (
            "workspace: acme\nname: Acme\nwebhooks: [{name: a}]\n",
            "3:12: webhooks[0]: the key 'url' is missing",
        ),
        (
            "workspace: acme\nname: Acme\n"
            "media: [{id: a, url: /a, name: ' ', contentType: image/png}]\n",
            "3:32: media[0].name: the text is empty; enter one",
        ),
        (
            "workspace: acme\nname: Acme\n"
            "media: [{id: a, url: 'javascript:x', name: a, contentType: image/png}]\n",
            "3:22: media[0].url: the URL 'javascript:x' has an unsupported scheme; use ",
        ),
        (
            f"{{workspace: acme, name: {'A' * 201}}}",
            "1:25: name: the name has 201 characters; at most 200",
        ),
        (
            "{workspace: acme, name: A, "
            f"keys: [{{name: {'k' * 201}, permissions: [content.view]}}]}}",
            "1:42: keys[0].name: the name has 201 characters",
        ),
        ("{workspace: Acme Inc, name: Acme}", "1:13: workspace: the slug 'Acme Inc' must be 1 to"),
        ("{workspace: acme, name: ' '}", "1:25: name: the name is empty; enter one"),
        (
            "{workspace: acme, name: A, environments: [test]}",
            "1:43: environments[0]: 'test' is not allowed; expected production or staging",
        ),
        (
            "{workspace: acme, name: A, plan: {entries: -1}}",
            "1:44: plan.entries: '-1' is a number; expected a whole number from 0 to 9007199254740",
        ),
        (
            typed("[{slug: x, name: X, type: text, multiple: true}]"),
            "1:115: contentTypes[0].fields[0].multiple: field 'x' of type text cannot have",
        ),
        (
            typed("[{slug: x, name: X, type: select}]"),
            "1:74: contentTypes[0].fields[0]: field 'x' of type select needs options",
        ),
        (
            typed("[{slug: x, name: X, type: text}, {slug: x, name: Y, type: text}]"),
            "1:113: contentTypes[0].fields[1].slug: repeated field slug: 'x'",
        ),
        (
            "{workspace: acme, name: A, keys: [{name: k, permissions: [content.veiw]}]}",
            "1:59: keys[0].permissions[0]: 'content.veiw' is not allowed; expected content.view, "
            "content.published, content.edit or service.view; did you mean 'content.view'?",
        ),
        (
            "{workspace: acme, name: A, keys: [{name: k, permissions: []}]}",
            "1:58: keys[0].permissions: a key needs a permission: content.view, ",
        ),
        (
            "{workspace: acme, name: A, "
            "keys: [{name: k, permissions: [content.view], expires: 90d}]}",
            "1:83: keys[0].expires: '90d' is not a time: use an ISO 8601 date",
        ),
        (
            "{workspace: acme, name: A, contentTypes: [{slug: a, name: A}, {slug: a, name: B}]}",
            "1:70: contentTypes[1].slug: the slug 'a' occurs twice in production",
        ),
        (
            "{workspace: acme, name: A, "
            "contentTypes: [{slug: a, name: A, environments: [staging]}]}",
            "1:77: contentTypes[0].environments[0]: list staging under environments",
        ),
        (
            "{workspace: acme, name: A, contentTypes: [{slug: a, name: A, "
            "workflow: {stages: [{id: b, name: B}, {id: b, name: C}]}}]}",
            "1:105: contentTypes[0].workflow.stages[1].id: repeated stage id: 'b'",
        ),
        (
            "{workspace: acme, name: A, webhooks: ["
            + ", ".join(f"{{name: w{n}, url: 'https://a.example'}}" for n in range(51))
            + "]}",
            "1:38: webhooks: a workspace has at most 50 webhooks",
        ),
    ],
)
def test_errors_are_reported_with_their_place(text: str, message: str) -> None:
    assert refused(text).startswith(message)


def test_a_manifest_that_is_not_utf_8_is_refused_with_the_place() -> None:
    with pytest.raises(ManifestError) as refusal:
        read_manifest("name: Café\n".encode("latin-1"), "acme.yaml")
    assert str(refusal.value) == (
        "acme.yaml: cannot be read: incomplete UTF-8 octet sequence (byte 9)"
    )


SEVERAL = """\
workspace: Acme
plan: {entries: many}
keys:
  - {name: web, permissions: [content.view], secret: short}
  - permissions: [content.edti]
  - {name: web, permissions: [content.view]}
contentTypes:
  - 7
  - slug: posts
    nmae: Posts
    fields:
      - {slug: faq, name: FAQ, type: repeater, fields: [{slug: q, name: Q, type: txt}]}
      - {slug: body, name: Body, type: select}
      - {slug: body, name: Body, type: text}
  - {slug: posts, name: Posts}
"""


def test_every_problem_is_named_at_once_in_the_order_of_the_text() -> None:
    with pytest.raises(ManifestError) as refusal:
        read(SEVERAL)
    assert str(refusal.value) == "acme.yaml has 14 errors:"
    found = [(one.line, one.column, one.path) for one in refusal.value.problems]
    assert found == [
        (1, 1, ""),
        (1, 12, "workspace"),
        (2, 17, "plan.entries"),
        (4, 54, "keys[0].secret"),
        (5, 5, "keys[1]"),
        (5, 19, "keys[1].permissions[0]"),
        (6, 12, "keys[2].name"),
        (8, 5, "contentTypes[0]"),
        (9, 5, "contentTypes[1]"),
        (10, 5, "contentTypes[1].nmae"),
        (12, 82, "contentTypes[1].fields[0].fields[0].type"),
        (13, 9, "contentTypes[1].fields[1]"),
        (14, 16, "contentTypes[1].fields[2].slug"),
        (15, 12, "contentTypes[2].slug"),
    ]


def test_problems_have_the_value_and_what_is_allowed() -> None:
    with pytest.raises(ManifestError) as refusal:
        read("{workspace: acme, name: A, environments: [stagign]}")
    (problem,) = refusal.value.problems
    assert msgspec.to_builtins(problem) == {
        "path": "environments[0]",
        "message": "'stagign' is not allowed; expected production or staging",
        "line": 1,
        "column": 43,
        "value": "stagign",
        "allowed": ("production", "staging"),
        "suggestion": "staging",
    }


def test_suggestions_take_a_bounded_number_of_comparisons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    def counted(word: str, known: Collection[str]) -> str:
        nonlocal compared
        compared += len(known)
        return next(iter(known))

    monkeypatch.setattr(source, "nearest", counted)
    fields = "[{slug: r, name: R, type: reference, to: [tpye-%d]}]"
    types = [f"{{slug: type-{n}, name: T, fields: {fields % n}}}" for n in range(1000)]
    text = f"{{workspace: a, name: A, contentTypes: [{', '.join(types)}]}}"
    notes = read_manifest(text.encode(), "acme.yaml").source.notes
    assert len(notes) == 1000
    assert (notes[0].suggestion, notes[-1].suggestion) == ("type-0", None)
    assert compared == source.COMPARISONS


@pytest.mark.parametrize(
    "secret", ["short-secret", "'with a space and some more'", "987654321987", "!short-secret"]
)
def test_secrets_are_never_shown_in_problems(secret: str) -> None:
    key = f"{{name: k, secret: {secret} , permissions: [content.view]}}"
    with pytest.raises(ManifestError) as refusal:
        read(f"{{workspace: acme, name: A, keys: [{key}, {key}]}}")
    texts = [str(refusal.value), *refusal.value.details, repr(refusal.value.problems)]
    assert len(refusal.value.problems) >= 2
    assert secret.strip("'!") not in "".join(texts)


@pytest.mark.parametrize(
    "key", ["secret: *tell-nobody", "secret: !tell-nobody!x y", "secret:tell-nobody"]
)
@pytest.mark.parametrize("loader", [yaml.CSafeLoader, yaml.SafeLoader])
def test_a_secret_that_yaml_misreads_is_not_shown(
    key: str, loader: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "LOADER", loader)
    with pytest.raises(ManifestError) as refusal:
        read(f"{{workspace: acme, name: A, keys: [{{name: k, permissions: [], {key}}}]}}")
    texts = [str(refusal.value), *refusal.value.details, repr(refusal.value.problems)]
    assert "tell-nobody" not in "".join(texts)


def test_the_loader_without_libyaml_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{WHOLE}  - {{slug: é, name: 3, fields: [{{slug: x}}]}}\n  - name: |\n     7\n     8"
    found = []
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        monkeypatch.setattr(readers, "LOADER", loader)
        source = Source("acme.yaml")
        values = readers.read_values(text.encode(), source, is_json=False)
        found.append((values, source.places, source.keys))
    assert found[0] == found[1]


def test_garbage_is_collected_again_after_a_manifest() -> None:
    refused("{workspace: acme, name: 3}")
    assert gc.isenabled()


def nested(inner: str) -> str:
    """Nests nine levels; each refers to the level below ten times."""
    levels = (f"{n}: &l{n} {inner % ','.join([f'*l{n - 1}'] * 10)}\n" for n in range(1, 10))
    return "0: &l0 {x: y}\n" + "".join(levels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (nested("[%s]"), "more than 3,000 values, counting each use of an alias"),
        (nested("{<<: [%s]}"), "more than 3,000 values, counting each use of an alias"),
        ("&a {x: *a}", "nested deeper than 40 levels, or an alias contains itself"),
        ("&a {<<: *a}", "nested deeper than 40 levels, or an alias contains itself"),
        ("[" * 20, "did not find expected node content"),
        ("[" * 100 + "]" * 100, "nested deeper than 40 levels"),
        ("[" * 1_000_000, "nested deeper than 40 levels"),
        (
            typed("&again [{slug: x, name: X, type: repeater, fields: *again}]"),
            "nested deeper than 40 levels, or an alias contains itself",
        ),
        ("name: A\nworkspace: 1" + 200 * ":1" + ".5", "workspace: cannot be read as 'float'"),
        ("name: A\nworkspace: 1" + 20_000 * ":1", "workspace: cannot be read as 'int'"),
    ],
    ids=range(10),
)
def test_a_manifest_is_read_within_limits(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "MAX_VALUES", 3_000)
    assert message in refused(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"workspace": "acme",\n\t"name": 3}', ":2:10: name: '3' is a number; expected text"),
        ('{"workspace": "é", "name": "A",}', ":1:32: not JSON: "),
        ('{"workspace": "acme", ', ": not JSON: it ends too early; close its strings, arrays and "),
        (" \n", ": is empty; expected a mapping with workspace and name"),
        (
            '{"workspace": "acme",\n"name": "{\\"", "media": [[], {"url\\n": 1}], "name": "B"}',
            " has 7 errors:",
        ),
    ],
)
def test_problems_of_json_have_their_places(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as refusal:
        read_manifest(text.encode(), "acme.json", is_json=True)
    assert str(refusal.value).removeprefix("acme.json").startswith(message)


def test_the_places_of_json_are_those_of_yaml() -> None:
    text = '{"workspace": "acme", "name": "A",\n "keys": [{"name": 1, "permissions": []}, {}]}'
    found = []
    for is_json in (True, False):
        with pytest.raises(ManifestError) as refusal:
            read_manifest(text.encode(), "acme", is_json=is_json)
        found.append([(one.line, one.column, one.path) for one in refusal.value.problems])
    assert found[0] == found[1]
    assert len(found[0]) == 4


def test_a_missing_file_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_manifest(tmp_path / "nowhere.yaml")


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
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


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=60)


@settings(max_examples=40)
@example("0\x85", ["a\u2028 b", "- \n"])
@given(_TEXT.filter(str.strip), st.lists(_TEXT, max_size=3, unique=True))
def test_any_text_is_written_in_a_form_that_can_be_read(name: str, values: list[str]) -> None:
    options = tuple(Option(value, value) for value in values) or (Option("a", "b"),)
    kind = Field("kind", name, "select", options=options)
    content_type = ManifestContentType(slug="a", name=name, fields=(kind,))
    manifest = Manifest(workspace="acme", name=name, content_types=(content_type,))
    assert read(yaml_text(manifest)) == manifest
    read_again = read_manifest(json_text(manifest), "acme.json", is_json=True)
    assert read_again.manifest == manifest
