"""Reads the declarations of include/filtra/*.h; generate.py makes the Python layer of them.

The headers keep to a small part of C: typedefs of enums, structs and function pointers, prototypes,
and macros that are one literal. What is not of that part is an error here, and what was read is
compared with what the compiler reads (check.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union


@dataclass(frozen=True)
class Named:
    """A type that has a name, such as int64_t or filtra_tensor."""

    name: str
    const: bool = False


@dataclass(frozen=True)
class Pointer:
    to: Type
    const: bool = False


@dataclass(frozen=True)
class Array:
    of: Type
    length: int


@dataclass(frozen=True)
class Function:
    result: Type
    parameters: tuple[tuple[str, Type], ...]


Type = Union[Named, Pointer, Array, Function]


@dataclass
class Declarations:
    """All that the headers declare, in their order."""

    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    constants: dict[str, int | float | str] = field(default_factory=dict)
    structs: dict[str, list[tuple[str, Type]]] = field(default_factory=dict)
    opaque: list[str] = field(default_factory=list)
    callbacks: dict[str, Function] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)  # FILTRA_STRUCTS


TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d\w*|\.\.\.|[-+*(){}\[\];,=])")
LITERAL = re.compile(r'^#define (FILTRA_\w+) +(\(?-?[\d.]+f?\)?|"[^"]*")\s*$', re.M)


def included(folder: Path, name: str, seen: list[str]) -> list[str]:
    """The headers that `name` includes, each after those that it includes itself."""
    text = (folder / "filtra" / name).read_text(encoding="utf-8")
    for other in re.findall(r"^#include <filtra/(\w+\.h)>", text, re.M):
        if other not in seen:
            included(folder, other, seen)
    seen.append(name)
    return seen


def plain(text: str, declarations: Declarations) -> str:
    """The text without comments and preprocessor lines, whose literals become constants."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = text.replace("\\\n", " ")
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif", "", text, flags=re.S | re.M)
    listed = re.search(r"^#define FILTRA_STRUCTS\(X\)(.*)$", text, re.M)
    if listed:
        declarations.listed = re.findall(r"X\((\w+)\)", listed.group(1))
    for name, value in LITERAL.findall(text):
        value = value.strip("()")
        if value.startswith('"'):
            declarations.constants[name] = value[1:-1]
        elif "." in value:
            declarations.constants[name] = float(value.rstrip("f"))
        else:
            declarations.constants[name] = int(value)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    text = re.sub(r"static inline .*?^}", "", text, flags=re.S | re.M)
    text = re.sub(r"FILTRA_PLUGIN_API [^;]*;", "", text)  # defined by plugins, not by the library
    return text.replace("FILTRA_API", "")


class Reader:
    """Reads the declarations of one header."""

    def __init__(self, text: str, declarations: Declarations):
        self.tokens: list[str] = []
        self.at = 0
        self.all = declarations
        position = 0
        while text[position:].strip():
            token = TOKEN.match(text, position)
            if not token:
                raise SyntaxError(f"not understood: {text[position:position + 60].strip()!r}")
            self.tokens.append(token.group(1))
            position = token.end()

    def look(self) -> str:
        return self.tokens[self.at]

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def take(self, token: str) -> bool:
        """Whether `token` was next; it then is behind."""
        if self.look() != token:
            return False
        self.at += 1
        return True

    def need(self, token: str) -> None:
        if not self.take(token):
            context = " ".join(self.tokens[max(0, self.at - 8) : self.at + 4])
            raise SyntaxError(f"expected {token!r}, found {self.look()!r} in: {context}")

    def number(self) -> int:
        text = self.next()
        if text in self.all.constants:
            return int(self.all.constants[text])
        return int(text, 0)

    def base(self) -> Type:
        """A type's name, and the pointers of it."""
        const = self.take("const")
        kind: Type = Named(self.next(), const)
        while self.take("*"):
            kind = Pointer(kind, self.take("const"))
        return kind

    def declarator(self, kind: Type) -> tuple[str, Type]:
        """The name that follows a type, with its brackets or as a pointer to a function."""
        if self.take("("):
            self.need("*")
            name = self.next()
            self.need(")")
            return name, Pointer(Function(kind, self.parameters()))
        while self.take("*"):
            kind = Pointer(kind, self.take("const"))
        name = self.next()
        if self.take("["):
            kind = Array(kind, self.number())
            self.need("]")
        return name, kind

    def parameters(self) -> tuple[tuple[str, Type], ...]:
        self.need("(")
        if self.take("void"):
            if self.take(")"):
                return ()
            self.at -= 1
        found = []
        while True:
            name, kind = self.declarator(self.base())
            if isinstance(kind, Array):  # as C has it
                kind = Pointer(kind.of)
            found.append((name, kind))
            if not self.take(","):
                break
        self.need(")")
        return tuple(found)

    def enumerators(self) -> dict[str, int]:
        self.need("{")
        found: dict[str, int] = {}
        value = -1
        while not self.take("}"):
            name = self.next()
            value = self.number() if self.take("=") else value + 1
            found[name] = value
            self.all.constants[name] = value
            self.take(",")
        return found

    def fields(self) -> list[tuple[str, Type]]:
        self.need("{")
        found = []
        while not self.take("}"):
            start = self.at
            kind = self.base()
            bare = kind
            while isinstance(bare, Pointer):  # "char *a, *b": the star belongs to the name
                bare = bare.to
            stars = self.tokens[start : self.at].count("*")
            found.append(self.declarator(kind))
            while self.take(","):
                found.append(self.declarator(bare if stars else kind))
            self.need(";")
        return found

    def typedef(self) -> None:
        if self.take("enum"):
            name = self.next()
            self.all.enums[name] = self.enumerators()
            self.need(name)
        elif self.take("struct"):
            name = self.next()
            if self.look() == "{":
                self.all.structs[name] = self.fields()
            else:
                self.all.opaque.append(name)
            self.need(name)
        else:
            name, kind = self.declarator(self.base())
            if not isinstance(kind, Pointer) or not isinstance(kind.to, Function):
                raise SyntaxError(f"typedef {name} is no function pointer")
            self.all.callbacks[name] = kind.to

    def read(self) -> None:
        while self.at < len(self.tokens):
            if self.take("typedef"):
                self.typedef()
            elif self.take("enum"):
                self.enumerators()
            else:
                kind = self.base()
                name = self.next()
                self.all.functions[name] = Function(kind, self.parameters())
            self.need(";")


def read_headers(folder: Path) -> Declarations:
    """All declarations of the headers in folder/filtra."""
    declarations = Declarations()
    for name in included(folder, "filtra.h", []):
        text = (folder / "filtra" / name).read_text(encoding="utf-8")
        try:
            Reader(plain(text, declarations), declarations).read()
        except (SyntaxError, IndexError) as error:
            raise SyntaxError(f"{name}: {error}") from None
    named = {name for members in declarations.enums.values() for name in members}
    for name in named:
        del declarations.constants[name]
    if sorted(declarations.listed) != sorted(declarations.structs):
        odd = set(declarations.listed) ^ set(declarations.structs)
        raise SyntaxError(f"FILTRA_STRUCTS differs from the structs that have fields by {odd}")
    return declarations
