"""deploy/docs/manifest.schema.json is the schema of the manifests that are read."""

from __future__ import annotations

import msgspec
import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError

from deploy.demo.magazine import FILES
from tests.manifest_schema import FILE, schema

VALIDATOR = Draft202012Validator(msgspec.json.decode(FILE.read_bytes()))


def test_the_file_is_up_to_date() -> None:
    assert FILE.read_bytes() == schema(), "run: .venv/bin/python -m tests.manifest_schema"


def test_the_demo_manifest_is_valid() -> None:
    VALIDATOR.validate(yaml.safe_load((FILES / "manifest.yaml").read_text("utf-8")))


def test_an_unknown_key_is_invalid() -> None:
    with pytest.raises(ValidationError, match="colour"):
        VALIDATOR.validate({"workspace": "acme", "name": "Acme", "colour": "red"})
