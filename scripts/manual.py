"""Writes manual pages and the shells' completions from what `filtra --help` says.

    python3 scripts/manual.py FILTRA VERSION FOLDER

FILTRA is the built command; below FOLDER are made man1/filtra*.1, bash/filtra, zsh/_filtra and
fish/filtra.fish. Called by the build (cmake/Manual.cmake). The same help gives the same bytes.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

OPTION = re.compile(r"^ {2,6}(?:-(?P<letter>\w), )?--(?P<name>[\w-]+)(?: (?P<value>\S+))?"
                    r"(?:  +(?P<text>.*))?$")
ACTION = re.compile(r"^  (?P<name>[a-z]+) +(?P<text>\S.*)$")
PRECISIONS = "fp32 bf16 fp16"
# A plugin of who builds has no place in it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "FILTRA_PLUGINS"}


@dataclass
class Option:
    """What help says of an option: -letter, --name VALUE, text."""

    name: str
    value: str
    letter: str
    text: str

    @property
    def takes(self):
        """What its value is: "precision", "file", "folder", "text"; "" if it has none."""
        kinds = {"P": "precision", "DIR": "folder", "FOLDER": "folder", "PATH": "file"}
        return kinds.get(self.value) or (self.value and
                                         ("file" if self.value.startswith("FILE") else "text"))

    @property
    def brief(self):
        """The beginning of its text, for lists."""
        return re.split(r"[;:(,]", self.text, maxsplit=1)[0].strip()


@dataclass
class Page:
    """The help of `filtra` with these words after it."""

    words: tuple
    summary: str
    usage: list = field(default_factory=list)
    blocks: list = field(default_factory=list)  # of lines
    options: list = field(default_factory=list)
    actions: list = field(default_factory=list)  # (name, summary)

    @property
    def title(self):
        return "-".join(("filtra", *self.words))


# ---- reading help ----


def blocks_of(text):
    return [block.split("\n") for block in re.split(r"\n\n+", text.strip("\n"))]


def options_of(block):
    """Return the options of a block; their texts go on in indented lines."""
    options = {}
    for line in block:
        found = OPTION.match(line)
        if found:
            last = Option(found["name"], found["value"] or "", found["letter"] or "",
                          (found["text"] or "").strip())
            options.setdefault(last.name, last)
        elif options and line.startswith("   "):
            last.text = f"{last.text} {line.strip()}".strip()
    return list(options.values())


def read(filtra, words=(), summary="train and run graph-filter Transformers on any Vulkan device"):
    """Return the page of a command and those of its actions."""
    text = subprocess.run([filtra, *words, "--help"], capture_output=True, text=True,
                          check=True, env=ENVIRONMENT).stdout
    page, pages = Page(words, summary), []
    first, *rest = blocks_of(text)
    while first and re.match(r"Usage: | {7}filtra", first[0]):
        page.usage.append(first.pop(0).removeprefix("Usage: ").strip())
    for block in [first, *rest] if first else rest:
        has_actions = any(word in page.usage[0] for word in ("COMMAND", "ACTION"))
        actions = [ACTION.match(line) for line in block]
        if has_actions and all(actions):
            page.actions = [(action["name"], action["text"]) for action in actions]
            pages += [p for name, text in page.actions for p in read(filtra, (*words, name), text)]
        elif options_of(block):
            page.options += options_of(block)
        else:
            page.blocks.append(block)
    return [page, *pages]


# ---- manual pages ----


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def described(block):
    """Return the roff of a block: lines of text are filled, indented ones stay as they are."""
    lines, kept = [".PP"], False
    for line in block:
        if line.startswith(" ") != kept:
            kept = not kept
            lines.append(".nf" if kept else ".fi")
        lines.append(roff(line))
    return lines + [".fi"] * kept


def manual(page, pages, version):
    lines = [f'.TH {roff(page.title.upper())} 1 "" "filtra {version}" "Filtra"', ".SH NAME",
             f"{roff(page.title)} \\- {roff(page.summary)}", ".SH SYNOPSIS", ".nf",
             *map(roff, page.usage), ".fi", ".SH DESCRIPTION"]
    for block in page.blocks:
        lines += described(block)
    if page.actions:
        lines.append(".SH ACTIONS" if page.words else ".SH COMMANDS")
    for name, text in page.actions:
        lines += [".TP", f"\\fB{name}\\fR", roff(text)]
    if page.options:
        lines.append(".SH OPTIONS")
    for option in page.options:
        letter = f"\\fB\\-{option.letter}\\fR, " if option.letter else ""
        value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
        lines += [".TP", f"{letter}\\fB\\-\\-{roff(option.name)}\\fR{value}",
                  roff(option.text) or "\\&"]
    near = [p for p in pages if p.words and p.words[:-1] == page.words] or [
        p for p in pages if p.words == page.words[:-1]]
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{roff(p.title)}\\fR(1)" for p in near)]
    return "\n".join(lines) + "\n"


# ---- completions ----


def names(page):
    return [name for name, _ in page.actions] + [f"--{o.name}" for o in page.options]


def bash(pages):
    values = {o.name: o.takes.replace("folder", "file") for page in pages for o in page.options}
    cases = [f'    "{" ".join(page.words)}") words="{" ".join(names(page))}" ;;' for page in pages]
    nested = "|".join(f'"{" ".join(p.words)}"' for p in pages if len(p.words) > 1)
    kinds = {kind: "|".join(f"--{n}" for n, k in sorted(values.items()) if k == kind)
             for kind in ("precision", "file", "text")}
    return "\n".join([
        "# Completion of filtra for bash. Made by scripts/manual.py.",
        "_filtra() {",
        '  local current=$2 previous=$3 page=${COMP_WORDS[1]} words=',
        '  [ "$COMP_CWORD" -gt 1 ] || page=',
        '  [ "$COMP_CWORD" -lt 3 ] || case "$page ${COMP_WORDS[2]}" in',
        f"    {nested}) page+=\" ${{COMP_WORDS[2]}}\" ;;",
        "  esac",
        "  COMPREPLY=()",
        "  case $previous in",
        f'    {kinds["precision"]}) COMPREPLY=($(compgen -W "{PRECISIONS}" -- "$current")); return ;;',
        f'    {kinds["file"]}) compopt -o default; return ;;',
        f'    {kinds["text"]}) return ;;',
        "  esac",
        "  case $page in",
        *cases,
        "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        '  [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default',
        "}",
        "complete -F _filtra filtra",
    ]) + "\n"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_option(option):
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.brief)
    after = {"precision": f":{option.value}:({PRECISIONS})", "folder": f":{option.value}:_files -/",
             "file": f":{option.value}:_files", "text": f":{option.value}: ", "": ""}[option.takes]
    return quoted(f"--{option.name}[{text}]{after}")


def zsh_page(page):
    """Return the lines that complete a page's words, which $words[CURRENT] is one of."""
    if page.actions:
        rows = [quoted(f"{name}:{text}") for name, text in page.actions]
        return [f"local -a actions=({' '.join(rows)})", "_describe action actions"]
    return [f"_arguments {' '.join(map(zsh_option, page.options))} '*: :_files'"]


