"""Tables as people and programs write them, drawn by seed: read as pandas reads them, or refused.

pandas is told delimiter, decimal mark, thousands and which words are missing values, and gets the
table without the blanks and the line "sep=" that it does not know. What is refused is counted.
tests/data/test_mutated_tables.c draws others.
"""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Dataset

pandas = pytest.importorskip("pandas")

TABLES = 150
MISSING = ["", "NA", "N/A", "nan", "NULL", "None", "?", "#N/A"]
CELLS = ["red", "blue", "green", "a b", "x,y", "p;q"]
COLUMNS = ["age", "Länge", "b c", "x1", "price", "Größe (cm)", "a-b", "col,with", "semi;colon",
           "tab\tname", 'qu"ote']
WORDS = ["good", "bad, really", "so; so", "a|b", '5" nails', "café", "tab\there", 'say "no"',
         "1,5", "'quoted'", "C:\\dir\\", "日本", "  two", "50%", "=SUM(A1)", "-", "NA", "null", '""',
         "a\nb"]


class Table:
    """A drawn table: its text for Filtra and for pandas, and what pandas is told."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = random.Random(seed)
        self.rows = draw.randint(8, 60)
        self.delimiter = draw.choice(",;\t|")
        self.decimal = draw.choice(".,")
        self.thousands = draw.choice(["", "", "'", " ", "," if self.decimal == "." else "."])
        self.quotes = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        self.line = draw.choice(["\n", "\r\n"])
        self.blanks = self.delimiter != "\t" and draw.random() < 0.2
        self.columns: dict[str, list[str]] = {}
        self.target = ""

    def number(self, kind: str, value: float) -> str:
        """Write a number as the table's country does."""
        if kind == "power":
            return f"{value:.4e}".replace(".", self.decimal)
        whole, _, part = f"{value:.{0 if kind == 'whole' else 3}f}".partition(".")
        if self.thousands:
            whole = f"{int(whole.lstrip('-') or 0):,}".replace(",", self.thousands)
            whole = ("-" if value < 0 and round(value, 3) else "") + whole
        return whole + (self.decimal + part if part else "")

    def column(self, kind: str) -> list[str]:
        """Draw a column of categories or numbers, of which some may be missing."""
        draw = self.draw
        scale, shift = 10 ** draw.randint(-2, 5), draw.choice([0, 1])
        values = [draw.choice(CELLS) if kind == "category"
                  else str(draw.random() < 0.5) if kind == "truth"
                  else self.number(kind, scale * (draw.gauss(0, 1) + shift))
                  for _ in range(self.rows)]
        word = draw.choice(MISSING)
        gaps = draw.random() < 0.4 and kind != "truth"
        return [word if gaps and draw.random() < 0.15 else value for value in values]

    def text(self, plain: bool) -> str:
        """Return the table; `plain`: without what pandas does not know."""
        to = io.StringIO(newline="")
        writer = csv.writer(to, delimiter=self.delimiter, quoting=self.quotes,
                            lineterminator=self.line)
        writer.writerows([self.columns, *zip(*self.columns.values())])
        if plain or not self.blanks:
            return to.getvalue()
        lines = []
        for row in [list(self.columns), *zip(*self.columns.values())]:
            one = io.StringIO(newline="")
            for cell in row:
                field = io.StringIO(newline="")
                csv.writer(field, delimiter=self.delimiter, quoting=self.quotes,
                           lineterminator="\n").writerow([cell])
                one.write(f" {field.getvalue()[:-1] if cell else ''}{self.delimiter}")
            lines.append(one.getvalue()[:-1] + self.line)
        return "".join(lines)

    def write(self, folder: Path) -> Path:
        """Write the file that Filtra reads."""
        draw, said = self.draw, ""
        path = folder / ("a.tsv" if self.delimiter == "\t" and draw.random() < 0.5 else "a.csv")
        if draw.random() < 0.1:
            said = f"sep={self.delimiter}{self.line}"
        mark = b"\xef\xbb\xbf" if draw.random() < 0.3 else b""
        path.write_bytes(mark + (said + self.text(False)).encode())
        return path

    def frame(self, **options: Any) -> Any:
        """Return what pandas reads."""
        return pandas.read_csv(
            io.StringIO(self.text(True), newline=""), sep=self.delimiter, decimal=self.decimal,
            thousands=self.thousands or None, keep_default_na=False, **options,
        )


