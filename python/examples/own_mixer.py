"""A mixer of one's own: each token sees the mean of all, and itself by a gate that is learned."""

import numpy as np

import filtra
from filtra import ops


@filtra.mixer(
    "gated_mean",
    scale=filtra.MixerOption(1.0, 0, 10, help="factor on the mean"),
    not_causal="it averages over all tokens",
    not_decoded="it averages over all tokens",
)
def gated_mean(scope, inputs, scale):
    """A gated mean of the tokens."""
    x = inputs.x  # [batch, tokens, channels]
    values = ops.mask_tokens(scope.linear("values", x, x.shape[-1]), inputs.mask)
    counts = inputs.mask.sum(1, keepdims=True).reshape(-1, 1, 1)  # real tokens of each sample
    mean = values.sum(1, keepdims=True).affine(scale) / counts
    gate = scope.linear("gate", x, x.shape[-1], activation="sigmoid")
    return scope.output(inputs, gate * values + mean)


def samples(rng, count):
    """Sequences of 8 to 20 digits; the class is whether the first is above the mean."""
    X = [rng.integers(1, 11, rng.integers(8, 21)) for _ in range(count)]
    return X, [int(row[0] > row.mean()) for row in X]


rng = np.random.default_rng(0)
data = filtra.Dataset.from_arrays(*samples(rng, 1000), test=samples(rng, 300), kind="tokens")
for scale in (0.0, 1.0):  # without the mean, the first token knows only itself
    mixer = {"name": "gated_mean", "scale": scale}
    model = filtra.Model(data, mixer=mixer, layers=2, heads=2, width=16, pooling="first")
    trainer = filtra.Trainer(model, learning_rate=5e-3, schedule="constant")
    trainer.fit(data, epochs=15)
    print(f"scale {scale}: test accuracy {model.evaluate(data, 'test').accuracy:.3f}")
print("gated_mean:", filtra.mixers()["gated_mean"])
