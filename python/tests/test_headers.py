"""That the check of the C layer would find what differs from the headers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[1]
COMPILER = shutil.which("cc") or shutil.which("gcc")

CHANGES = {
    "name of a field": ("device.h", "bool int64; ", "bool int6; "),
    "type of a field": ("device.h", "uint32_t vendor_id;", "float vendor_id;"),
    "size of an array": ("device.h", "char uuid[37];", "char uuid[41];"),
    "new field": ("generate.h", "  bool slide;", "  bool slide; bool other;"),
    "value of an enum": ("dtype.h", "FILTRA_I32, ", "FILTRA_I32 = 7, "),
    "new parameter": ("generate.h", "generator *generator);", "generator *generator, int x);"),
    "new function": ("status.h", "const char *filtra_version(void);", "int filtra_new(void);"),
    "macro": ("graph.h", "#define FILTRA_MAX_DIMS 4", "#define FILTRA_MAX_DIMS 5"),
}


def check(include: Path, tmp_path: Path) -> tuple[int, int, str]:
    """Exit codes of generate.py --check and check.py for these headers, and what they say."""
    root = tmp_path / "root"
    shutil.copytree(PYTHON / "filtra" / "_c", root / "python" / "filtra" / "_c")
    for name in ("generate.py", "check.py", "headers.py"):
        shutil.copy(PYTHON / name, root / "python" / name)
    shutil.copytree(include, root / "include")
    codes, said = [], ""
    for command in (["generate.py", "--check"], ["check.py", str(COMPILER), "../include"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=root / "python", check=False, text=True,
            capture_output=True,
        )
        codes.append(done.returncode)
        said += done.stdout + done.stderr
    return codes[0], codes[1], said


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("name", [None, *CHANGES])
def test_changes_are_found(name: str | None, tmp_path: Path) -> None:
    include = tmp_path / "include"
    shutil.copytree(PYTHON.parent / "include", include)
    if name is not None:
        header, before, after = CHANGES[name]
        path = include / "filtra" / header
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after, 1))
    generated, _, said = check(include, tmp_path)
    assert (generated == 0) == (name is None), said
    if name is not None:
        assert "differs from the headers; run python/generate.py" in said


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_the_compiler_has_the_last_word(tmp_path: Path) -> None:
    """What generate.py reads as before, but the compiler does not."""
    include = tmp_path / "include"
    shutil.copytree(PYTHON.parent / "include", include)
    assert check(include, tmp_path / "same")[1] == 0
    path = include / "filtra" / "device.h"
    text = path.read_text()
    path.write_text(text.replace("  char uuid[37];", "#pragma pack(push, 1)\n  char uuid[37];"))
    generated, compared, said = check(include, tmp_path / "packed")
    assert generated == 0 and compared != 0, said
    path.write_text(text.replace("  char uuid[37];", "  char uuid[37] : 3;"))
    assert "device.h: not understood: ': 3;" in check(include, tmp_path / "odd")[2]
