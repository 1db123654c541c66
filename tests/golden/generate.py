#!/usr/bin/env python3
"""Writes the golden files of the mixers that other papers compare with: float64 forward passes,
written from the papers' equations one number at a time, and gradients by reverse-mode
differentiation of those numbers. Nothing but Python's own library; knows nothing of Filtra.

    python3 tests/golden/generate.py [FOLDER [CASE]]

Inputs and parameters are rounded to F32 before they are used, results are F64, zeros at
padding: each sequence is computed alone, from its own tokens. The random numbers
are those of random.Random, which every version of Python 3 makes alike.
"""
import json
import math
import random
import struct
import sys
import zlib
from pathlib import Path

from autodiff import (Number, apply, cos, differentiate, dot, elu, exp, largest, power, relu, root,
                      sigmoid, sin, softmax, total)


# ---- tensors as nested lists -------------------------------------------------------------------

def columns(matrix):
    return [list(c) for c in zip(*matrix)]


def product(a, b):
    """Of matrices, rows by columns."""
    turned = columns(b)
    return [[dot(row, column) for column in turned] for row in a]


def combine(a, b, function):
    return [[function(x, y) for x, y in zip(r, s)] for r, s in zip(a, b)]


def linear(x, weight, bias):
    """x [N,in] times weight [out,in] transposed."""
    return [[dot(row, w) + b for w, b in zip(weight, bias)] for row in x]


def flat(nested):
    if not isinstance(nested, list):
        return [nested]
    return [x for part in nested for x in flat(part)]


# ---- layers around the mixers ------------------------------------------------------------------

