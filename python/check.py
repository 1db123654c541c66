#!/usr/bin/env python3
"""Has a C compiler compare python/filtra/_c with the headers: sizes, offsets, types and values.

    check.py COMPILER INCLUDE_FOLDER

It compiles a file of assertions, which fails where Python reads memory otherwise than C.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

from headers import Array, Function, Named, Pointer, Type, read_headers

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "filtra"))
import _c  # noqa: E402


def spell(kind: Type, name: str = "") -> str:
    """The C declaration of `name` with that type."""
    if isinstance(kind, Named):
        return f"{'const ' if kind.const else ''}{kind.name} {name}"
    if isinstance(kind, Array):
        return spell(kind.of, f"{name}[{kind.length}]")
    if isinstance(kind, Pointer):
        inner = f"*{'const ' if kind.const else ''}{name}"
        return spell(kind.to, f"({inner})" if isinstance(kind.to, Function) else inner)
    parameters = ", ".join(spell(parameter) for _, parameter in kind.parameters) or "void"
    return spell(kind.result, f"{name}({parameters})")


def assertions(include: Path) -> list[str]:
    """Lines of C that compile where both agree."""
    declared = read_headers(include)
    lines = ["#define FILTRA_BUILD", "#include <filtra/filtra.h>", "#include <stddef.h>"]

    def claim(condition: str) -> None:
        lines.append(f'_Static_assert({condition}, "");')

    for name, fields in declared.structs.items():
        struct = getattr(_c, name)
        claim(f"sizeof({name}) == {ctypes.sizeof(struct)}")
        for label, kind in fields:
            claim(f"offsetof({name}, {label}) == {getattr(struct, label).offset}")
            member = f"(({name} *)0)->{label}"
            claim(f"sizeof {member} == {getattr(struct, label).size}")
            claim(f"__builtin_types_compatible_p(__typeof__({member}), {spell(kind)})")
    for name, members in declared.enums.items():
        claim(f"sizeof({name}) == sizeof(int)")
        claim(f"{len(getattr(_c, name))} == {len(members)}")
        lines += [f"enum {{ has_{m} = 1 / ({m} == {v}) }};" for m, v in members.items()]
    for name, function in {**declared.functions, **declared.callbacks}.items():
        spelled = spell(Pointer(function))
        what = f"({name})0" if name in declared.callbacks else f"&{name}"
        claim(f"__builtin_types_compatible_p(__typeof__({what}), {spelled})")
    for name, value in declared.constants.items():
        if isinstance(value, str):
            claim(f"sizeof {name} == {len(value) + 1}")
        elif isinstance(value, int):
            claim(f"{name} == {value}")
    return lines


def main(arguments: list[str]) -> int:
    compiler, include = arguments
    lines = assertions(Path(include))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "check.c"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [compiler, "-std=c11", "-fsyntax-only", f"-I{include}", str(source)]
        code = subprocess.run(command, check=False).returncode
    print(f"{len(lines)} claims: {'failed' if code else 'passed'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
