"""Tiny models of images as `timm` makes them, in float64, some with GFSA (Choi et al. 2024) in place
of attention, and what they compute, for the test model/vision.

    python tests/golden/vision.py OUT        (torch, timm 1.0.31, safetensors)

OUT/NAME.safetensors is a model file with random weights. OUT/NAME.golden.safetensors has a batch of
images (features, lengths, labels), the model's logits and mean loss, and the gradient of each
parameter as "gradient.PARAMETER". Only the names of tensors and the order of pixels are Filtra's.
"""
import json
import sys

import torch
from safetensors.torch import save_file
from timm.models.cait import Cait, TalkingHeadAttn
from timm.models.swin_transformer import SwinTransformer

torch.set_default_dtype(torch.float64)
BATCH, CHANNELS, CLASSES = 3, 2, 5


class Filtered(torch.nn.Module):
    """w0 I + w1 A + wK (A + (K-1)(A A - A)) of a matrix A for each head."""

    def __init__(self, heads, order):
        super().__init__()
        self.order = order
        self.w0, self.w1, self.wK = (torch.nn.Parameter(torch.zeros(heads)) for _ in range(3))

    def forward(self, a):
        w0, w1, wk = (w[:, None, None] for w in (self.w0, self.w1, self.wK))
        power = a + (self.order - 1) * (a @ a - a)
        return w0 * torch.eye(a.shape[-1]) + w1 * a + wk * power


class FilteredTalkingHeads(TalkingHeadAttn):
    """CaiT's attention with the filter where the authors have it: on what the heads agreed on."""

    def __init__(self, dim, num_heads, **rest):
        super().__init__(dim, num_heads, **rest)
        self.attn_drop = Filtered(num_heads, 4)


# ---- names ----

def attention_names(theirs, ours):
    return {f"{theirs}.proj": f"{ours}.out", f"{theirs}.qkv": f"{ours}.qkv",
            f"{theirs}.q": f"{ours}.q", f"{theirs}.proj_l": f"{ours}.talking_scores",
            f"{theirs}.proj_w": f"{ours}.talking_weights", f"{theirs}.attn_drop": ours,
            theirs: ours}


def block_names(theirs, ours):
    names = {f"{theirs}.norm1": f"{ours}.norm1", f"{theirs}.norm2": f"{ours}.norm2",
             f"{theirs}.mlp.fc1": f"{ours}.ffn.1", f"{theirs}.mlp.fc2": f"{ours}.ffn.2",
             theirs: ours}
    return {**names, **attention_names(f"{theirs}.attn", f"{ours}.mixer")}


def cait_names(model):
    names = {"patch_embed.proj": "embedding", "norm": "norm", "head": "head", "": ""}
    for i in range(len(model.blocks)):
        names.update(block_names(f"blocks.{i}", f"layers.{i}"))
    for i in range(len(model.blocks_token_only)):
        names.update(block_names(f"blocks_token_only.{i}", f"layers.{len(model.blocks) + i}"))
    return names


def swin_names(model):
    names = {"patch_embed.proj": "embedding", "patch_embed.norm": "embedding.norm", "norm": "norm",
             "head.fc": "head"}
    layer = 0
    for s, stage in enumerate(model.layers):
        names[f"layers.{s}.downsample.norm"] = f"layers.{layer}.merge.norm"
        names[f"layers.{s}.downsample.reduction"] = f"layers.{layer}.merge"
        for i in range(len(stage.blocks)):
            names.update(block_names(f"layers.{s}.blocks.{i}", f"layers.{layer}"))
            layer += 1
    return names


LAST = {"gamma_1": "layer_scale1", "gamma_2": "layer_scale2", "cls_token": "class_token.weight",
        "pos_embed": "positions.weight", "relative_position_bias_table": "relative.weight"}


def ours(tensors, names):
    """Their tensors by our names and in our shapes; k and v of class attention are one."""
    out = {}
    for name, x in tensors.items():
        module, _, last = name.rpartition(".")
        if module.endswith(".attn.k"):
            base = module[:-2]
            x = torch.cat([x, tensors[f"{base}.v.{last}"]])
            out[f"{names[base + '.q'][:-2]}.kv.{last}"] = x
        elif not module.endswith(".attn.v"):
            if name == "patch_embed.proj.weight":
                x = x.permute(0, 2, 3, 1).flatten(1)
            if last in ("cls_token", "pos_embed"):
                x = x[0]
            out[".".join(filter(None, (names[module], LAST.get(last, last))))] = x
    return {name: x.detach().float().contiguous() for name, x in out.items()}


# ---- files ----

def make(folder, name, model, names, size, config):
    torch.manual_seed(5)
    for p in model.parameters():
        p.data = (torch.randn(p.shape) * 0.5).float().double()
    model.eval()
    height, width = size
    features = torch.randn(BATCH, height * width, CHANNELS).float().double()
    labels = torch.tensor([4, 0, 2])
    images = features.reshape(BATCH, height, width, CHANNELS).permute(0, 3, 1, 2)
    logits = model(images)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    config = dict(task="classification", features=CHANNELS, classes=CLASSES, image_height=height,
                  image_width=width, head="linear", **config)
    save_file(ours(dict(model.named_parameters()), names), f"{folder}/{name}.safetensors",
              {"filtra.config": json.dumps(config)})
    gradients = ours({key: p.grad for key, p in model.named_parameters()}, names)
    golden = dict(features=features.float(), labels=labels.int(), logits=logits.detach().float(),
                  lengths=torch.full((BATCH,), height * width, dtype=torch.int32),
                  loss=loss.detach().float()[None])
    golden.update({f"gradient.{key}": x for key, x in gradients.items()})
    save_file(golden, f"{folder}/{name}.golden.safetensors")


def make_cait(folder, name, attention, mixer):
    size = (4, 6)
    model = Cait(img_size=size, patch_size=2, in_chans=CHANNELS, num_classes=CLASSES, embed_dim=12,
                 depth=2, num_heads=3, mlp_ratio=2, mlp_ratio_token_only=2, attn_block=attention)
    make(folder, name, model, cait_names(model), size,
         dict(mixer=mixer, patch=2, layers=2, class_layers=2, heads=3, width=12, ffn_width=24,
              layer_scale=1e-4, norm_epsilon=1e-6, pooling="class_token"))


def make_swin(folder, name, size, width, heads, stages, window, order=None):
    model = SwinTransformer(img_size=size, patch_size=2, in_chans=CHANNELS, num_classes=CLASSES,
                            embed_dim=width, depths=stages, num_heads=[heads << i for i in
                            range(len(stages))], window_size=window, mlp_ratio=2)
    for module in model.modules() if order else ():
        if hasattr(module, "attn_drop"):
            module.attn_drop = Filtered(module.num_heads, order)
    mixer = {"name": "gfsa", "K": order} if order else {"name": "softmax"}
    make(folder, name, model, swin_names(model), size,
         dict(mixer=mixer, patch=2, layers=sum(stages), stages=stages, window=window, heads=heads,
              width=width, ffn_width=2 * width, positions="relative", embedding_norm=True))


make_cait(sys.argv[1], "cait", TalkingHeadAttn, {"name": "softmax", "talking_heads": True})
make_cait(sys.argv[1], "cait_gfsa", FilteredTalkingHeads,
          {"name": "gfsa", "K": 4, "talking_heads": True})
# Windows that do not divide the image, and an odd number of rows to merge; then such as do.
make_swin(sys.argv[1], "swin", (12, 20), 4, 1, [2, 2, 1], 4)
make_swin(sys.argv[1], "swin_gfsa", (8, 16), 8, 2, [2, 2], 2, 3)
