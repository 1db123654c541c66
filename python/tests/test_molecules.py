"""Graphs as samples: molecules and arrays, and mixers written in Python that take their bias."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Dataset, Model, Trainer, ops

SMALL: dict[str, Any] = {"width": 8, "layers": 1, "heads": 2, "dropout": 0, "seed": 1}
SMILES = ["C", "CC", "CCO", "C=C", "C#N", "c1ccccc1", "CC(=O)O", "N"]


@filtra.mixer("py_biased", takes_bias=True)
def biased(scope: filtra.Scope, x: filtra.MixerInput) -> filtra.Tensor:
    """Attention with the bias of edges."""
    q, k, v = scope.qkv(x)
    if x.bias is not None:
        assert x.bias.shape == (x.x.shape[0], x.heads, x.x.shape[1], x.x.shape[1])
    k, v = scope.keep("k", k), scope.keep("v", v)
    return scope.output(x, ops.attention(q, k, v, mask=x.mask, bias=x.bias, causal=x.causal))


@filtra.mixer("py_unbiased")
def unbiased(scope: filtra.Scope, x: filtra.MixerInput) -> filtra.Tensor:
    """Each token for itself."""
    assert x.bias is None
    return scope.output(x, x.x)


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = tmp_path_factory.mktemp("molecules") / "train.csv"
    rows = [f"{smiles},{len(smiles)}.5" for smiles in SMILES * 4]
    path.write_text("\n".join(["smiles,value", *rows]) + "\n")
    return Dataset.open(path, tokenizer="smiles", validation_share=0.2)


def losses(data: Dataset, device: filtra.Device, mixer: str) -> list[float]:
    with Model(data, mixer=mixer, device=device, **SMALL) as model:
        trainer, loader = Trainer(model, learning_rate=1e-2), data.loader("train", 8)
        found = []
        for _ in range(6):
            trainer.step(loader.next())
            found.append(trainer.finish().loss)
        return found


def test_a_mixer_that_takes_the_bias_trains(molecules: Dataset, device: filtra.Device) -> None:
    assert molecules.info["edge_types"] > 0
    found = losses(molecules, device, "py_biased")
    assert found[-1] < found[0]
    np.testing.assert_allclose(found, losses(molecules, device, "softmax"), rtol=1e-6)


def test_a_mixer_without_is_refused(molecules: Dataset, device: filtra.Device) -> None:
    with pytest.raises(filtra.FiltraError, match='mixer "py_unbiased" takes no bias of attention'):
        Model(molecules, mixer="py_unbiased", device=device, **SMALL)
    sequences = Dataset.from_arrays([[1, 2], [3, 1]] * 8, [0, 1] * 8, kind="tokens")
    for mixer in ("py_biased", "py_unbiased"):
        Model(sequences, mixer=mixer, device=device, **SMALL).close()
    with pytest.raises(TypeError, match="takes_bias must be True or False, not 1"):
        filtra.mixer("py_wrong_bias", takes_bias=1)(unbiased)  # type: ignore[arg-type]
