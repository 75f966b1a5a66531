"""Writes the JSON Schema of manifests: ``python -m tests.manifest_schema``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from write_side.manifest.document import Manifest

FILE = Path(__file__).parents[1] / "deploy/docs/manifest.schema.json"


def schema() -> bytes:
    """JSON Schema 2020-12 of a manifest, for editors and other tools."""
    described = msgspec.json.schema(Manifest)
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "contentlog manifest",
        **described,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


if __name__ == "__main__":
    FILE.write_bytes(schema())
