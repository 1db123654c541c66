"""Fine-tuning: a run that starts with the weights of another, with a new head."""

import numpy as np

import filtra


def samples(rng, count, classes):
    """Waves of 24 steps with noise; the class is the frequency, one of `classes`."""
    y = rng.integers(0, classes, count)
    steps = np.arange(24)[None, :] / 24 * 2 * np.pi
    X = np.sin(steps * (y[:, None] + 1) + rng.uniform(0, 6, (count, 1)))
    return (X + rng.normal(0, 0.2, X.shape))[..., None].astype(np.float32), y


rng = np.random.default_rng(0)
large = filtra.Dataset.from_arrays(*samples(rng, 800, 2), test=samples(rng, 200, 2))
small = filtra.Dataset.from_arrays(*samples(rng, 60, 3), val=samples(rng, 60, 3),
                                   test=samples(rng, 300, 3))

config = {"mixer": {"name": "agf", "K": 3}, "layers": 1, "heads": 2, "width": 32, "epochs": 20,
          "learning_rate": 3e-3, "batch_size": 32, "seed": 1}
first = filtra.train("pretrained", config, large)
print(f"pretrained, two classes: {first.model().evaluate(large, 'test').accuracy:.3f}")

again = {"epochs": 20, "learning_rate": 3e-3, "batch_size": 16, "seed": 1}
tuned = filtra.train("tuned", {**again, "init_from": "pretrained"}, small)
fresh = filtra.train("fresh", {**config, **again}, small)
for name, run in (("fine-tuned", tuned), ("from scratch", fresh)):
    with run.model() as model:
        print(f"{name}, three classes: {model.evaluate(small, 'test').accuracy:.3f}")
validation = tuned.metrics["validation_loss"]
print("validation losses of the fine-tuned run:", validation[~np.isnan(validation)].round(2)[::4])
