"""Numbers that float32 does not tell apart, as tests/data/test_spread.c has them in files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from filtra import ArgumentError, Dataset

K = np.arange(80)
GOOD = np.sin(K)


def odd(numbers: Any, last: float) -> Any:
    return np.append(numbers[:-1], np.asarray(last, numbers.dtype))


@pytest.mark.parametrize(
    "numbers, message",
    [
        (1.7e9 + K * 0.5, "holds numbers from 1700000000 to 1700000039.5, which 32-bit numbers"),
        (odd(1.7e9 + K * 0.5, 0), "holds numbers, most of them from 1700000000"),
        (odd(1.7e9 + np.arange(100000) * 1e-4, 0), "most of them"),
        (K.astype(np.uint64) + np.uint64(2**63), "different ones are equal as 64-bit numbers"),
        (odd(K + 2**62, 0), "equal as 64-bit numbers"),
        ((K + 1) * 1e-200, "too small; 32-bit numbers need one of at least 1.2e-38"),
        (odd(np.full(80, 1.7e9), 0), None),
        (odd(1.7e9 + K * 3600.5, 0), None),
        (odd(0.1 + K * 1e-17, 2), None),
        (odd((K + 1) * 1e-200, 0.5), None),
        (odd(K + 2**24, 0), None),
        (20 + K % 3 + 1e-9 * K, None),
        (K.astype(np.float32) + 2**24, None),
    ],
)
def test_numbers_that_float32_does_not_tell_apart(numbers: Any, message: str | None) -> None:
    other = np.resize(GOOD, len(numbers))
    whole = numbers.dtype.kind in "iu"  # beside fractions they would be fractions, too
    columns = np.column_stack([numbers if whole else other, numbers])
    for X, y in ((columns, other), (other[:, None], numbers)):
        if message is None:
            Dataset.from_arrays(X, y, kind="vectors", target="value")
            continue
        with pytest.raises(ArgumentError) as seen:
            Dataset.from_arrays(X, y, kind="vectors", target="value")
        assert message in str(seen.value)
