"""Each function of the library is used by the package, or said here to be left out."""

from __future__ import annotations

import re
from pathlib import Path

import filtra
from filtra import _c

LEFT_OUT = {
    "filtra_dtype_bytes": "NumPy's dtypes know it",
    "filtra_dtype_name": "the enum has the names",
    "filtra_precision_name": "the enum has the names",
    "filtra_predictor_collect": "Predictor.predict waits; other threads run meanwhile",
    "filtra_predictor_predict_batch": "Model.predict_batch",
    "filtra_predictor_predict_split": "Model.predict",
    "filtra_predictor_submit": "Predictor.predict waits; other threads run meanwhile",
    "filtra_split_from_name": "the enum has the names",
    "filtra_split_name": "the enum has the names",
    "filtra_status_name": "each status is an exception of its own",
    "filtra_struct_size": "filtra_compare_structs compares all sizes when the library is loaded",
    "filtra_transport_close": "several ranks are trained by the command, under mpirun",
    "filtra_transport_open": "several ranks are trained by the command, under mpirun",
}

HEADERS_LEFT_OUT = {"vulkan.h": "Vulkan's types, which Python has no one binding of"}


def test_each_function_is_reachable() -> None:
    folder = Path(filtra.__file__).parent
    sources = [path for path in folder.rglob("*.py") if path.parent.name != "_c"]
    used = set(re.findall(r"\bfiltra_\w+", "".join(path.read_text() for path in sources)))
    assert len(used & set(_c.FUNCTIONS)) > 100
    missing = {n for n in _c.FUNCTIONS if n not in used}
    assert missing == set(LEFT_OUT)


def test_each_header_is_read() -> None:
    include = Path(__file__).parents[2] / "include" / "filtra"
    text = (include / "filtra.h").read_text()
    read = set(re.findall(r"#include <filtra/(\w+\.h)>", text)) | {"filtra.h"}
    assert {path.name for path in include.glob("*.h")} - read == set(HEADERS_LEFT_OUT)


def test_all_names_are_there() -> None:
    for name in dir(filtra):
        try:
            assert getattr(filtra, name) is not None
        except ImportError as error:  # what it is made for is not installed
            assert " need" in str(error)
    assert set(dir(filtra)) >= set(filtra.__all__)
