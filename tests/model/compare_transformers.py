"""Compares what PyTorch makes of exported models with the logits that Filtra gave for them.

    compare_transformers.py KEPT GOLDEN

KEPT has a folder NUMBER-FAMILY for each case of test_filters.c, GOLDEN/FAMILY the batch."""
import os
import sys

import numpy
import torch
import transformers
from safetensors.torch import load_file

BOUND = 2e-5


def batch_of(family, folder):
    """The batch as transformers takes it, and which rows of tokens are real."""
    golden = load_file(f"{folder}/golden.safetensors")
    if "features" in golden:
        pixels = golden["features"]
        side = int(pixels.shape[1] ** 0.5)
        return {"pixel_values": pixels.view(-1, side, side, pixels.shape[2]).permute(0, 3, 1, 2)}
    ids, position = golden["tokens"].long(), torch.arange(golden["tokens"].shape[1])[None, :]
    mask = (position < golden["lengths"][:, None]).long()
    second = golden["second"][:, None]
    if family == "roberta":
        ids = ids * mask + (1 - mask)
    batch = {"input_ids": ids, "attention_mask": mask}
    if family == "bert":
        batch["token_type_ids"] = ((position >= second) & (second > 0)).long() * mask
    return batch


def load(family, folder):
    kind = {"gpt2": "CausalLM", "vit": "ImageClassification", "deit": "ImageClassification"}
    auto = getattr(transformers, f"AutoModelFor{kind.get(family, 'SequenceClassification')}")
    model, said = auto.from_pretrained(folder, trust_remote_code=True, output_loading_info=True)
    left = {key: value for key, value in said.items() if value}
    assert not left, f"{folder}: {left}"
    return model.eval()


def compare(family, kept, golden):
    batch = batch_of(family, f"{golden}/{family}")
    model = load(family, kept)
    with torch.no_grad():
        logits = model(**batch).logits
    ours = torch.from_numpy(numpy.fromfile(f"{kept}/logits.f32", numpy.float32)).view(logits.shape)
    if family == "gpt2":  # rows at padding are anything
        real = batch["attention_mask"].bool()
        logits, ours = logits[real], ours[real]
    return ((logits - ours).abs().max() / logits.abs().max()).item()


def check_base(family, kept, golden):
    """The model without its head is the same one."""
    batch, whole = batch_of(family, f"{golden}/{family}"), load(family, kept)
    base = transformers.AutoModel.from_pretrained(kept, trust_remote_code=True).eval()
    with torch.no_grad():
        theirs = whole.base_model(**batch).last_hidden_state
        assert torch.equal(base(**batch).last_hidden_state, theirs), f"{kept}: AutoModel differs"


def check_generation(kept):
    """Generating reads each token again, and refuses a cache of keys."""
    model = load("gpt2", kept)
    ids = torch.tensor([[3, 1, 4]])
    model.generation_config.eos_token_id = None
    out = model.generate(ids, max_new_tokens=3, do_sample=False, pad_token_id=0)
    with torch.no_grad():
        for i in range(3, 6):
            assert model(out[:, :i]).logits[0, -1].argmax() == out[0, i], f"{kept}: generate"


def check_saved(family, kept, again):
    """What PyTorch saves has the same tensors under the same names."""
    load(family, kept).save_pretrained(again)
    ours, theirs = (load_file(f"{folder}/model.safetensors") for folder in (kept, again))
    assert ours.keys() == theirs.keys(), f"{kept}: {ours.keys() ^ theirs.keys()}"
    assert all(torch.equal(ours[name], theirs[name]) for name in ours), f"{kept}: save_pretrained"
    assert os.path.exists(f"{again}/filtra_filters.py"), f"{kept}: saved without its module"


def check_refusal(kept):
    """Without the module no model is made that would compute something else."""
    try:
        transformers.AutoModel.from_pretrained(kept, trust_remote_code=False)
    except ValueError:
        return
    raise AssertionError(f"{kept}: loaded without its module")


def check_tokenizer(kept):
    """The exported tokenizer is theirs, without a word."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(kept)
    batch = tokenizer(["A FINE film!", "bad"], ["good words", "not one"], padding=True)
    assert batch["input_ids"] == [[2, 5, 6, 7, 19, 3, 13, 9, 10, 3],
                                  [2, 8, 3, 16, 14, 3, 0, 0, 0, 0]], batch
    assert batch["token_type_ids"][1] == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0], batch
    assert tokenizer.mask_token_id == 4 and tokenizer.model_max_length == 12


def main():
    kept, golden = sys.argv[1:]
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    bad, cases = 0, sorted(name for name in os.listdir(kept) if name[0].isdigit())
    assert cases, f"{kept} has no folders"
    for name in cases:
        family, folder = name.split("-")[1], f"{kept}/{name}"
        error = compare(family, folder, golden)
        bad += not error <= BOUND
        print(f"{name}: {error:.1e} {'' if error <= BOUND else 'FAILED'}")
        check_base(family, folder, golden)
        check_refusal(folder)
        check_saved(family, folder, f"{kept}/saved/{name}")
        if family == "gpt2":
            check_generation(folder)
    check_tokenizer(f"{kept}/tokenizer-bert")
    return bad > 0


sys.exit(main())
