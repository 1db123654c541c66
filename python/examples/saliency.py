"""Saliency: which steps of a series a classifier looks at, by the gradient of its inputs.

A model's inputs have no gradients, so this builds its own network of ops: attention over the steps.
"""

import numpy as np

import filtra
from filtra import ops

COUNT, STEPS, WIDTH = 64, 16, 8
rng = np.random.default_rng(0)
y = rng.integers(0, 2, COUNT)
X = rng.normal(size=(COUNT, STEPS, 1)).astype(np.float32)
X[:, 9, 0] += np.where(y, 2, -2)  # only step 9 tells the class

device = filtra.default_device()
params, g = filtra.Parameters(device), filtra.Graph(device, training=True)


def linear(name, x, out):
    """Apply a linear layer."""
    weight = g.parameter(params, name, (out, x.shape[-1]), init="normal", value=0.3)
    return ops.linear(x, weight)


series = g.input("series", X.shape, gradient=True)
labels = g.input("labels", (COUNT,), "i32")
position = g.parameter(params, "position", (STEPS, WIDTH), init="normal", value=0.3)
hidden = ops.add_positions(linear("embed", series, WIDTH), position)
weights = ops.softmax(linear("score", hidden, 1), axis=1)  # of the steps
pooled = (weights * linear("value", hidden, WIDTH)).sum(1)
logits = linear("head", pooled.activate("gelu"), 2)
loss = g.output(ops.weighted_mean(ops.cross_entropy(logits, labels)))
correct = g.output(ops.weighted_mean(ops.accuracy(logits, labels)))
params.commit(seed=1)
optimizer = filtra.Optimizer(params, learning_rate=0.02, schedule="constant")
g.backward(loss)
saliency = g.output(g.gradient(series))
g.compile()
for step in range(150):
    g.run({series: X, labels: y})
    optimizer.step()
optimizer.finish()

strength = np.abs(np.asarray(saliency))[..., 0].mean(0)
print(f"accuracy {np.asarray(correct).item():.3f}, loss {np.asarray(loss).item():.4f}")
for step, share in enumerate(strength / strength.sum()):
    print(f"step {step:2d} {share:6.1%} {'#' * round(50 * share)}")
print("most salient step:", int(strength.argmax()))
