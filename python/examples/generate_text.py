"""A language model of characters that is trained in the script and continues a prompt."""

import numpy as np

import filtra

rng = np.random.default_rng(0)
subjects, verbs = ["the cat", "the dog", "a bird"], ["sees", "likes", "hears"]
text = "".join(
    f"{rng.choice(subjects)} {rng.choice(verbs)} {rng.choice(subjects)}.\n" for _ in range(600)
)
tokenizer = filtra.Tokenizer.fit([text], "characters")
data = filtra.Dataset.from_text(text, tokenizer=tokenizer, length=64)
model = filtra.Model(data, mixer="softmax", layers=2, heads=2, width=32)
trainer = filtra.Trainer(model, learning_rate=3e-3, schedule="constant")
trainer.fit(data, epochs=20, batch_size=16)
evaluation = model.evaluate(data, "val")
print(f"perplexity of a character: {evaluation.perplexity:.2f} of {len(tokenizer)}")
for piece in filtra.generate(model, tokenizer, "the dog", 80, temperature=0.3, seed=1):
    print(piece, end="", flush=True)
print()
