"""Compares what Filtra read of the tables of test_mutated_tables with what pandas reads.

  compare_pandas.py FOLDER      of FILTRA_TEST_KEEP: a folder for each table, with its read.json

pandas is told delimiter and decimal mark, and gets numbers without the signs that it does not know.
What Filtra refuses is not compared. Prints the tables that differ, and fails if one does.
"""
import io
import json
import math
import pathlib
import sys

import pandas


def pandas_reads(read):
    text = pathlib.Path(read["path"]).read_bytes().decode("utf-8-sig")
    for sign, plain in (("$", ""), ("%", ""), ("\u2212", "-")):
        text = text.replace(sign, plain)
    told = {"sep": read["delimiter"], "decimal": read["decimal"],
            "thousands": "." if read["decimal"] == "," else ",",
            "skiprows": 1 if read["said"] else 0, "skipinitialspace": read["blanks"]}
    names = pandas.read_csv(io.StringIO(text, newline=""), nrows=0, **told).columns
    texts = {name: str for name in names if name.strip(" ") in ("id", "text", "label")}
    table = pandas.read_csv(io.StringIO(text, newline=""), dtype=texts, **told)
    return table.rename(columns=lambda name: name.strip(" "))


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-4)


def standardised(column):
    return ((column - column.mean()) / column.std()).fillna(0.0).tolist()


def differences(read, table):
    samples = read["samples"]
    if len(samples) != len(table):
        yield f"{len(samples)} rows, pandas has {len(table)}"
        return
    features = [standardised(table[name]) for name in table.columns if name in ("length", "width")]
    for i, sample in enumerate(samples):
        row = table.iloc[i]
        for key, column in (("text", "text"), ("name", "id"), ("label", "label")):
            if sample.get(key) is not None and sample[key] != str(row[column]).strip(" "):
                yield f"row {i}: {key} {sample[key]!r}, pandas has {row[column]!r}"
        if sample.get("value") is not None and not near(sample["value"], float(row["value"])):
            yield f"row {i}: value {sample['value']}, pandas has {row['value']}"
        wanted = sorted(column[i] for column in features)
        got = sorted(sample["numbers"])
        if len(got) != len(wanted) or not all(map(near, got, wanted)):
            yield f"row {i}: numbers {got}, pandas has {wanted}"


def main(folder):
    compared = refused = differing = 0
    for path in sorted(pathlib.Path(folder).glob("*/read.json")):
        read = json.loads(path.read_text())
        if read["refused"]:
            refused += 1
            continue
        compared += 1
        for difference in differences(read, pandas_reads(read)):
            print(f"{read['path']}: {difference}")
            differing += 1
    print(f"{compared} tables are read as pandas {pandas.__version__} reads them, {refused} refused"
          if not differing else f"{differing} differences")
    return 1 if differing or compared < 50 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