def standardised(column: Any) -> Any:
    """Return numbers with mean 0 and deviation 1, 0 where one is missing or all are equal."""
    apart = column - column.mean()
    scale = column.std()
    return (apart / scale if scale > 1e-9 * abs(column.mean()) else apart * 0).fillna(0).to_numpy()


def features(column: Any) -> list[Any]:
    """Return what a column becomes: numbers, or a number for each of its texts."""
    if pandas.api.types.is_bool_dtype(column):
        column = column.astype(str)
    if pandas.api.types.is_numeric_dtype(column):
        return [standardised(column)]
    texts = column.astype("string").str.strip()
    return [standardised((texts == text).astype("float64").where(texts.notna()))
            for text in sorted(set(texts.dropna()), key=str.encode)]


def opened(table: Table, folder: Path, target: str) -> Dataset | None:
    try:
        return Dataset.open(table.write(folder), file_split="test", target_column=target)
    except filtra.InputError:
        return None


@pytest.mark.filterwarnings("ignore")
def test_columns_of_numbers(tmp_path: Path) -> None:
    refused = 0
    for seed in range(TABLES):
        table = Table(seed)
        for name in table.draw.sample(COLUMNS, table.draw.randint(2, 5)):
            kind = table.draw.choice(["part", "whole", "power", "category", "truth"])
            table.columns[name] = table.column(kind)
        values = table.draw.random() < 0.5
        table.columns["y"] = [
            table.number("part", table.draw.gauss(0, 100) + 0.1) if values
            else table.draw.choice(["yes", "no", "may be"]) for _ in range(table.rows)
        ]
        data = opened(table, tmp_path, "y")
        if data is None:
            refused += 1
            continue
        frame = table.frame(na_values=MISSING, dtype=None if values else {"y": str})
        wanted = np.array([x for name in frame.columns[:-1] for x in features(frame[name])])
        samples = [data.sample(i, "test") for i in range(data.counts["test"])]
        found = np.array([sample.features.ravel() for sample in samples]).T
        assert found.shape == wanted.shape, (seed, found.shape, wanted.shape)
        assert np.allclose(found, wanted, rtol=1e-3, atol=2e-3), seed
        if values:
            assert np.allclose([sample.value for sample in samples], frame["y"], rtol=1e-5), seed
        else:
            assert [data.classes[sample.label] for sample in samples] == frame["y"].tolist(), seed
    assert refused < TABLES // 10  # where a comma could be either, mostly


@pytest.mark.filterwarnings("ignore")
def test_texts(tmp_path: Path) -> None:
    refused = 0
    for seed in range(TABLES):
        table = Table(seed)
        draw = table.draw
        columns = {
            draw.choice(["text", "Review", "SMILES"]):
                [" ".join(draw.choices(WORDS, k=3)) + f" {i}" for i in range(table.rows)],
            draw.choice(["label", "class", "y"]):
                [draw.choice(["yes", "no", "may be", "1", "a,b"]) for _ in range(table.rows)],
            "id": [f"r{i}" for i in range(table.rows)],
            "note": [draw.choice(["", "x", "y, z"]) for _ in range(table.rows)],
        }
        text, label = list(columns)[:2]
        names = draw.sample(list(columns), 4)
        table.columns = {name: columns[name] for name in names}
        data = opened(table, tmp_path, label)
        if data is None:
            refused += 1
            continue
        frame = table.frame(dtype=str)
        assert len(frame) == data.counts["test"], seed
        for i, row in enumerate(frame.to_dict("records")):
            sample = data.sample(i, "test")
            assert data.tokenizer.decode(sample.tokens) == row[text].strip(), seed
            assert data.classes[sample.label] == row[label], seed
            assert sample.name == row["id"], seed
    assert refused == 0
