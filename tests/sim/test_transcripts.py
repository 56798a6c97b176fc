"""Whole exchanges as text: `tests/transcripts/*.txt`, written by `--rewrite` and then reviewed as diffs.

The language is described in `tests/support/transcript.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from transcript import check

FILES = sorted((Path(__file__).parent.parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_exchange_is_as_written(path: Path, request: pytest.FixtureRequest) -> None:
    check(path, request.config.getoption("--rewrite"))
