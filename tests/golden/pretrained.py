"""Tiny models of Hugging Face's `transformers` and what they compute, for the test
model/pretrained.

    python tests/golden/pretrained.py OUT        (torch, transformers, safetensors)

For each family OUT/NAME has config.json and model.safetensors as save_pretrained writes them.
golden.safetensors holds a batch (tokens or features, lengths, second, labels) and the model's
logits. gradient/ and trained/ are folders of the same kind, whose tensors are the gradients of the
mean loss, and the weights after ten steps of AdamW without decay.
"""
import json
import os
import sys

import torch
import transformers
from safetensors.torch import save_file

OUT = sys.argv[1]
STEPS, RATE = 10, 1e-3
SIZES = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
TEXT = dict(SIZES, vocab_size=20, max_position_embeddings=12)
IMAGE = dict(SIZES, image_size=8, patch_size=4, num_channels=3, num_labels=3)
LENGTHS = torch.tensor([7, 3, 5])


def text_batch(types, classes, pad, least=3):
    n = int(LENGTHS.max())
    mask = (torch.arange(n)[None, :] < LENGTHS[:, None]).long()
    ids = torch.randint(least, 20, (3, n)) * mask + pad * (1 - mask)
    second = torch.tensor([4, 0, 2])
    batch = dict(input_ids=ids, attention_mask=mask)
    if types:
        batch["token_type_ids"] = ((torch.arange(n)[None, :] >= second[:, None]) &
                                   (second[:, None] > 0)).long() * mask
    golden = dict(tokens=(ids * mask).int(), lengths=LENGTHS.int(),
                  second=(second if types else 0 * second).int())
    labels = torch.tensor([0.5, -1.0, 2.0]) if classes == 1 else torch.randint(0, classes, (3,))
    return batch, golden, labels


def image_batch():
    pixels = torch.randn(3, 3, 8, 8)
    golden = dict(features=pixels.permute(0, 2, 3, 1).reshape(3, 64, 3).contiguous(),
                  lengths=torch.full((3,), 64).int())
    return dict(pixel_values=pixels), golden, torch.randint(0, 3, (3,))


def loss_of(kind, model, batch, labels):
    logits = model(**batch).logits
    if kind == "gpt2":
        keep = batch["attention_mask"][:, 1:].bool()
        return logits, torch.nn.functional.cross_entropy(logits[:, :-1][keep],
                                                         batch["input_ids"][:, 1:][keep])
    if logits.shape[1] == 1:
        return logits, torch.nn.functional.mse_loss(logits[:, 0], labels)
    return logits, torch.nn.functional.cross_entropy(logits, labels)


def write(model, folder, values=None):
    """Saves the model, with other values by parameter."""
    kept = [p.detach().clone() for p in model.parameters()]
    with torch.no_grad():
        for p, v in zip(model.parameters(), values or kept):
            p.copy_(v)
    model.save_pretrained(folder)
    with torch.no_grad():
        for p, v in zip(model.parameters(), kept):
            p.copy_(v)
    for name in os.listdir(folder):
        if name == "generation_config.json":
            os.remove(f"{folder}/{name}")
    config = json.load(open(f"{folder}/config.json"))
    config.pop("transformers_version", None)
    json.dump(config, open(f"{folder}/config.json", "w"), indent=1, sort_keys=True)


def make(name, kind, model, data):
    folder = f"{OUT}/{name}"
    batch, golden, labels = data
    torch.manual_seed(3)
    with torch.no_grad():  # biases and gains that matter
        for p in model.parameters():
            p.add_(torch.randn_like(p) * (0.1 if p.ndim == 1 else 0.3))
    model.eval()
    logits, loss = loss_of(kind, model, batch, labels)
    if kind == "bert":  # vectors of sequences: the mean over real tokens, and the pooler's
        out, mask = model.bert(**batch), batch["attention_mask"][:, :, None]
        golden["mean"] = ((out.last_hidden_state * mask).sum(1) / mask.sum(1)).detach()
        golden["pooler"] = out.pooler_output.detach().contiguous()
    loss.backward()
    write(model, folder)
    write(model, f"{folder}/gradient", [torch.zeros_like(p) if p.grad is None else p.grad
                                        for p in model.parameters()])
    golden.update(logits=logits.detach().contiguous(), loss=loss.detach()[None])
    if kind != "gpt2":
        golden["values" if labels.is_floating_point() else "labels"] = (
            labels.float() if labels.is_floating_point() else labels.int())
    save_file(golden, f"{folder}/golden.safetensors")
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.999), eps=1e-8,
                                  weight_decay=0.0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(kind, model, batch, labels)[1].backward()
        optimizer.step()
    write(model, f"{folder}/trained")


def main():
    t = transformers
    torch.manual_seed(1)
    make("bert", "bert", t.BertForSequenceClassification(
        t.BertConfig(**TEXT, num_labels=3)), text_batch(True, 3, 0))
    roberta = dict(TEXT, max_position_embeddings=14, type_vocab_size=1)
    make("roberta", "roberta", t.RobertaForSequenceClassification(
        t.RobertaConfig(**roberta, num_labels=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)),
        text_batch(False, 1, 1))
    make("distilbert", "distilbert", t.DistilBertForSequenceClassification(t.DistilBertConfig(
        vocab_size=20, max_position_embeddings=12, dim=8, n_heads=2, n_layers=2, hidden_dim=12,
        dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0)), text_batch(False, 2, 0))
    make("gpt2", "gpt2", t.GPT2LMHeadModel(t.GPT2Config(
        vocab_size=20, n_positions=12, n_embd=8, n_layer=2, n_head=2, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)),
        text_batch(False, 2, 0, least=0))  # id 0 is a token like others
    make("vit", "vit", t.ViTForImageClassification(t.ViTConfig(**IMAGE)), image_batch())
    make("deit", "deit", t.DeiTForImageClassificationWithTeacher(t.DeiTConfig(**IMAGE)),
         image_batch())


main()
