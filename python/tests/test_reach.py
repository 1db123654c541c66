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
    "filtra_split_from_name": "the enum has the names",
    "filtra_split_name": "the enum has the names",
    "filtra_status_name": "each status is an exception of its own",
    "filtra_struct_size": "filtra_compare_structs compares all sizes when the library is loaded",
    "filtra_transport_close": "wheels have no module for an MPI; mpirun starts the command",
    "filtra_transport_open": "wheels have no module for an MPI; mpirun starts the command",
}
# Of modules that are still to come.
TO_COME = {
    "filtra_predictor_collect", "filtra_predictor_predict_batch", "filtra_predictor_predict_split",
    "filtra_predictor_submit", "filtra_run_create_predictor", "filtra_run_measure",
}


def test_each_function_is_reachable() -> None:
    folder = Path(filtra.__file__).parent
    sources = [path for path in folder.rglob("*.py") if path.parent.name != "_c"]
    used = set(re.findall(r"\bfiltra_\w+", "".join(path.read_text() for path in sources)))
    assert len(used & set(_c.FUNCTIONS)) > 100
    assert set(_c.FUNCTIONS) - used - TO_COME == set(LEFT_OUT)


def test_all_names_are_there() -> None:
    assert all(getattr(filtra, name) is not None for name in filtra.__all__)
    assert dir(filtra) == sorted(filtra.__all__)
