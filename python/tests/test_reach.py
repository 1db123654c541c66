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
}
# Of modules that are still to come.
TO_COME = (
    "filtra_config_", "filtra_dataset_", "filtra_free", "filtra_generator_", "filtra_listops_",
    "filtra_loader_", "filtra_model_", "filtra_pathfinder_", "filtra_predictor_", "filtra_preset_",
    "filtra_run_", "filtra_sample_", "filtra_scores_", "filtra_tokenizer_", "filtra_trainer_",
    "filtra_transport_",
)


def test_each_function_is_reachable() -> None:
    folder = Path(filtra.__file__).parent
    sources = [path for path in folder.rglob("*.py") if path.parent.name != "_c"]
    used = set(re.findall(r"\bfiltra_\w+", "".join(path.read_text() for path in sources)))
    assert len(used & set(_c.FUNCTIONS)) > 100
    missing = {n for n in _c.FUNCTIONS if n not in used and not n.startswith(TO_COME)}
    assert missing == set(LEFT_OUT)


def test_all_names_are_there() -> None:
    assert all(getattr(filtra, name) is not None for name in filtra.__all__)
    assert dir(filtra) == sorted(filtra.__all__)
