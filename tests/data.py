"""Access to the real data sets, which are not part of this project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def real_data(name: str) -> Path:
    """The folder of one real data set below ``MEDJUDGE_DATA``; skips the test when the variable is not set."""
    root = os.environ.get("MEDJUDGE_DATA")
    if not root:
        pytest.skip(f"needs the real data: set MEDJUDGE_DATA to the folder that contains {name}/")
    folder = Path(root) / name
    if not folder.is_dir():
        pytest.fail(f"MEDJUDGE_DATA is set, but {folder} is not a folder")
    return folder
