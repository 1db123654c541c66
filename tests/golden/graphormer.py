"""Tiny Graphormers (Ying et al. 2021), GFSA in one (Choi et al. 2024) and ContraNorm in another (Guo
et al. 2023), in float64, and what they compute, for the test model/edges.

    python tests/golden/graphormer.py OUT        (torch, safetensors)

OUT/NAME.safetensors is a model file with random weights. OUT/NAME.golden.safetensors has a batch of
three graphs (tokens, lengths, edge_counts, edges, labels), the model's logits and mean loss, and
the gradient of each parameter as "gradient.PARAMETER". Written from the papers' equations one pair
of nodes at a time; knows nothing of Filtra but the names of its tensors.
"""
import json
import math
import sys

import torch
from safetensors.torch import save_file

torch.set_default_dtype(torch.float64)
LAYERS, HEADS, WIDTH, FFN, HIDDEN, CLASSES = 2, 2, 8, 12, 10, 3
VOCABULARY, TYPES, DISTANCES, HOPS, DEGREES, NODES = 9, 3, 3, 2, 3, 7
# (nodes, edges with their types): every pair of nodes has one shortest path at most.
GRAPHS = [
    (7, [(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 4, 0), (2, 5, 1), (2, 6, 0)]),  # longer than DISTANCES
    (5, [(0, 1, 2), (3, 2, 1), (2, 4, 0), (4, 3, 0)]),                     # two parts, a triangle
    (1, []),
]
LENGTHS = [n for n, _ in GRAPHS]


def shortest_path(edges, a, b):
    """Types of the edges on the way from a to b; None: there is no way."""
    ways, seen = {a: []}, {a}
    while ways:
        if b in ways:
            return ways[b]
        further = {}
        for node, way in ways.items():
            for x, y, kind in edges:
                for here, there in ((x, y), (y, x)):
                    if here == node and there not in seen:
                        further[there] = way + [kind]
        seen.update(further)
        ways = further
    return None


def bias(p, nodes, edges, virtual):
    """[heads, M, M]: equations 6 and 7."""
    front = int(virtual)
    rows = []
    for i in range(-front, nodes):
        row = []
        for j in range(-front, nodes):
            if i < 0 or j < 0:
                row.append(p["distances.weight"][DISTANCES + 2])
                continue
            path = shortest_path(edges, i, j)
            if path is None:
                row.append(p["distances.weight"][DISTANCES + 1])
                continue
            b = p["distances.weight"][min(len(path), DISTANCES)]
            first = path[:HOPS]
            for place, kind in enumerate(first):
                b = b + p["path_edges.weight"][place * TYPES + kind] / len(first)
            row.append(b)
        rows.append(torch.stack(row))
    return torch.stack(rows).permute(2, 0, 1)


def normed(x, p, name, contra):
    unit = x / x.norm(dim=1, keepdim=True)
    x = x - contra * torch.softmax(unit @ unit.T, 1) @ x
    return torch.nn.functional.layer_norm(x, (WIDTH,), p[name + ".weight"], p[name + ".bias"], 1e-5)


def linear(x, p, name):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def attention(x, p, name, b, order):
    q, k, v = (t.reshape(len(x), HEADS, -1).transpose(0, 1)
               for t in linear(x, p, name + "qkv").chunk(3, 1))
    a = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(WIDTH / HEADS) + b, -1)
    if order:
        w0, w1, wk = (p[name + key][:, None, None] for key in ("w0", "w1", "wK"))
        a = w0 * torch.eye(len(x)) + w1 * a + wk * (a + (order - 1) * (a @ a - a))
    return linear((a @ v).transpose(0, 1).reshape(len(x), WIDTH), p, name + "out")


