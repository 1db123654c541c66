"""Arrays as the library reads them, and Python's values in its structs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import _arrays, _c, _convert


class Array(np.ndarray):  # type: ignore[type-arg]
    """An array that can be referred to weakly."""


@pytest.mark.parametrize("writeable", [True, False])
def test_structs_keep_arrays(writeable: bool) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3).view(Array)
    array.flags.writeable = writeable
    alive = weakref.ref(array)
    struct = _convert.fill(_c.filtra_samples, features=_arrays.pointer(array))
    arrays = _c.filtra_dataset_arrays()
    arrays.splits[1] = struct
    del array, struct
    gc.collect()
    assert alive() is not None and arrays.splits[1].features[4] == 4
    del arrays
    gc.collect()
    assert alive() is None


def test_arrays_are_copied_only_where_needed() -> None:
    array = np.ones((2, 3), np.float32)
    assert _arrays.array_of(array) is array
    for other in (array.T, array[:, ::2], array.astype(">f4"), array.astype(int), array > 0):
        made = _arrays.array_of(other)
        assert made.flags.c_contiguous and made.dtype == np.float32
        assert np.array_equal(made, other)
    assert _arrays.array_of([[1, 2], [3, 4.5]])[1, 1] == 4.5
    assert _arrays.array_of(np.empty((0, 3), np.float64)).shape == (0, 3)
    assert _arrays.pointer(np.empty((0, 3), np.float32)) is not None
    assert np.isinf(_arrays.array_of([np.inf, np.nan])[0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([None, 1]), "not Python objects"),
        (np.array(["a"]), "not texts"),
        (np.array([b"a"]), "not bytes"),
        (np.array([1j]), "not complex numbers"),
        (np.array(["2020-01-01"], "M8[D]"), "not the type datetime64"),
        ([[1], [1, 2]], "lists of equal lengths|not Python objects"),
        (np.float64(1e39), "beyond the range of float32"),
    ],
)
@pytest.mark.filterwarnings("ignore:Creating an ndarray from ragged")
def test_what_is_no_array_of_numbers(value: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        _arrays.array_of(value)


def test_fields_are_checked() -> None:
    config = _convert.fill(_c.filtra_model_config, mixer="agf", block="Converter", layers=None)
    assert (config.mixer, config.block, config.layers) == (b"agf", 1, 0)
    assert _convert.values(config)["block"] == "converter"
    for field, value, error, message in (
        ("block", "nonesuch", ValueError, "block must be one of transformer, converter"),
        ("layers", 1.5, TypeError, "layers must be a whole number, not 1.5"),
        ("layers", True, TypeError, "layers must be a whole number"),
        ("layers", 1 << 63, ValueError, "layers must be from"),
        ("dropout", "0.1", TypeError, "dropout must be a number"),
        ("dropout", float("nan"), ValueError, "dropout must be a finite number"),
        ("tie_embeddings", 1, TypeError, "tie_embeddings must be True or False"),
        ("mixer", b"agf\0".decode(), ValueError, "mixer has a NUL at character 3"),
        ("mixer", "\udc80", ValueError, "mixer has a lone surrogate at character 0"),
        ("mixer", 3, TypeError, "mixer must be a str, not int"),
        ("nonesuch", 3, TypeError, "there is no option 'nonesuch'"),
    ):
        with pytest.raises(error, match=message):
            _convert.fill(_c.filtra_model_config, **{field: value})
    assert _convert.fill(_c.filtra_model_config, layers=np.int32(3), dropout=np.float32(0.5))
    with pytest.raises(AttributeError):
        config.nonesuch = 3


def test_errors_have_the_library_s_sentence() -> None:
    with pytest.raises(filtra.ArgumentError) as caught:
        filtra.ops.gibbs_factors("wang", 3, wang_a=101)
    assert "is 101, accepted are 0 to 100" in str(caught.value)