def zsh(pages):
    lines = ["#compdef filtra", "# Completion of filtra for zsh. Made by scripts/manual.py.",
             "_filtra() {", "  local page=${(j: :)words[2,CURRENT-1]}", "  case $page in"]
    for page in sorted(pages, key=lambda p: -len(p.words)):
        name = " ".join(page.words)
        pattern = "''" if not name else f"'{name}'" if page.actions else f"'{name}'*"
        lines += [f"    {pattern})", *(f"      {line}" for line in zsh_page(page)), "      ;;"]
    return "\n".join([*lines, "  esac", "}", '_filtra "$@"']) + "\n"


def fish(pages):
    lines = ["# Completion of filtra for fish. Made by scripts/manual.py."]
    for page in pages:
        seen = [f"__fish_seen_subcommand_from {word}" for word in page.words]
        for name, text in page.actions:
            none = "" if not page.words else "; and not __fish_seen_subcommand_from " + " ".join(
                n for n, _ in page.actions)
            condition = "; and ".join(seen) + none if seen else "__fish_use_subcommand"
            lines.append(f"complete -c filtra -f -n {quoted(condition)} -a {name} -d {quoted(text)}")
        for option in page.options:
            value = {"precision": f" -x -a {quoted(PRECISIONS)}", "folder": " -x -a "
                     "'(__fish_complete_directories)'", "file": " -r", "text": " -x", "": ""}
            lines.append(f"complete -c filtra -n {quoted('; and '.join(seen) or 'true')} "
                         f"-l {option.name}{value[option.takes]} -d {quoted(option.brief)}")
    return "\n".join(lines) + "\n"


def main(filtra, version, folder):
    pages = read(filtra)
    files = {f"man1/{page.title}.1": manual(page, pages, version) for page in pages}
    files |= {"bash/filtra": bash(pages), "zsh/_filtra": zsh(pages), "fish/filtra.fish": fish(pages)}
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
