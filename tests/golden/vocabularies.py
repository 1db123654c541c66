#!/usr/bin/env python3
"""Writes tokenizers.json: small tokenizers that Hugging Face's code made (pip install tokenizers),
strings, and what that code makes of them.

    python3 tests/golden/vocabularies.py tests/golden/tokenizers.json
"""
import json
import sys

from tokenizers import (AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

TEXT = ["the quick brown fox jumps over the lazy dog", "don't say that they're the best we've seen",
        "graph filters in transformers: attention is a graph filter, 1234 times",
        "unaffable reading reader reads; tokenization of tokens",
        "na\u00efve caf\u00e9 \u5317\u4eac",
        "The THE Then that this   those\n\nnew lines\n\n"] * 3

STRINGS = [
    "", " ", "  ", "\n", "a", "The quick brown fox", "the  quick   brown    fox ", " the", "the ",
    "don't DON'T they're we've I'd 's 'S x's", "it\u2019s", "1234 12 a1b2 \u0661\u0662 \u00b2\u00bd",
    "new\n\nlines\n \n\n x", "a\tb\r\nc\u00a0d\u2003e\u3000f\u2028g\u0085h\u200bi\ufeffj",
    "unaffable, reading; tokenization!?", "\u5317\u4eac\u6771 na\u00efve caf\u00e9 cafe\u0301",
    "\u0130stanbul STRASSE \u1e9e \u01c5 \u03a3\u03a3", "\ud55c\uad6d\uc5b4 \u304c \u304b\u3099",
    "e\u0323\u0302 e\u0302\u0323 q\u0307\u0323 \u302e\u0334a\u302f", "\ufb01 \u2126 \u212b \u0344",
    "\U0001f600 \U0001f469\u200d\U0001f4bb \U0001d518", "x" * 101, "x" * 100, "ab" * 40,
    "nul\0in \x01\x02 side \ufffd \ue000 \u0378", "<|end|> [MASK][mask] [CLS] the<new> thenew new",
    "[MASK] <|end|>\n <new>  next [MASK]  the", "new newer renew new. NEW \u00e9new new\u00e9",
    "...!? -- (a) $5.00 ~`^", "\u2014\u201cq\u201d\u2026 \u1df6 \u09fd \U0002b820\U0002b91f",
    "say \u0627\u0644\u0633\u0644\u0627\u0645 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
]


def bpe(prefix):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(TEXT, trainers.BpeTrainer(
        vocab_size=340, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<|end|>"]))
    return t


def roberta():
    t = bpe(True)
    t.add_special_tokens(["<s>", "</s>", AddedToken("[MASK]", lstrip=True)])
    t.add_tokens([AddedToken("new", single_word=True), AddedToken("<new>", rstrip=True)])
    t.post_processor = processors.RobertaProcessing(
        ("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def wordpiece(**options):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(**options)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(TEXT, trainers.WordPieceTrainer(
        vocab_size=160, show_progress=False,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    ends = [(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")]
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends)
    return t


def added():
    t = wordpiece(lowercase=True)
    t.add_tokens([AddedToken("NEW", normalized=True, single_word=True),
                  AddedToken("<new>", normalized=True, lstrip=True, rstrip=True)])
    return t


def case(name, t):
    plain = [t.encode(s, add_special_tokens=False) for s in STRINGS]
    whole = [t.encode(s) for s in STRINGS]
    return {"name": name, "tokenizer": json.loads(t.to_str()), "ids": [e.ids for e in plain],
            "special": [e.ids for e in whole], "offsets": [e.offsets for e in plain],
            "text": [t.decode(e.ids, skip_special_tokens=False) for e in whole]}


def main(path):
    cases = [case("bpe", bpe(False)), case("roberta", roberta()),
             case("uncased", wordpiece(lowercase=True)), case("cased", wordpiece(lowercase=False)),
             case("added", added())]
    with open(path, "w", encoding="ascii", newline="\n") as file:
        lines = [f"{{\"strings\": {json.dumps(STRINGS)},", "\"cases\": ["]
        file.write("\n".join(lines) + ",\n".join(json.dumps(c) for c in cases) + "]}\n")


if __name__ == "__main__":
    main(sys.argv[1])