def attention_heads(x, p, heads, layer="qkv"):
    """Queries, keys and values of each head, from one layer: [head][kind][N][D]."""
    width = len(x[0])
    d = width // heads
    packed = linear(x, p[layer + ".weight"], p[layer + ".bias"])
    return [[[row[kind * width + h * d:kind * width + (h + 1) * d] for row in packed]
             for kind in range(len(packed[0]) // width)] for h in range(heads)]


def with_output(mixed, p):
    """Heads [head][N][D] side by side, then the output layer."""
    rows = [sum((head[n] for head in mixed), []) for n in range(len(mixed[0]))]
    return linear(rows, p["out.weight"], p["out.bias"])


def attention_shapes(width):
    return {"qkv.weight": [3 * width, width], "qkv.bias": [3 * width], "out.weight": [width, width],
            "out.bias": [width]}


def weigh_by_features(q, k, v, eps, causal):
    """sum_m (q_n k_m) v_m / (sum_m q_n k_m + eps), all weights written out."""
    y, by_column = [], columns(v)
    for n, query in enumerate(q):
        seen = n + 1 if causal else len(k)
        weights = [dot(query, key) for key in k[:seen]]
        below = total(weights) + eps
        y.append([dot(weights, column[:seen]) / below for column in by_column])
    return y


# ---- mixers: x [N,C] of one sequence without padding -> [N,C] ----------------------------------

def linear_attention(x, p, case):
    """Katharopoulos et al. 2020."""
    mixed = []
    for q, k, v in attention_heads(x, p, case["heads"]):
        q, k = ([[elu(e) + 1.0 for e in row] for row in rows] for rows in (q, k))
        mixed.append(weigh_by_features(q, k, v, case["options"].get("eps", 1e-6), case["causal"]))
    return with_output(mixed, p)


def cosformer(x, p, case):
    """Qin et al. 2022: all weights with their cosines."""
    mixed, longest = [], case["max_length"]
    for q, k, v in attention_heads(x, p, case["heads"]):
        q, k = ([[relu(e) for e in row] for row in rows] for rows in (q, k))
        y, by_column = [], columns(v)
        for n, query in enumerate(q):
            seen = n + 1 if case["causal"] else len(k)
            weights = [dot(query, k[m]) * math.cos(math.pi / 2 * (n - m) / longest)
                       for m in range(seen)]
            below = total(weights) + case["options"].get("eps", 1e-6)
            y.append([dot(weights, column[:seen]) / below for column in by_column])
        mixed.append(y)
    return with_output(mixed, p)


def fnet(x, p, case):
    """Lee-Thorp et al. 2021: the sum over all tokens and channels, and its real part."""
    size, width = len(x), len(x[0])
    scale = 1.0 / math.sqrt(size * width) if case["options"].get("orthonormal", True) else 1.0
    everything = flat(x)
    return [[dot(everything, [scale * math.cos(2 * math.pi * (n * k / size + c * j / width))
                              for n in range(size) for c in range(width)])
             for j in range(width)] for k in range(size)]


def performer(x, p, case):
    """Choromanski et al. 2021, with the authors' shifts and their eps; causal keys have no shift."""
    eps, mixed = case["options"].get("eps", 1e-4), []
    for q, k, v in attention_heads(x, p, case["heads"]):
        scale = len(q[0]) ** -0.25

        def project(row):
            row = [e * scale for e in row]
            along = [dot(row, direction) for direction in p["directions"]]
            return along, dot(row, row) * 0.5

        def features(along, half, shift):
            return [exp(e - half - shift) + eps for e in along]

        q = [features(along, half, largest(along)) for along, half in map(project, q)]
        k = [project(row) for row in k]
        common = 0.0 if case["causal"] else largest([largest(along) for along, _ in k])
        k = [features(along, half, common) for along, half in k]
        mixed.append(weigh_by_features(q, k, v, 0.0, case["causal"]))
    return with_output(mixed, p)


def performer_shapes(width, case):
    shapes = attention_shapes(width)
    shapes["!directions"] = [case["options"]["random_features"], width // case["heads"]]
    return shapes


def attend(q, k, v):
    """softmax(q k^T / sqrt(d)) v."""
    scale, by_column = 1.0 / math.sqrt(len(q[0])), columns(v)
    weights = [softmax([dot(query, key) * scale for key in k]) for query in q]
    return [[dot(row, column) for column in by_column] for row in weights]


def symmetric_plaplacian(x, p, case):
    """Nguyen et al. 2023 with W_Q = W_K: keys are queries, too."""
    mixed, scale = [], (len(x[0]) // case["heads"]) ** -0.5
    for (k, v), exponent in zip(attention_heads(x, p, case["heads"], "kv"), case["options"]["p"]):
        y, by_column = [], columns(v)
        for n, query in enumerate(k):
            seen = n + 1 if case["causal"] else len(k)
            weights = softmax([dot(query, key) * scale for key in k[:seen]])
            for m in range(seen):
                apart = total([(a - b) * (a - b) for a, b in zip(v[n], v[m])])
                weights[m] = weights[m] * power(apart + case["options"]["eps"], exponent / 2 - 1)
            y.append([dot(weights, column[:seen]) for column in by_column])
        mixed.append(y)
    return with_output(mixed, p)


def symmetric_shapes(width):
    return {"kv.weight": [2 * width, width], "kv.bias": [2 * width],
            "out.weight": [width, width], "out.bias": [width]}


def linformer(x, p, case):
    """Wang et al. 2020."""
    mixed = []
    keys, values = ([row[:len(x)] for row in p[name]] for name in
                    ("key_projection", "key_projection" if case["options"].get("shared")
                     else "value_projection"))
    for q, k, v in attention_heads(x, p, case["heads"]):
        mixed.append(attend(q, product(keys, k), product(values, v)))
    return with_output(mixed, p)


def linformer_shapes(width, case):
    shapes = attention_shapes(width)
    for name in ["key_projection"] + ["value_projection"] * (not case["options"].get("shared")):
        shapes[name] = [case["options"]["k"], case["max_length"]]
    return shapes


def segment_means(rows, count):
    """Over [j n/m, (j+1) n/m), row i covering [i, i+1)."""
    size, means = len(rows) / count, []
    for j in range(count):
        shares = [max(0.0, min(i + 1, (j + 1) * size) - max(i, j * size)) / size
                  for i in range(len(rows))]
        means.append([dot(column, shares) for column in columns(rows)])
    return means


def pseudoinverse(a, iterations):
    """Xiong et al. 2021, equation 11, with |A|_1 and |A|_inf of this matrix."""
    def identity_minus(factor, matrix):
        return [[-x + (factor if i == j else 0.0) for j, x in enumerate(row)]
                for i, row in enumerate(matrix)]

    norms = largest([total(column) for column in columns(a)]) * largest([total(row) for row in a])
    z = [[x / norms for x in column] for column in columns(a)]
    for _ in range(iterations):
        az = product(a, z)
        inner = identity_minus(15.0, product(az, identity_minus(7.0, az)))
        z = [[x * 0.25 for x in row]
             for row in product(z, identity_minus(13.0, product(az, inner)))]
    return z


def nystrom(x, p, case):
    """Xiong et al. 2021, equation 13, without the convolution."""
    options, mixed = case["options"], []
    for q, k, v in attention_heads(x, p, case["heads"]):
        scale = 1.0 / math.sqrt(len(q[0]))
        near, far = segment_means(q, options["landmarks"]), segment_means(k, options["landmarks"])
        between = [softmax([dot(a, b) * scale for b in far]) for a in near]
        inverse = pseudoinverse(between, options.get("iterations", 6))
        mixed.append(attend(q, far, product(inverse, attend(near, k, v))))
    return with_output(mixed, p)


def flowformer(x, p, case):
    """Wu et al. 2022, with eps and the limit of the authors' code."""
    eps, mixed, size = case["options"].get("eps", 1e-6), [], len(x)

    def flow(row, others):
        return dot([e + eps for e in row], [total(column) + eps for column in columns(others)])

    def limit(e):
        return e if -1.0 <= e.value <= 1.0 else Number(math.copysign(1.0, e.value))

    for q, k, v in attention_heads(x, p, case["heads"]):
        q, k = ([[sigmoid(e) for e in row] for row in rows] for rows in (q, k))
        incoming, outgoing = [flow(row, k) for row in q], [flow(row, q) for row in k]
        sinks = [flow(row, [[e / o for e in key] for key, o in zip(k, outgoing)]) for row in q]
        sources = [flow(row, [[e / i for e in query] for query, i in zip(q, incoming)])
                   for row in k]
        shares = [s * float(size) for s in softmax([limit(e) for e in sources])]
        values = columns([[e * s for e in row] for row, s in zip(v, shares)])
        mixed.append([[dot([dot(query, key) for key in k], column) / i * sigmoid(sink)
                       for column in values] for query, i, sink in zip(q, incoming, sinks)])
    return with_output(mixed, p)


def synthesizer(x, p, case):
    """Tay et al. 2021: dense scores, random ones as they are, both factorized, too."""
    options, mixed, heads = case["options"], [], case["heads"]
    variant, d = options.get("variant", "dense"), len(x[0]) // heads
    values = linear(x, p["value.weight"], p["value.bias"])
    hidden = [[relu(e) for e in row]
              for row in linear(x, p["hidden.weight"], p["hidden.bias"])] if "dense" in variant else 0
    for h in range(heads):
        def layer(name, set_of_scores):
            width = options.get("hidden", d)
            at = (set_of_scores * heads + h) * width
            weight = p[name + ".weight"][h]
            bias = p[name + ".bias"][h * len(weight):(h + 1) * len(weight)]
            return linear([row[at:at + width] for row in hidden], weight, bias)

        if variant == "dense":
            scores = layer("scores", 0)
        elif variant == "random":
            scores = [[e + Number(0.0) for e in row] for row in p["scores"][h]]
        elif variant == "factorized_dense":
            scores = [[a * b for a in row for b in other]
                      for row, other in zip(layer("rows", 0), layer("columns", 1))]
        else:
            scores = product(p["scores.1"][h], columns(p["scores.2"][h]))
        by_column, y = columns([row[h * d:(h + 1) * d] for row in values]), []
        for n in range(len(x)):
            seen = n + 1 if case["causal"] else len(x)
            weights = softmax(scores[n][:seen])
            y.append([dot(weights, column[:seen]) for column in by_column])
        mixed.append(y)
    return with_output(mixed, p)


def synthesizer_shapes(width, case):
    options, heads, longest = case["options"], case["heads"], case["max_length"]
    variant, d = options.get("variant", "dense"), width // heads
    shapes = {"value.weight": [width, width], "value.bias": [width],
              "out.weight": [width, width], "out.bias": [width]}

    def dense(sets, outputs):
        hidden = options.get("hidden", d)
        shapes["hidden.weight"] = [sets * heads * hidden, width]
        shapes["hidden.bias"] = [sets * heads * hidden]
        for name, size in outputs.items():
            shapes[name + ".weight"], shapes[name + ".bias"] = [heads, size, hidden], [heads * size]

    if variant == "dense":
        dense(1, {"scores": longest})
    elif variant == "random":
        shapes["!scores" if options.get("fixed") else "scores"] = [heads, longest, longest]
    elif variant == "factorized_dense":
        dense(2, {"rows": options["a"], "columns": -(-longest // options["a"])})
    else:
        shapes["scores.1"] = shapes["scores.2"] = [heads, longest, options["k"]]
    return shapes


def packed_attention(heads, q, k, v):
    """Attention of rows [N,C] to others, head by head, side by side."""
    d, mixed = len(q[0]) // heads, []
    for h in range(heads):
        part = [[row[h * d:(h + 1) * d] for row in rows] for rows in (q, k, v)]
        mixed.append(attend(*part))
    return [sum((head[n] for head in mixed), []) for n in range(len(q))]


def layer_norm(rows, p, name):
    result = []
    for row in rows:
        center = mean(row)
        apart = [e - center for e in row]
        spread = root(mean([e * e for e in apart]) + 1e-5)
        result.append([e / spread * g + b for e, g, b in
                       zip(apart, p[name + ".weight"], p[name + ".bias"])])
    return result


def luna(x, p, case):
    """Ma et al. 2021, section 3: pack, unpack, and P = LayerNorm(Y_P + P) in the next layer."""
    width, heads, below = len(x[0]), case["heads"], None
    for i in range(case["options"].get("layers", 1)):
        own = {name.split(".", 1)[1]: value for name, value in p.items()
               if name.startswith("%d." % i)} if "layers" in case["options"] else p
        sequence = layer_norm(below, own, "norm") if below else own["packed"]
        packed = linear(x, own["qkv.weight"], own["qkv.bias"])
        q, k, v = ([row[j * width:(j + 1) * width] for row in packed] for j in range(3))
        packed = packed_attention(heads, linear(sequence, own["pack.weight"], own["pack.bias"]),
                                  k, v)
        below = combine(sequence, packed, lambda a, b: a + b)
        both = linear(packed, own["kv.weight"], own["kv.bias"])
        y = packed_attention(heads, q, [row[:width] for row in both], [row[width:] for row in both])
        x = linear(y, own["out.weight"], own["out.bias"])
    return x


def luna_shapes(width, case):
    shapes, layers = {}, case["options"].get("layers", 1)
    for i in range(layers):
        start = "%d." % i if "layers" in case["options"] else ""
        own = dict(attention_shapes(width), **{"pack.weight": [width, width], "pack.bias": [width],
                                               "kv.weight": [2 * width, width],
                                               "kv.bias": [2 * width]})
        own.update({"norm.weight": [width], "norm.bias": [width]} if i else
                   {"packed": [case["options"]["l"], width]})
        shapes.update({start + name: shape for name, shape in own.items()})
    return shapes


def primal(x, p, case):
    """Chen et al. 2023: e = W_e|X^T q/|q| and r = W_r|X^T k/|k|, W_|X = f(X)^T W with the tokens f(X);
    the output, and the squared objective with the authors' lambda^2 and means."""
    options, heads, width = case["options"], case["heads"], len(x[0])
    rows, rank, d = options["p"], options["s"], width // case["heads"]
    sampled = [x[j * (len(x) - 1) // (rows - 1)] for j in range(rows)]
    both, mixed, variance, trace = linear(x, p["qk.weight"], p["qk.bias"]), [], [], []
    for h in range(heads):
        f = columns([row[h * d:(h + 1) * d] for row in sampled])
        weights = [product(f, p[name][h]) for name in ("weights.e", "weights.r")]
        scores = []
        for i, w in enumerate(weights):
            part = [row[i * width + h * d:i * width + (h + 1) * d] for row in both]
            part = [[e / (root(dot(row, row)) + 1e-12) for e in row] for row in part]
            scores.append(product(part, w))
        mixed.append(linear([a + b for a, b in zip(*scores)], p["scores.weight"],
                            p["scores.bias"]))
        if "lambda" in p:
            variance += [dot(row, row) * 0.5 for side in scores for row in
                         [[e * l for e, l in zip(row, p["lambda"][h])] for row in side]]
            a, b = weights if options.get("data_trace") else (p["weights.e"][h], p["weights.r"][h])
            trace.append(dot(flat(a), flat(b)))
    y = with_output(mixed, p)
    if "lambda" not in p:
        return y
    j = total(variance) * (1.0 / (heads * len(x))) - total(trace) * (1.0 / heads)
    return y, j * j * options.get("ksvd_weight", 0.1)


def primal_shapes(width, case):
    options, heads = case["options"], case["heads"]
    shapes = {"qk.weight": [2 * width, width], "qk.bias": [2 * width],
              "out.weight": [width, width], "out.bias": [width],
              "weights.e": [heads, options["p"], options["s"]],
              "weights.r": [heads, options["p"], options["s"]],
              "scores.weight": [width // heads, 2 * options["s"]],
              "scores.bias": [width // heads]}
    if options.get("ksvd_weight", 0.1):
        shapes["lambda"] = [heads, options["s"]]
    return shapes


def gelu(e):
    cumulative = 0.5 * (1.0 + math.erf(e.value / math.sqrt(2.0)))
    density = math.exp(-0.5 * e.value * e.value) / math.sqrt(2.0 * math.pi)
    return apply(e, e.value * cumulative, cumulative + e.value * density)


def factors_of(case):
    return max(1, math.ceil(math.log2(case["max_length"])))


def paramixer(x, p, case):
    """Yu et al. 2022: X' = W_1 .. W_M g(X) with the CHORD protocol, written out as N x N matrices; a
    link that another one of the same token meets adds to it."""
    size, factors, options = len(x), factors_of(case), case["options"]
    hidden = options.get("hidden", len(x[0]))

    def layer(rows, name):
        return linear(rows, p[name + ".weight"], p[name + ".bias"])

    y = layer([[gelu(e) for e in row] for row in layer(x, "values.1")], "values.2")
    h = [[gelu(e) for e in row] for row in layer(x, "links.1")]
    for m in reversed(range(factors)):
        entries = linear([row[m * hidden:(m + 1) * hidden] for row in h], p["links.2.weight"][m],
                         p["links.2.bias"][m * (factors + 1):(m + 1) * (factors + 1)])
        identity = 1.0 if options.get("residual", True) else 0.0
        matrix = [[Number(identity if i == j else 0.0) for j in range(size)] for i in range(size)]
        for i, row in enumerate(entries):
            for k, entry in enumerate(row):
                j = (i + (2 ** (k - 1) if k else 0)) % size
                matrix[i][j] = matrix[i][j] + entry
        y = product(matrix, y)
    return y


def paramixer_shapes(width, case):
    factors, hidden = factors_of(case), case["options"].get("hidden", width)
    return {"values.1.weight": [hidden, width], "values.1.bias": [hidden],
            "values.2.weight": [width, hidden], "values.2.bias": [width],
            "links.1.weight": [factors * hidden, width], "links.1.bias": [factors * hidden],
            "links.2.weight": [factors, factors + 1, hidden],
            "links.2.bias": [factors * (factors + 1)]}


# Complex numbers are pairs of Numbers.

def turn(angle):
    return cos(angle), sin(angle)


def times(a, b):
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def conjugate(a):
    return a[0], -a[1]


def siren(x, p, name):
    hidden = [[sin(e) for e in row]
              for row in linear(x, p[name + ".1.weight"], p[name + ".1.bias"])]
    hidden = [[e * g / (root(dot(row, row)) + 1e-5) for e, g in zip(row, p[name + ".norm.weight"])]
              for row in hidden]
    return [[sin(e) for e in row]
            for row in linear(hidden, p[name + ".2.weight"], p[name + ".2.bias"])]


def mean(numbers):
    return total(numbers) * (1.0 / len(numbers))


def angles_of(row):
    """FixNorm, then adaptive average pooling to seven numbers."""
    length, size = root(dot(row, row)) + 1e-5, len(row)
    row = [e / length for e in row]
    return [mean(row[i * size // 7:-(-(i + 1) * size // 7)]) for i in range(7)]


def givens(alpha, beta, gamma):
    """ii, ij, ji, jj of the rotation of two neighbouring tokens."""
    outer, inner = turn((alpha + beta) * math.pi), turn((alpha - beta) * math.pi)
    c, s = turn(gamma * math.pi)
    return [[(outer[0] * c, -(outer[1] * c)), (-(inner[0] * s), -(inner[1] * s))],
            [(inner[0] * s, -(inner[1] * s)), (outer[0] * c, outer[1] * c)]]


def rotate(x, k, g):
    """Tokens k and k + 1 of x [N], by a 2 x 2 matrix."""
    pair = x[k], x[k + 1]
    for i in range(2):
        a, b = times(g[i][0], pair[0]), times(g[i][1], pair[1])
        x[k + i] = a[0] + b[0], a[1] + b[1]


def adjoint(g):
    return [[conjugate(g[j][i]) for j in range(2)] for i in range(2)]


def filtered(x, factors, eigenvalues, triangular):
    """Phi^-1 diag(eigenvalues) Phi x of one channel, Phi = D_m L_m U_m of all factors, m = 0 first;
    the last D is left out, since it commutes with the eigenvalues. Triangular: factor m has no
    rotations of the first m tokens."""
    def rotations(m):
        return range(m if triangular else 0, len(x) - 1)

    x, last = list(x), len(factors) - 1
    for m, (lower, upper, diagonal) in enumerate(factors):
        for k in reversed(rotations(m)):
            rotate(x, k, upper[k])
        for k in rotations(m):
            rotate(x, k, lower[k])
        if m < last:
            x = [times(d, e) for d, e in zip(diagonal, x)]
    x = [times(d, e) for d, e in zip(eigenvalues, x)]
    for m, (lower, upper, diagonal) in reversed(list(enumerate(factors))):
        if m < last:
            x = [times(conjugate(d), e) for d, e in zip(diagonal, x)]
        for k in reversed(rotations(m)):
            rotate(x, k, adjoint(lower[k]))
        for k in rotations(m):
            rotate(x, k, adjoint(upper[k]))
    return x


def transform(rows):
    """A factor of Phi from a head's features [N][D]: lower and upper rotations, the diagonal."""
    t = [angles_of(row) for row in rows]
    return ([givens(*t[k][0:3]) for k in range(len(t) - 1)],
            [givens(*t[k + 1][3:6]) for k in range(len(t) - 1)],
            [turn(row[6] * (2 * math.pi)) for row in t])


def learned_order(x, p, temperature):
    """Who has each place, and SoftSort's matrix (Prillo and Eisenschlos 2020)."""
    scores = [dot(row, p["order.weight"][0]) + -0.1 * (t + 1) for t, row in enumerate(x)]
    order = sorted(range(len(x)), key=lambda t: -scores[t].value)
    return order, [softmax([(scores[t] - s) * (scores[t] - s) * (-1.0 / temperature)
                            for s in scores]) for t in order]


def moved(x, order, matrix):
    """The rows x[order[0]], .. with the gradients of these and of matrix x, x then constant."""
    result = []
    for place, weights in zip(order, matrix):
        soft = [dot(weights, [row[c].value for row in x]) for c in range(len(x[0]))]
        result.append([Number(exact.value, ((exact, 1.0), (s, 1.0)))
                       for exact, s in zip(x[place], soft)])
    return result


def synvolution(x, p, case, polynomial=lambda phase: phase):
    """Of the tokens in their learned order, or in the sequence's own."""
    options = case["options"]
    if not options.get("sort_tokens"):
        return spectral_filter(x, p, options, polynomial)
    order, matrix = learned_order(x, p, options.get("sort_temperature", 0.1))
    mixed = spectral_filter(moved(x, order, matrix), p, options, polynomial)
    back = sorted(range(len(x)), key=lambda place: order[place])
    return moved(mixed, back, columns(matrix))


def spectral_filter(x, p, options, polynomial):
    """Converter (2025), equations 7 to 12; each head with a transform and phases of its own. The
    complex result is made real by zeta, between 0 and 1."""
    width = len(x[0])
    heads = options.get("heads", 1)
    d = width // heads
    phases, value = siren(x, p, "values"), product(x, columns(p["value.weight"]))
    features = [siren(x, p, "vectors.%d" % m) for m in range(options.get("order", 1))]
    zeta = p["zeta"][0]
    zeta = apply(zeta, min(max(zeta.value, 0.0), 1.0), float(0.0 <= zeta.value <= 1.0))
    mixed = []
    for h in range(heads):
        part = range(h * d, (h + 1) * d)
        factors = [transform([[row[c] for c in part] for row in f]) for f in features]
        eigenvalues = [turn(polynomial(mean([row[c] for c in part]))) for row in phases]
        mixed += [filtered([(row[2 * c], row[2 * c + 1]) for row in value], factors, eigenvalues,
                           options.get("triangular")) for c in part]
    return [[z[n][0] * zeta + z[n][1] * (-zeta + 1.0) for z in mixed] for n in range(len(x))]


def kernelution(x, p, case):
    """The same with phases sum_k w_k T_k(phase), without damping."""
    def polynomial(phase):
        before, now, w = Number(1.0), phase, p["chebyshev"]
        result = w[0] * before
        for weight in w[1:]:
            result = result + weight * now
            before, now = now, phase * now * 2.0 - before
        return result

    return synvolution(x, p, case, polynomial)


def synvolution_shapes(width, case):
    shapes = {"value.weight": [2 * width, width], "zeta": [1]}
    if case["options"].get("sort_tokens"):
        shapes["order.weight"] = [1, width]
    for name in ["values"] + ["vectors.%d" % m for m in range(case["options"].get("order", 1))]:
        shapes.update({name + ".1.weight": [width, width], name + ".1.bias": [width],
                       name + ".norm.weight": [width], name + ".2.weight": [width, width],
                       name + ".2.bias": [width]})
    return shapes


def kernelution_shapes(width, case):
    return dict(synvolution_shapes(width, case), chebyshev=[case["options"]["K"] + 1])


MIXERS = {"linear": (linear_attention, attention_shapes),
          "cosformer": (cosformer, attention_shapes),
          "fnet": (fnet, lambda width: {}),
          "plaplacian": (symmetric_plaplacian, symmetric_shapes),
          "performer": (performer, performer_shapes),
          "linformer": (linformer, linformer_shapes),
          "nystrom": (nystrom, attention_shapes),
          "flowformer": (flowformer, attention_shapes),
          "synthesizer": (synthesizer, synthesizer_shapes),
          "luna": (luna, luna_shapes),
          "primal": (primal, primal_shapes),
          "paramixer": (paramixer, paramixer_shapes),
          "synvolution": (synvolution, synvolution_shapes),
          "kernelution": (kernelution, kernelution_shapes)}


# ---- cases and files ---------------------------------------------------------------------------

def case(name, mixer, lengths, width, heads_of_model, causal=False, max_length=None, **options):
    """A batch of sequences of these lengths, padded to the longest."""
    return {"name": name, "mixer": mixer, "lengths": lengths, "width": width,
            "heads": heads_of_model,
            "causal": causal, "max_length": max_length or max(lengths), "options": options}


CASES = [
    case("linear_n7c6", "linear", [7, 4], 6, 2),
    case("linear_n33c16_causal", "linear", [33, 20], 16, 2, causal=True),
    case("linear_n70c4_causal", "linear", [70], 4, 1, causal=True, eps=0.01),
    case("linear_n1c4", "linear", [1], 4, 2),
    case("cosformer_n7c6", "cosformer", [7, 4], 6, 2, max_length=11),
    case("cosformer_n33c16_causal", "cosformer", [33, 20], 16, 2, causal=True, max_length=64),
    case("cosformer_n70c4_causal", "cosformer", [70], 4, 1, causal=True, eps=0.01),
    case("fnet_n7c6", "fnet", [7, 4], 6, 2, orthonormal=False),
    case("fnet_n33c16", "fnet", [33, 20, 1], 16, 2),
    case("plaplacian_symmetric_n7c6", "plaplacian", [7, 4, 1], 6, 2, symmetric=True, p=[1.5, 2.5],
         eps=0.1),
    case("plaplacian_symmetric_n33c16_causal", "plaplacian", [33, 20], 16, 2, causal=True,
         symmetric=True, p=[1.5, 2.5], eps=0.01),
    case("performer_n7c6", "performer", [7, 4], 6, 2, random_features=5),
    case("performer_n33c16_causal", "performer", [33, 20], 16, 2, causal=True, random_features=17),
    case("performer_n70c4_causal", "performer", [70], 4, 1, causal=True, random_features=6,
         eps=0.01),
    case("linformer_n7c6", "linformer", [7, 4], 6, 2, k=5, shared=True),
    case("linformer_n33c16", "linformer", [33, 20], 16, 2, max_length=40, k=9),
    case("nystrom_n8c6", "nystrom", [8, 5, 3], 6, 2, landmarks=4, iterations=8),
    case("nystrom_n33c16", "nystrom", [33, 20], 16, 2, landmarks=6),
    case("flowformer_n7c6", "flowformer", [7, 4, 1], 6, 2, eps=0.01),
    case("flowformer_n33c16", "flowformer", [33, 20], 16, 2),
    case("synthesizer_n7c6", "synthesizer", [7, 4, 1], 6, 2, max_length=9),
    case("synthesizer_n33c16_causal", "synthesizer", [33, 20], 16, 2, causal=True, hidden=5),
    case("synthesizer_random_n9c6_causal", "synthesizer", [9, 4], 6, 2, causal=True, max_length=10,
         variant="random"),
    case("synthesizer_fixed_n7c6", "synthesizer", [7, 5], 6, 2, variant="random", fixed=True),
    case("synthesizer_factorized_dense_n9c6", "synthesizer", [9, 4], 6, 2, max_length=11,
         variant="factorized_dense", a=3, hidden=4),
    case("synthesizer_factorized_random_n33c16", "synthesizer", [33, 20], 16, 2, max_length=40,
         variant="factorized_random", k=5),
    case("luna_n7c6", "luna", [7, 4, 1], 6, 2, l=3),
    case("luna_two_layers_n19c8", "luna", [19, 12], 8, 2, l=5, layers=2),
    case("primal_n7c6", "primal", [7, 4, 1], 6, 2, s=2, p=5),
    case("primal_data_trace_n9c6", "primal", [9, 5], 6, 3, s=3, p=11, data_trace=True,
         ksvd_weight=0.5),
    case("primal_n33c16", "primal", [33, 20], 16, 2, s=5, p=9, ksvd_weight=0),
    case("paramixer_n7c6", "paramixer", [7, 4, 1], 6, 2, hidden=4),
    case("paramixer_product_n19c8", "paramixer", [19, 12], 8, 2, max_length=21, residual=False),
    case("synvolution_n7c6_h2", "synvolution", [7, 4, 1], 6, 2, heads=2, order=2),
    case("synvolution_sorted_n9c6_h2", "synvolution", [9, 5, 1], 6, 2, heads=2, sort_tokens=True),
    case("kernelution_triangular_n8c5", "kernelution", [8, 3], 5, 1, K=2, order=3, triangular=True,
         sort_tokens=True, sort_temperature=1.5, kernel_polynomial_weight=0),
    case("kernelution_n19c16_h2", "kernelution", [19, 12], 16, 2, heads=2, K=3,
         kernel_polynomial_weight=0),
]


def rounded(values):
    return [struct.unpack("<f", struct.pack("<f", v))[0] for v in values]


def nested(numbers, shape):
    if len(shape) == 1:
        return numbers
    step = len(numbers) // shape[0]
    return [nested(numbers[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def elements(shape):
    return math.prod(shape)


def run(c):
    """Tensors of a case by name: (type, shape, values)."""
    rng = random.Random(zlib.crc32(c["name"].encode()))
    function, shapes_of = MIXERS[c["mixer"]]
    batch, n, width = len(c["lengths"]), max(c["lengths"]), c["width"]
    tensors, parameters, leaves = {}, {}, {}

    def draw(name, shape, scale, fixed=False):
        values = rounded([scale * rng.gauss(0, 1) for _ in range(elements(shape))])
        tensors[name] = ("F32", shape, values)
        numbers = values if fixed else [Number(v) for v in values]
        if not fixed:
            leaves[name] = (shape, numbers)
        return nested(numbers, shape)

    x = draw("in.x", [batch, n, width], 1.0)
    shapes = shapes_of(width) if shapes_of.__code__.co_argcount == 1 else shapes_of(width, c)
    for name, shape in shapes.items():
        kind, name = ("fixed", name[1:]) if name.startswith("!") else ("", name)
        scale = 1.0 if kind else 0.3 if len(shape) == 1 else 1.0 / math.sqrt(shape[-1])
        parameters[name] = draw("param." + name, shape, scale, bool(kind))
    tensors["fixed.mask"] = ("F32", [batch, n], [float(i < length) for length in c["lengths"]
                                                 for i in range(n)])
    up = draw("up.y", [batch, n, width], 1.0, True)
    outputs, losses, pairs = [], [], []
    for b, length in enumerate(c["lengths"]):
        y = function(x[b][:length], parameters, c)
        if isinstance(y, tuple):
            y, loss = y
            losses.append(loss)
        for row, upstream in zip(y, up[b]):
            pairs.extend(zip(row, upstream))
        outputs.append(y + [[Number(0.0)] * width] * (n - length))
    if losses:
        tensors["out.loss"] = ("F64", [batch], [number.value for number in losses])
        pairs.extend(zip(losses, draw("up.loss", [batch], 1.0, True)))
    differentiate(pairs)
    tensors["out.y"] = ("F64", [batch, n, width], [number.value for number in flat(outputs)])
    for name, (shape, numbers) in leaves.items():
        tensors["grad." + name] = ("F64", shape, [number.gradient for number in numbers])
    return tensors


def write(path, c, tensors):
    largest_gradient = max(abs(v) for name, (_, _, values) in tensors.items()
                           if name.startswith("grad.") for v in values)
    options = dict(name=c["mixer"], **c["options"])
    layers = {"layers": str(options.pop("layers"))} if "layers" in options else {}
    header = {"__metadata__": {
        "op": "mixer", "case": c["name"], "mixer": json.dumps(options), "heads": str(c["heads"]),
        "causal": json.dumps(c["causal"]), "max_length": str(c["max_length"]),
        "grad_scale": repr(largest_gradient), **layers}}
    data = b""
    for name in sorted(tensors, key=lambda name: (tensors[name][0] != "F64", name)):
        kind, shape, values = tensors[name]
        packed = struct.pack("<%d%s" % (len(values), "d" if kind == "F64" else "f"), *values)
        header[name] = {"dtype": kind, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for c in CASES:
        if len(sys.argv) > 2 and not c["name"].startswith(sys.argv[2]):
            continue
        write(folder / (c["name"] + ".safetensors"), c, run(c))
        print(c["name"])


if __name__ == "__main__":
    main()
