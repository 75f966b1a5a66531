"""deploy/docs/manifest.schema.json is the schema that manifests are read with."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from deploy.demo.magazine import FILES
from tests.manifest_schema import FILE
from write_side.manifest.consistency import check_consistency
from write_side.manifest.document import Manifest, json_schema
from write_side.manifest.loader import Shape, read_manifest
from write_side.manifest.readers import INVALID
from write_side.manifest.source import ManifestError, Source

VALIDATOR = Draft202012Validator(msgspec.json.decode(FILE.read_bytes()))


def test_the_file_is_up_to_date() -> None:
    assert FILE.read_bytes() == json_schema(), "run: .venv/bin/python -m tests.manifest_schema"


SECTIONS = {
    "Manifest": "Workspace",
    "ManifestPlan": "Plan",
    "ManifestKey": "Keys",
    "ManifestMedia": "Media",
    "ManifestWebhook": "Webhooks",
    "ManifestContentType": "Content types",
    "Field": "Fields",
}
"""Maps each definition of the schema to its section in deploy/docs/manifest.md."""
SHOWN_IN_A_ROW = {"ManifestWorkflow", "Stage", "Option"}


def test_the_reference_has_every_key() -> None:
    reference = FILE.with_name("manifest.md").read_text("utf-8")
    definitions = msgspec.json.decode(FILE.read_bytes())["$defs"]
    assert definitions.keys() == SECTIONS.keys() | SHOWN_IN_A_ROW
    for name, section in SECTIONS.items():
        rows = reference.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        assert [key for key in definitions[name]["properties"] if f"`{key}`" not in rows] == []


def test_the_demo_manifest_is_valid() -> None:
    VALIDATOR.validate(yaml.safe_load((FILES / "manifest.yaml").read_text("utf-8")))


SLUGS = ["", "-x", "Acme", "a b", "x" * 64, "9-a_b"]
NAMES = ["", " \t", "x" * 201, "x" * 200]
FULL = {
    "workspace": "acme",
    "name": "Acme",
    "keys": [{"name": "web", "permissions": ["content.view"]}],
    "media": [{"id": "a", "url": "/a.png", "name": "A", "contentType": "image/png"}],
    "webhooks": [{"name": "search", "url": "https://example.com", "types": ["posts"]}],
    "contentTypes": [
        {
            "slug": "posts",
            "name": "Posts",
            "workflow": {"stages": [{"id": "review", "name": "Review"}]},
            "fields": [
                {"slug": "x", "name": "X", "type": "text"},
                {
                    "slug": "kind",
                    "name": "Kind",
                    "type": "select",
                    "options": [{"value": "news", "label": "News"}],
                },
                {"slug": "related", "name": "Related", "type": "reference", "to": ["posts"]},
            ],
        }
    ],
}
WHOLE = {
    "workspace": "acme",
    "name": "Acme",
    "plan": {"entries": 5, "staging": True},
    "environments": ["staging", "production"],
    "keys": [{"name": "web", "permissions": ["content.view"], "environment": "staging"}],
    "contentTypes": [
        {
            "slug": "posts",
            "name": "Posts",
            "workflow": {"stages": [{"id": "review", "name": "Review"}]},
            "fields": [{"slug": "x", "name": "X", "type": "text", "required": True, "to": ["y"]}],
        }
    ],
}
_KEYS = st.sampled_from(["name", "slug", "type", "entries", "stages", "to", "colour"])
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.sampled_from([2**53, 0.5, "text", "staging", "content.edit", ""]),
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=2)
)


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """Draws the value with one part replaced, removed or added."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(_VALUES)
    if isinstance(value, list):
        return [draw(changed(value[0])), *value[1:]]
    key = draw(st.sampled_from(sorted(value)) | _KEYS)
    if key in value and draw(st.integers(0, 5)) == 0:
        return {name: part for name, part in value.items() if name != key}
    return {**value, key: draw(changed(value.get(key)))}


@given(changed(WHOLE))
def test_the_check_of_a_manifest_agrees_with_the_schema(manifest: Any) -> None:
    source = Source("acme.yaml")
    valid = Shape(source).valid(manifest, msgspec.inspect.type_info(Manifest))
    has_shape = is_faultless(source)
    if has_shape:
        assert valid == manifest
    else:
        assert not VALIDATOR.is_valid(manifest)
    if valid is not INVALID:
        check_consistency(msgspec.convert(valid, Manifest), source)
        if is_faultless(source):
            assert VALIDATOR.is_valid(manifest)


def is_faultless(source: Source) -> bool:
    try:
        source.raise_problems()
    except ManifestError:
        return False
    return True


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("workspace", SLUGS),
        ("name", NAMES),
        ("keys/0/name", NAMES),
        ("keys/0/permissions", [[], ["content.view"]]),
        ("keys/0/secret", ["x" * 19, "x" * 20]),
        ("media/0/id", SLUGS),
        ("media/0/url", ["", "\t", "/a.png"]),
        ("media/0/name", ["", " ", "A.png"]),
        ("media/0/contentType", ["", " ", "image/png"]),
        ("webhooks/0/name", SLUGS),
        ("webhooks/0/url", ["https://a.com/" + "x" * 2_000, "https://a.com/" + "x" * 1_900]),
        ("webhooks/0/types/0", SLUGS),
        ("webhooks", [[{"name": f"w{n}", "url": "http://a.com"} for n in range(51)], []]),
        ("contentTypes/0/slug", SLUGS),
        ("contentTypes/0/name", NAMES),
        ("contentTypes/0/workflow/stages/0/id", SLUGS),
        ("contentTypes/0/workflow/stages/0/name", NAMES),
        ("contentTypes/0/fields/0/slug", SLUGS),
        ("contentTypes/0/fields/0/name", NAMES),
        ("contentTypes/0/fields/1/options/0/value", ["", "news"]),
        ("contentTypes/0/fields/2/to/0", SLUGS),
    ],
)
def test_the_schema_has_the_patterns_and_sizes_of_the_check(path: str, values: list[Any]) -> None:
    """The last value is valid, the others are not."""
    for value in values:
        manifest = msgspec.json.decode(msgspec.json.encode(FULL))
        *within, last = (int(step) if step.isdigit() else step for step in path.split("/"))
        part = manifest
        for step in within:
            part = part[step]
        part[last] = value
        is_valid = value is values[-1]
        assert VALIDATOR.is_valid(manifest) is is_valid, value
        with nullcontext() if is_valid else pytest.raises(ManifestError):
            read_manifest(msgspec.json.encode(manifest), "acme.json", is_json=True)


def test_an_unknown_key_is_invalid() -> None:
    with pytest.raises(ValidationError, match="colour"):
        VALIDATOR.validate({"workspace": "acme", "name": "Acme", "colour": "red"})
