#!/usr/bin/env python3
"""Writes runtime/data/unicode_tables.c and unicode_pairs.c: what each character is to tokenizers of
Hugging Face. It asks their code (pip install tokenizers) about every character, since the ids of a
pretrained model depend on that code's tables, which are of several versions of Unicode.

    python3 scripts/unicode.py runtime/data
"""
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
FLAGS = ["LETTER", "NUMBER", "SPACE", "WORD", "DROPPED", "MARK", "PUNCTUATION", "CHINESE"]


def matching(pattern):
    """Characters that a pattern of byte-level tokenizers matches."""
    keep = normalizers.Replace(Regex(f"[^{pattern}]"), "")
    return {ord(c) for c in keep.normalize_str("".join(map(chr, CODES)))}


def word_characters():
    """Those that end a token which has to be a single word."""
    t = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    t.add_tokens([AddedToken("\u2603", single_word=True)])
    found = set()
    for at in range(0, len(CODES), 65536):
        part = CODES[at : at + 65536]
        for c, e in zip(part, t.encode_batch(["\u2603" + chr(c) for c in part])):
            if 1 not in e.ids:
                found.add(c)
    return found


def bert(**on):
    options = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False,
               "lowercase": False, **on}
    return normalizers.BertNormalizer(**options).normalize_str


def collect():
    clean, chinese, strip = bert(clean_text=True), bert(handle_chinese_chars=True), bert(
        strip_accents=True)
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    nfd = normalizers.NFD().normalize_str
    lower = normalizers.Lowercase().normalize_str
    sets = {"LETTER": matching(r"\p{L}"), "NUMBER": matching(r"\p{N}"), "SPACE": matching(r"\s"),
            "WORD": word_characters()}
    sets.update({name: set() for name in FLAGS[4:]})
    whole, small = {}, {}
    for c in CODES:
        s = chr(c)
        cleaned = clean(s)
        if cleaned == "":
            sets["DROPPED"].add(c)
        assert cleaned in ("", " " if c in sets["SPACE"] else s), hex(c)
        if chinese(s) != s:
            assert chinese(s) == f" {s} "
            sets["CHINESE"].add(c)
        if nfd(s) != s:
            whole[c] = tuple(map(ord, nfd(s)))
            assert len(whole[c]) <= 4
        elif strip(s) == "":
            sets["MARK"].add(c)
        pieces = len(split("a" + s + "b"))
        assert (pieces == 2) == (c in sets["SPACE"]), hex(c)
        if pieces == 3:
            sets["PUNCTUATION"].add(c)
        if lower(s) != s:
            small[c] = lower(s)
    return sets, whole, small


def combining_classes():
    """Classes by their order among one another; 0 for characters that stay where they are."""
    nfd = normalizers.NFD().normalize_str
    moves = {c for c in CODES
             if nfd(chr(c)) == chr(c) and (nfd(chr(c) + "\u0334") != chr(c) + "\u0334" or
                                           nfd("\u0345" + chr(c)) != "\u0345" + chr(c))}
    moves |= {0x334, 0x345}
    before = lambda a, b: nfd(chr(b) + chr(a)) == chr(a) + chr(b) and a != b
    order = []  # one list per class, ascending
    for c in sorted(moves):
        for i, group in enumerate(order):
            if before(c, group[0]):
                order.insert(i, [c])
                break
            if not before(group[0], c):
                group.append(c)
                break
        else:
            order.append([c])
    return {c: i + 1 for i, group in enumerate(order) for c in group}


def ranges(value):
    """One number per range of characters with one value: first << 8 | value."""
    rows, last = [], -1
    for c in range(0x110000):
        v = value(c)
        if v != last:
            rows.append(c << 8 | v)
        last = v
    return rows


def pairs(whole):
    """Each decomposition as two characters, of which the first may have one itself."""
    made = {v: k for k, v in whole.items()}
    rows = []
    for c, parts in sorted(whole.items()):
        if 0xAC00 <= c < 0xD7A4:
            continue  # Hangul, by arithmetic
        assert len(parts) < 3 or parts[:-1] in made, hex(c)
        first = parts[0] if len(parts) < 3 else made[parts[:-1]]
        rows += [c, first, parts[-1] if len(parts) > 1 else 0]
    return rows


def lower_runs(small):
    """Rows of first, last, step and distance."""
    assert small.pop(0x130) == "i\u0307"
    assert all(len(v) == 1 for v in small.values())
    rows = []
    for c, v in sorted(small.items()):
        distance = ord(v) - c
        if rows and rows[-1][3] == distance:
            first, last, step, _ = rows[-1]
            if c - last == step or (first == last and c - last <= 2):
                rows[-1] = [first, c, c - last, distance]
                continue
        rows.append([c, c, 1, distance])
    return [x for row in rows for x in row]


def array(kind, name, numbers, comment):
    lines, line = [f"/* {comment} */", f"const {kind} {name}[] = {{"], "   "
    for n in numbers:
        if len(line) + len(str(n)) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {n},"
    return "\n".join(lines + [line, "};", f"const size_t {name}_count = {len(numbers)};"])


def write(path, comment, arrays):
    with open(path, "w", encoding="ascii", newline="\n") as file:
        file.write(f"/* {comment} */\n#include \"data/unicode.h\"\n\n// clang-format off\n" +
                   "\n\n".join(arrays) + "\n// clang-format on\n")


def main(folder):
    sets, whole, small = collect()
    classes = combining_classes()
    made = (f"Made by scripts/unicode.py from Hugging Face's tokenizers {tokenizers.__version__}; "
            "not to be\n * edited. Called by unicode.c.")
    flags = lambda c: sum(1 << i for i, name in enumerate(FLAGS) if c in sets[name])
    write(f"{folder}/unicode_tables.c",
          f"What characters are to tokenizers, and their lower case.\n *\n * {made}",
          [array("uint32_t", "ft_unicode_flags", ranges(flags),
                 "First character of a range << 8 | its FT_UNICODE flags."),
           array("uint32_t", "ft_unicode_classes", ranges(lambda c: classes.get(c, 0)),
                 "First character of a range << 8 | rank of its combining class, 0: none."),
           array("int32_t", "ft_unicode_lower", lower_runs(small),
                 "Runs with a lower case: first, last, step, what to add.")])
    write(f"{folder}/unicode_pairs.c", f"Canonical decompositions.\n *\n * {made}",
          [array("uint32_t", "ft_unicode_pairs", pairs(whole),
                 "A character and the two that it is made of, 0: one; without Hangul's.")])


if __name__ == "__main__":
    main(sys.argv[1])
