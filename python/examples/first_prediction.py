"""Ten lines to a first prediction: a classifier of texts, as scikit-learn's."""

from filtra import FiltraClassifier

good = ["a lovely film", "great fun", "i loved it", "wonderful acting", "a great film"]
bad = ["a dull film", "boring", "i hated it", "awful acting", "a boring mess"]
classifier = FiltraClassifier("agf", tokenizer="words", epochs=20, random_state=0)
classifier.fit(good + bad, ["good"] * 5 + ["bad"] * 5)
for text in ("a wonderful film", "a dull mess"):
    probabilities = classifier.predict_proba([text])[0].round(2)
    print(text, "->", classifier.predict([text])[0], probabilities)