def logits_of(p, tokens, nodes, edges, virtual, order, contra):
    degrees = [min(sum(i in e[:2] for e in edges), DEGREES) for i in range(nodes)]
    x = p["embedding.weight"][tokens[:nodes]] + p["degrees.weight"][degrees]
    if virtual:
        x = torch.cat([p["class_token.weight"], x])
    b = bias(p, nodes, edges, virtual)
    for i in range(LAYERS):
        at = f"layers.{i}."
        x = x + attention(normed(x, p, at + "norm1", contra), p, at + "mixer.", b, order)
        h = torch.nn.functional.gelu(linear(normed(x, p, at + "norm2", contra), p, at + "ffn.1"))
        x = x + linear(h, p, at + "ffn.2")
    x = normed(x, p, "norm", contra)
    x = x[0] if virtual else x.mean(0)
    return linear(torch.relu(linear(x, p, "head.1")), p, "head.2")


def shapes(virtual, order):
    s = {"embedding.weight": (VOCABULARY, WIDTH), "degrees.weight": (DEGREES + 1, WIDTH),
         "distances.weight": (DISTANCES + 2 + virtual, HEADS),
         "path_edges.weight": (HOPS * TYPES, HEADS), "norm.weight": (WIDTH,), "norm.bias": (WIDTH,),
         "head.1.weight": (HIDDEN, WIDTH), "head.1.bias": (HIDDEN,),
         "head.2.weight": (CLASSES, HIDDEN), "head.2.bias": (CLASSES,)}
    if virtual:
        s["class_token.weight"] = (1, WIDTH)
    for i in range(LAYERS):
        at = f"layers.{i}."
        for name, out, into in (("mixer.qkv", 3 * WIDTH, WIDTH), ("mixer.out", WIDTH, WIDTH),
                                ("ffn.1", FFN, WIDTH), ("ffn.2", WIDTH, FFN)):
            s[f"{at}{name}.weight"], s[f"{at}{name}.bias"] = (out, into), (out,)
        for name in ("norm1", "norm2"):
            s[f"{at}{name}.weight"], s[f"{at}{name}.bias"] = (WIDTH,), (WIDTH,)
        for name in ("w0", "w1", "wK") if order else ():
            s[f"{at}mixer.{name}"] = (HEADS,)
    return s


def make(folder, name, virtual, order, contra=0.0):
    torch.manual_seed(5)
    p = {key: (torch.randn(shape) * 0.5).float().double().requires_grad_()
         for key, shape in sorted(shapes(virtual, order).items())}
    tokens = torch.zeros(len(GRAPHS), NODES, dtype=torch.int64)
    for row, nodes in zip(tokens, LENGTHS):
        row[:nodes] = torch.randint(1, VOCABULARY, (nodes,))
    labels = torch.tensor([2, 0, 1])
    logits = torch.stack([logits_of(p, t, n, e, virtual, order, contra)
                          for t, (n, e) in zip(tokens, GRAPHS)])
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    mixer = {"name": "gfsa", "K": order} if order else {"name": "softmax"}
    config = dict(task="classification", mixer=mixer, vocabulary=VOCABULARY, classes=CLASSES,
                  max_length=NODES, layers=LAYERS, heads=HEADS, width=WIDTH, ffn_width=FFN,
                  head_width=HIDDEN, positions="none", edge_types=TYPES, edge_distances=DISTANCES,
                  edge_hops=HOPS, edge_degrees=DEGREES,
                  pooling="class_token" if virtual else "mean")
    if contra:
        config["contra_norm"] = contra
    save_file({key: x.detach().float() for key, x in p.items()}, f"{folder}/{name}.safetensors",
              {"filtra.config": json.dumps(config)})
    golden = dict(tokens=tokens.int(), lengths=torch.tensor(LENGTHS).int(),
                  edge_counts=torch.tensor([len(e) for _, e in GRAPHS]).int(),
                  edges=torch.tensor([e for _, edges in GRAPHS for e in edges]).int(),
                  labels=labels.int(), logits=logits.detach().float(), loss=loss.detach().float()[None])
    golden.update({f"gradient.{key}": x.grad.float() for key, x in p.items()})
    save_file(golden, f"{folder}/{name}.golden.safetensors")


make(sys.argv[1], "graphormer", True, 0)
make(sys.argv[1], "graphormer_mean_gfsa", False, 3)
make(sys.argv[1], "graphormer_contra_norm", True, 0, 0.25)
