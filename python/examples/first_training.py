"""Fifteen lines to a first training: data, model, trainer, evaluation."""

import numpy as np

import filtra

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 400)  # the class of a series is the direction of its noisy ramp
X = rng.normal(0, 0.3, (400, 24, 1)) + np.where(y, 1, -1)[:, None, None] * np.linspace(
    -1, 1, 24
)[None, :, None]
data = filtra.Dataset.from_arrays(X[:300], y[:300], test=(X[300:], y[300:]))
model = filtra.Model(data, mixer={"name": "agf", "K": 3}, layers=1, heads=2, width=16)
trainer = filtra.Trainer(model, learning_rate=3e-3, schedule="constant")
trainer.fit(data, epochs=25, batch_size=32)
print(trainer.steps, "steps of", model)
print(f"test accuracy: {model.evaluate(data, 'test').accuracy:.3f}")
model.save("ramp.safetensors")
print(filtra.Predictor("ramp.safetensors").predict(X[:3]), "should be", y[:3])
