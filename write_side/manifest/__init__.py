"""Manifests: the document, its diff with a workspace, and the steps that apply it."""
