#!/usr/bin/env python3
"""Writes python/filtra/_c from the headers in include/filtra: enums, structs and functions.

    generate.py            writes the files
    generate.py --check    fails where a file differs from what would be written

It needs no package beside Python's own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from headers import Array, Declarations, Function, Named, Pointer, Type, read_headers

HERE = Path(__file__).resolve().parent
WIDTH = 100
SIMPLE = {
    "bool": "c_bool",
    "char": "c_char",
    "double": "c_double",
    "float": "c_float",
    "int": "c_int",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "size_t": "c_size_t",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "uint8_t": "c_uint8",
}
HEAD = '"""{}.\n\nWritten by python/generate.py from include/filtra.\n"""\n\n'


def prefix_of(names: Iterable[str]) -> str:
    """What all names begin with, up to an underscore."""
    parts = [name.split("_")[:-1] for name in names]
    common = []
    for words in zip(*parts):
        if len(set(words)) > 1:
            break
        common.append(words[0])
    return "_".join(common) + "_"


def filled(start: str, items: list[str], end: str) -> list[str]:
    """One line, or several that are as long as they may be."""
    line = start + ", ".join(items) + end
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(start) - len(start.lstrip()) + 4)
    lines, line = [start], indent
    for item in items:
        if len(line) + len(item) + 1 > WIDTH:
            lines.append(line.rstrip())
            line = indent
        line += item + ", "
    return [*lines, line.rstrip(), indent[4:] + end.lstrip(",")]


class Writer:
    """Spells C types as those of ctypes."""

    def __init__(self, declarations: Declarations):
        self.all = declarations

    def pointer(self, to: Type) -> str:
        if isinstance(to, Function):
            return f"CFUNCTYPE({', '.join(self.callback(to))})"
        if isinstance(to, Named) and to.name == "void":
            return "c_void_p"
        if to == Named("char", True):
            return "c_char_p"
        if to == Pointer(Named("char")):
            return "P(c_char_p)"
        return f"P({self.type(to)})"

    def type(self, kind: Type) -> str:
        if isinstance(kind, Pointer):
            return self.pointer(kind.to)
        if isinstance(kind, Array):
            return f"{self.type(kind.of)} * {kind.length}"
        if isinstance(kind, Function):
            raise TypeError("a function is no value")
        if kind.name == "void":
            return "None"
        if kind.name in self.all.enums:
            return "c_int"
        if kind.name in self.all.callbacks:
            return kind.name
        if kind.name in self.all.structs or kind.name in self.all.opaque:
            return kind.name
        return SIMPLE[kind.name]

    def callback(self, kind: Function) -> list[str]:
        """Result and parameters of a function in Python, whose pointer ctypes wants as a number."""
        result = "c_void_p" if isinstance(kind.result, Pointer) else self.type(kind.result)
        return [result, *(self.type(parameter) for _, parameter in kind.parameters)]

    def enums(self) -> str:
        lines = [HEAD.format("Enums and constants"), "from enum import IntEnum\n"]
        for name, value in self.all.constants.items():
            lines.append(f"{name} = {json.dumps(value)}")
        for name, members in self.all.enums.items():
            prefix = prefix_of(members)
            lines.append(f"\nclass {name}(IntEnum):")
            lines += [f"    {member[len(prefix):]} = {n}" for member, n in members.items()]
        return "\n".join(lines) + "\n"

    def structs(self) -> str:
        body = []
        for name in self.all.opaque:
            body.append(f"\n\nclass {name}(Structure):\n    __slots__ = ()")
        rest = dict(self.all.structs)
        callbacks = dict(self.all.callbacks)
        while rest or callbacks:
            ready = [n for n, f in rest.items() if not self.missing(f, rest, callbacks)]
            calls = [n for n, f in callbacks.items() if not self.missing(f, rest, callbacks)]
            if not ready and not calls:
                raise ValueError(f"structs that contain one another: {list(rest)}")
            for name in calls:
                parts = self.callback(callbacks.pop(name))
                body.append("\n\n" + "\n".join(filled(f"{name} = CFUNCTYPE(", parts, ")")))
            for name in ready:
                body.append(self.struct(name, rest.pop(name)))
        text = "".join(body)
        enums = sorted(name for name in self.all.enums if f": {name}" in text)
        imports = self.imports(text) + "\n" + "\n".join(filled("from .enums import (", enums, ")"))
        return HEAD.format("Structs; `enums` has those of the fields that are one") + (
            imports + "\n" + text + "\n"
        )

    def missing(self, used: object, structs: dict[str, object], calls: dict[str, object]) -> bool:
        """Whether fields or parameters use what is not written yet."""
        if isinstance(used, (list, tuple)):
            return any(self.missing(item, structs, calls) for item in used)
        if isinstance(used, Function):
            return self.missing([used.result, *used.parameters], structs, calls)
        if isinstance(used, (Pointer, Array)):
            return self.missing(used.to if isinstance(used, Pointer) else used.of, structs, calls)
        return isinstance(used, Named) and (used.name in structs or used.name in calls)

    def struct(self, name: str, fields: list[tuple[str, Type]]) -> str:
        pairs, lines = [], ["\n"]
        for label, kind in fields:
            spelled = self.type(kind)
            if isinstance(kind, Pointer) and isinstance(kind.to, Function):  # gets a name
                lines += filled(f"{name}_{label} = CFUNCTYPE(", self.callback(kind.to), ")")
                spelled = f"{name}_{label}"
            pairs.append(f'("{label}", {spelled})')
        if len(lines) > 1:
            lines.append("")
        lines += [f"class {name}(Structure):", "    __slots__ = ()"]
        lines += filled("    _fields_ = [", pairs, "]")
        enums = [(label, kind.name) for label, kind in fields
                 if isinstance(kind, Named) and kind.name in self.all.enums]
        if enums:
            lines += filled("    enums = {", [f'"{label}": {kind}' for label, kind in enums], "}")
        return "\n".join(lines)

    def functions(self) -> str:
        lines = ["\n\nFUNCTIONS: dict[str, tuple[Any, ...]] = {"]
        for name, function in self.all.functions.items():
            types = [self.type(t) for t in (function.result, *(t for _, t in function.parameters))]
            if isinstance(function.result, Named) and function.result.name == "filtra_status":
                types[0] = "STATUS"
            lines += filled(f'    "{name}": (', types, ",)," if len(types) == 1 else "),")
        text = "\n".join(lines + ["}"])
        structs = sorted(n for n in [*self.all.structs, *self.all.opaque, *self.all.callbacks]
                         if self.uses(text, n))
        head = HEAD.format("Functions: the result, STATUS where it can fail, then parameters")
        imports = self.imports(text) + "from typing import Any\n\n"
        imports += "\n".join(filled("from .structs import (", structs, ")"))
        return head + imports + '\n\nSTATUS = "status"' + text + "\n"

    @staticmethod
    def uses(text: str, name: str) -> bool:
        return any(f"{before}{name}{after}" in text for before in "(, \n" for after in "),\n")

    def imports(self, text: str) -> str:
        names = ["CFUNCTYPE", "Structure", *SIMPLE.values(), "c_char_p", "c_void_p"]
        used = sorted((n for n in names if any(n + c in text for c in "(),]\n *")),
                      key=lambda n: (not n.isupper(), n[0].islower(), n))
        used.insert(0, "POINTER as P")
        return "\n".join(filled("from ctypes import (", used, ")")) + "\n"

    def package(self) -> str:
        return HEAD.format("The C interface") + (
            "from .enums import *\nfrom .functions import FUNCTIONS as FUNCTIONS\n"
            "from .functions import STATUS as STATUS\n"
            "from .structs import *\n\n"
            + "\n".join(filled("STRUCTS = (", [f'"{name}"' for name in self.all.structs], ")"))
            + "\n"
        )


def written(declarations: Declarations) -> dict[str, str]:
    """The files' texts, by name."""
    writer = Writer(declarations)
    return {
        "__init__.py": writer.package(),
        "enums.py": writer.enums(),
        "functions.py": writer.functions(),
        "structs.py": writer.structs(),
    }


def main(arguments: list[str]) -> int:
    files = written(read_headers(HERE.parent / "include"))
    differ = 0
    for name, text in files.items():
        path = HERE / "filtra" / "_c" / name
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path}: differs from the headers; run python/generate.py", file=sys.stderr)
            differ = 1
    return differ


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
