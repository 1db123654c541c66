"""A comparison of mixers over seeds, with error bars and a plot."""

import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import filtra

MIXERS = {
    "softmax": "softmax",
    "agf": {"name": "agf", "K": 3},
    "gfsa": {"name": "gfsa", "K": 2},
    "plaplacian": "plaplacian",
}
SEEDS = range(3)

with tempfile.TemporaryDirectory() as folder:
    filtra.generate_listops(folder, train=800, val=50, test=300, min_length=4, max_length=16,
                            max_depth=2, max_args=3, seed=1)
    data = filtra.Dataset.open(folder, format="lra-listops")


def accuracy(mixer, seed):
    """Train a model, and return its accuracy on the test split."""
    with filtra.Model(data, mixer=mixer, layers=1, heads=2, width=32, seed=seed) as model:
        with filtra.Trainer(model, learning_rate=3e-3, schedule="constant", seed=seed) as trainer:
            trainer.fit(data, epochs=6, batch_size=32, seed=seed)
        return model.evaluate(data, "test").accuracy


found = {name: [accuracy(mixer, seed) for seed in SEEDS] for name, mixer in MIXERS.items()}
means = [np.mean(values) for values in found.values()]
errors = [np.std(values, ddof=1) / np.sqrt(len(values)) for values in found.values()]
for name, mean, error in zip(found, means, errors):
    print(f"{name:12s} {mean:.3f} +- {error:.3f} (standard error, {len(SEEDS)} seeds)")
plt.bar(list(found), means, yerr=errors, capsize=4)
plt.ylabel("test accuracy on ListOps")
plt.savefig("mixers.png")
print("the plot is in mixers.png")
