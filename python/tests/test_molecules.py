"""Graphs as samples: molecules and arrays, and mixers written in Python that take their bias."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Batch, Dataset, Model, Trainer, ops

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


RING, PATH = [[0, 1, 0], [1, 2, 0], [2, 0, 2]], [[0, 1, 1], [1, 2, 0]]


def graphs(**options: Any) -> Dataset:
    """Rings and paths of three equal nodes, which edges alone tell apart."""
    X, y, edges = [[1, 1, 1]] * 16, [0, 1] * 8, [RING, np.array(PATH, np.int64)] * 8
    return Dataset.from_arrays(X, y, edges=edges, test=([[1, 1], [1]], [1, 0], [[[1, 0, 3]], []]),
                               **{"validation_share": 0, **options})


def test_graphs_from_memory(device: filtra.Device) -> None:
    data = graphs()
    assert (data.info["edge_types"], graphs(edge_types=9).info["edge_types"]) == (4, 9)
    assert [data.sample(i).edges.tolist() for i in range(2)] == [RING, PATH]
    assert [data.sample(i, "test").edges.tolist() for i in range(2)] == [[[1, 0, 3]], []]
    plain = Dataset.from_arrays([[1, 1]] * 2, [0, 1], edges=[np.array([[0, 1]]), []],
                                validation_share=0)
    assert plain.info["edge_types"] == 1
    assert [plain.sample(i).edges.tolist() for i in range(2)] == [[[0, 1, 0]], []]
    none = Dataset.from_arrays([[1, 1]] * 2, [0, 1], edges=[[], []], validation_share=0)
    assert none.info["edge_types"] == 1 and none.loader().next().edge_counts.tolist()[:2] == [0, 0]
    texts = Dataset.from_arrays(["a", "b"], [0, 1], tokenizer="bytes", validation_share=0)
    assert texts.sample(0).edges is None and texts.loader().next().edge_counts is None
    with Model(data, device=device, **SMALL) as model:
        Trainer(model, learning_rate=3e-2).fit(data, epochs=15, batch_size=8)
        assert model.evaluate(data, "train").accuracy == 1


def test_batches_of_graphs(device: filtra.Device) -> None:
    data = graphs()
    given = data.loader("train", 2).next()
    assert given.edge_counts.tolist() == [3, 2] and given.edges.tolist() == RING + PATH
    own = Batch([[1, 1, 1, 0]] * 2, lengths=[3, 3], labels=[0, 1], edges=[RING, PATH])
    with Model(data, device=device, **SMALL) as model:
        wanted = model.predict_batch(given)
        np.testing.assert_allclose(model.predict_batch(own), wanted, atol=1e-5)
        turned = Batch([[1, 1, 1]] * 2, edges=[PATH, RING])
        np.testing.assert_allclose(model.predict_batch(turned), wanted[::-1], atol=1e-5)
        for wrong in (Batch([[1, 1, 1]] * 2, edges=[RING, [[0, 1, 4]]]), Batch([[1, 1, 1]] * 2)):
            with pytest.raises(ValueError, match="types 0 to 3|needs edge_counts and edges"):
                model.predict_batch(wrong)
    with pytest.raises(ValueError, match="edges join tokens"):
        Batch(features=np.zeros((2, 3, 1)), edges=[[], []])


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([[[0, 1]]], {}, "edges must have 2 elements, one for each graph; got 1"),
        ("ab", {}, "edges must be a list of an array for each graph, not str"),
        (3, {}, "edges must be a list of an array for each graph, not int"),
        ([[], [0, 1]], {}, r"edges\[1\] must be \[edges, 2\], of two nodes each, or .* got \[2\]"),
        ([np.zeros((2, 4), int), []], {}, r"edges\[0\] must be .*got \[2, 4\] \(give its .T\)"),
        ([[[0.5, 1]], []], {}, r"edges\[0\] must be numbers of type int32, not fractions"),
        ([[[0, 1], [0]], []], {}, r"edges\[0\] must be an array, or lists of equal lengths"),
        ([[[0, 1], [1, 0]], []], {}, r"edges\[0\]\[1\] joins nodes 1 and 0 again"),
        ([[[0, 1]], [[0, 1, 2]]], {}, r"edges\[1\] has types and edges\[0\] has none"),
        ([[[0, 2]], []], {}, "sample 0 of train: edge 0 is from .* to node 2.*two different nodes"),
        ([[], [[1, 1]]], {}, "sample 1 of train: edge 0 is from .* to node 1.*two different nodes"),
        ([[[0, 1, -1]], []], {}, "of type -1; accepted are .*types 0 to 0"),
        ([[[0, 1, 64]], []], {}, "edges has the type 64, accepted are 0 to 63"),
        ([[[0, 1, 2]], []], {"edge_types": 2}, "of type 2; accepted are .*types 0 to 1"),
        ([[], []], {"edge_types": 65}, "edge_types must be from 1 to 64; got 65"),
        (None, {"edge_types": 2}, "edge_types is of graphs: give their edges, too"),
        ([[], []], {"kind": "vectors"}, "edges join token ids"),
        ([[], []], {"test": ([[1, 1]], [0])}, r"test must be \(X, y, edges\)"),
        (None, {"test": ([[1, 1]], [0], [[]])}, r"test must be a pair \(X, y\)"),
        ([[], []], {"target": "next", "y": None}, "of graphs of tokens with classes or values"),
    ],
)
def test_what_are_no_edges(edges: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Dataset.from_arrays([[1, 1]] * 2, edges=edges, **{
            "y": [0, 1], "kind": "tokens", "validation_share": 0, **options,
        })


def test_molecules_in_memory_are_not_read_without_their_bonds() -> None:
    with pytest.raises(ValueError, match=r"X is molecules.*Dataset.open\(path, tokenizer=.smiles"):
        Dataset.from_arrays(["CO", "CC"], [0, 1], tokenizer="smiles")
