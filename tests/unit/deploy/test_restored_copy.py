"""The folder into which `contentlog backup verify` restores."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from deploy.backup import verification
from deploy.backup.verification import restored_copy

rmtree = shutil.rmtree


def stopped(folder: Path, **options: Any) -> None:
    signal.raise_signal(signal.SIGTERM)
    rmtree(folder, **options)


def test_a_signal_while_it_is_removed_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("Cluster", "programs_of", "check_space"):
        monkeypatch.setattr(verification, name, MagicMock())
    monkeypatch.setattr(shutil, "rmtree", stopped)
    stanza = MagicMock()
    stanza.user.is_other = False
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with restored_copy(stanza, MagicMock(), tmp_path):
            assert len(list(tmp_path.iterdir())) == 2
        assert list(tmp_path.iterdir()) == []
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
