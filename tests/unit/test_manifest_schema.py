"""deploy/docs/manifest.schema.json is the schema that manifests are read with."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from deploy.demo.magazine import FILES
from tests.manifest_schema import FILE
from write_side.manifest.document import Manifest, json_schema
from write_side.manifest.readers import INVALID
from write_side.manifest.shape import Shape
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
    try:
        source.raise_problems()
    except ManifestError:
        assert not VALIDATOR.is_valid(manifest)
    else:
        assert VALIDATOR.is_valid(manifest)
        assert valid == manifest
    if valid is not INVALID:
        msgspec.convert(valid, Manifest)


def test_an_unknown_key_is_invalid() -> None:
    with pytest.raises(ValidationError, match="colour"):
        VALIDATOR.validate({"workspace": "acme", "name": "Acme", "colour": "red"})
