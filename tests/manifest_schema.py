"""Writes the JSON Schema of manifests: ``python -m tests.manifest_schema``."""

from __future__ import annotations

from pathlib import Path

from write_side.manifest.document import json_schema

FILE = Path(__file__).parents[1] / "deploy/docs/manifest.schema.json"


if __name__ == "__main__":
    FILE.write_bytes(json_schema())
