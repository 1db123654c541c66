"""The reference is built from the docstrings without warnings, and names all that is public."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import filtra

PYTHON = Path(__file__).parents[1]


def test_reference_is_built_without_warnings(tmp_path: Path) -> None:
    for package in ("sphinx", "numpydoc", "sklearn"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
               "-d", str(tmp_path / "trees"), str(PYTHON / "docs"), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "html" / "training.html").read_text(encoding="utf-8")
    assert "filtra.Dataset.from_arrays" in page


def test_reference_names_all_that_is_public() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (PYTHON / "docs").glob("*.rst")]
    listed = re.findall(r"^\.\. auto(?:class|function|exception):: (\w+)", "\n".join(pages), re.M)
    assert sorted(listed) == sorted(set(dir(filtra)) - {"ops"})
    for module in [filtra.ops]:
        public = {name for name, value in vars(module).items()
                  if callable(value) and not name.startswith("_")}
        assert public == set(module.__all__)


def test_guide_runs(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    text = (PYTHON.parent / "docs" / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "['good']" in done.stdout and '"width" 30 must be a multiple' in done.stdout
