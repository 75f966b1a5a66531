"""How this program starts itself again, as a child."""

from __future__ import annotations

import sys
from pathlib import Path


def contentlog(*arguments: str) -> tuple[str, ...]:
    """The command for `contentlog ARGUMENTS`, with the same installation."""
    script = Path(sys.executable).with_name("contentlog")
    if script.exists():
        return (str(script), *arguments)
    # -P: a folder named «deploy» where the user stands must not be taken for ours.
    return (sys.executable, "-P", "-m", "deploy.cli", *arguments)
