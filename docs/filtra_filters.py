"""Transformers with graph filters in attention's place, as `filtra export` writes them, for PyTorch
and Hugging Face's `transformers` (5.24 and later 5.x).

`filtra export` copies this file into the folder, so that, with FOLDER a path,

    AutoModelForSequenceClassification.from_pretrained(FOLDER, trust_remote_code=True)

gives a model with Filtra's logits. "filtra_mixer" in config.json says which filter stands in which
layers, with the options that Filtra's docs/config.md explains; parameters of filters are
"filters.LAYER.NAME". The formulas are those of

    gfsa         Choi et al. 2024, graph-filter self-attention
    plaplacian   Nguyen et al. 2023, p-Laplacian attention
    agf          Wi et al. 2025, attentive graph filter

Attention's dropout is each mixer's own, on A, as in Filtra. Not here: gfsa's `filter_dropout`,
agf's orthogonality loss, and decoding with cached keys, for which a filter needs more than keys and
values.
"""
import torch
import transformers
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

# ---- options of config.json ----


def numbers(text):
    """The numbers of "0, 4-7"."""
    found = []
    for part in str(text).split(","):
        first, _, last = part.strip().partition("-")
        found += range(int(first), int(last or first) + 1) if first else []
    return found


def mixer_of(config, layer):
    """The options of a layer's mixer: the one that names the layer, or the one for all others."""
    given = config.filtra_mixer
    given = given if isinstance(given, list) else [given]
    named = [m for m in given if "layers" in m and layer in numbers(m["layers"])]
    return (named or [m for m in given if "layers" not in m])[0]


def per_head(given, heads):
    """A number for each head, from one for all, two for the halves, or one for each."""
    given = given if isinstance(given, list) else [given]
    if len(given) == heads:
        return given
    half = (heads + 1) // 2
    return given[:1] * half + given[-1:] * (heads - half)


# ---- filters ----


class Filter(nn.Module):
    """What a layer's mixer has beside the projections of attention."""

    def __init__(self, options, heads, width):
        super().__init__()
        self.options = options
        self.heads = heads

    def follow(self, module, arguments, named):
        """Called with what the layer's attention is called with."""

    def attend(self, q, k, keep, scaling):
        """A [B,H,N,N]: softmax over the scores that `keep` has; zeros for a query without any."""
        scores = q @ k.transpose(-1, -2) * scaling
        if keep is not None:
            scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
        a = scores.softmax(-1)
        rate = self.options["attention_dropout"]
        return nn.functional.dropout(a if keep is None else a * keep, rate, self.training)


class Softmax(Filter):
    def forward(self, q, k, v, keep, scaling):
        return self.attend(q, k, keep, scaling) @ v


class Gfsa(Filter):
    """y = (w0 I + w1 A + wK (A + (K-1) (A^2 - A))) v."""

    def __init__(self, options, heads, width):
        super().__init__(options, heads, width)
        fixed = set(numbers(options.get("fixed_heads", "")))
        for name in ("w0", "w1", "wK"):
            if options[f"learn_{name}"] and len(fixed) < heads:
                self.register_parameter(name, nn.Parameter(torch.zeros(heads)))

    def coefficient(self, name, like):
        """[H,1,1]: what is learned, except where it is fixed."""
        fixed = like.new_tensor(per_head(self.options[name], self.heads))
        learned = getattr(self, name, None)
        if learned is not None:
            heads = numbers(self.options.get("fixed_heads", ""))
            is_fixed = torch.tensor([h in heads for h in range(self.heads)], device=like.device)
            fixed = torch.where(is_fixed, fixed, learned)
        return fixed[:, None, None]

    def forward(self, q, k, v, keep, scaling):
        a = self.attend(q, k, keep, scaling)
        w0, w1, wk = (self.coefficient(name, v) for name in ("w0", "w1", "wK"))
        u = a @ v
        return w0 * v + (w1 + wk) * u + (self.options["K"] - 1) * wk * (a @ u - u)


class Plaplacian(Filter):
    """y_x = sum_y A_xy P_xy v_y with P_xy = (|v_x - v_y|^2 + eps)^((p-2)/2)."""

    def forward(self, q, k, v, keep, scaling):
        o = self.options
        p = v.new_tensor(per_head(o["p"], self.heads))[:, None, None]
        distance = torch.cdist(v, v, compute_mode="donot_use_mm_for_euclid_dist")
        weight = (distance**2 + o["eps"]) ** ((p - 2) / 2)
        if o["diagonal"] != "eps":
            own = torch.eye(v.shape[2], dtype=torch.bool, device=v.device)
            weight = weight.masked_fill(own, 1.0 if o["diagonal"] == "one" else 0.0)
        weight = weight * self.attend(q, k, keep, scaling)
        y = weight @ v
        return y + v * (1 - weight.sum(-1, keepdim=True)) if o["euler"] else y


class Agf(Filter):
    """y = (U * g(sigmoid(Sigma))) (V^T value), g a polynomial; U and V are in the places of q and
    k, without their scaling and without dropout."""

    def __init__(self, options, heads, width):
        super().__init__(options, heads, width)
        if options["variant"] == "filter":
            self.sigma = nn.Linear(width, width)
            self.theta = nn.Parameter(torch.zeros(options["K"] + 1))
        if options["variant"] == "svd":
            self.singular_values = nn.Parameter(torch.ones(heads, width // heads))

    def follow(self, module, arguments, named):
        self.hidden = arguments[0] if arguments else named["hidden_states"]

    def polynomials(self, x):
        """P_0, .. P_K at x."""
        o = self.options
        a, b = {"legendre": (0.0, 0.0), "chebyshev": (-0.5, -0.5)}.get(o["basis"], (o["a"], o["b"]))
        s, p = a + b, [torch.ones_like(x), x]
        if o["basis"] not in ("monomial", "chebyshev_t"):
            p[1] = (a - b) / 2 + (s + 2) / 2 * x
        for k in range(2, o["K"] + 1):
            if o["basis"] == "monomial":
                p.append(x * p[-1])
            elif o["basis"] == "chebyshev_t":
                p.append(2 * x * p[-1] - p[-2])
            else:
                below = 2 * k * (k + s)
                p.append(((2 * k + s) * (2 * k + s - 1) / below * x +
                          (2 * k + s - 1) * (a * a - b * b) / (below * (2 * k + s - 2))) * p[-1] -
                         2 * (k + a - 1) * (k + b - 1) * (2 * k + s) /
                         (below * (2 * k + s - 2)) * p[-2])
        return p[:o["K"] + 1]

    def response(self, like):
        """g(sigmoid(Sigma)) [B,H,N,D], or what stands for it."""
        o = self.options
        if o["variant"] != "filter":
            return self.singular_values[:, None] if o["variant"] == "svd" else 1.0
        x = torch.sigmoid(self.sigma(self.hidden)).view(*self.hidden.shape[:2], self.heads, -1)
        x = 2 * x - 1 if o["symmetric_domain"] else x
        theta = self.theta if o["theta"] == "raw" else torch.tanh(self.theta)
        if o["theta"] == "fixed0":
            theta = torch.cat([torch.ones_like(theta[:1]), theta[1:]])
        return sum(t * p for t, p in zip(theta, self.polynomials(x.transpose(1, 2))))

    def forward(self, u, v, value, keep, scaling):
        rho = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}.get(self.options["rho"], lambda x: x)
        real = None if keep is None else keep.any(-2).unsqueeze(-1)  # [B,1,N,1]
        if self.options["rho"] == "softmax":
            u = u.softmax(-1)
            v = v if real is None else v.masked_fill(~real, torch.finfo(v.dtype).min)
            v = v.softmax(-2)
        else:
            u, v = rho(u), rho(v)
        v = v if real is None else v * real
        return (u * self.response(u)) @ (v.transpose(-1, -2) @ value)


FILTERS = {"softmax": Softmax, "gfsa": Gfsa, "plaplacian": Plaplacian, "agf": Agf}

# ---- in place of attention ----


def attention(module, query, key, value, attention_mask, scaling=None, **kwargs):
    """What transformers calls after its projections; [B,H,N,D] -> [B,N,H,D]."""
    if query.shape[2] != key.shape[2]:
        raise NotImplementedError("filters decode without a cache of keys: pass use_cache=False")
    keep = attention_mask
    if keep is not None and keep.dtype != torch.bool:
        keep = keep > -1  # added to scores: 0, or far below any
    if keep is None and getattr(module, "is_causal", False):
        keep = torch.ones(query.shape[2], query.shape[2], dtype=torch.bool, device=query.device)
        keep = keep.tril()[None, None]
    return module.filtra[0](query, key, value, keep, scaling).transpose(1, 2), None


AttentionInterface.register("filtra", attention)
AttentionMaskInterface.register("filtra", eager_mask)


class Filtered:
    """A model with the filters that its config names."""

    def __init__(self, config, *arguments, **named):
        config._attn_implementation = "filtra"
        super().__init__(config, *arguments, **named)
        projections = ("query", "q_proj", "q_lin", "c_attn")
        layers = [m for m in self.modules() if any(hasattr(m, name) for name in projections)]
        self.filters = nn.ModuleList()
        for layer, module in enumerate(layers):
            options = mixer_of(config, layer)
            kind = FILTERS[options["name"]]
            self.filters.append(kind(options, config.num_attention_heads, config.hidden_size))
            module.filtra = [self.filters[layer]]  # a list, so that it is no part of the module
            module.register_forward_pre_hook(self.filters[layer].follow, with_kwargs=True)
        if getattr(self, "generation_config", None) is not None:
            self.generation_config.use_cache = False


def define(name, base, **members):
    globals()[name] = type(name, base, dict(members, __module__=__name__))


FAMILIES = {"Bert": "ForSequenceClassification", "Roberta": "ForSequenceClassification",
            "DistilBert": "ForSequenceClassification", "GPT2": "LMHeadModel",
            "ViT": "ForImageClassification", "DeiT": "ForImageClassification"}
for family, head in FAMILIES.items():
    config_class = getattr(transformers, f"{family}Config")
    define(f"Filtra{family}Config", (config_class,), model_type=f"filtra_{config_class.model_type}")
    heads = [head, "ForImageClassificationWithTeacher"] if family == "DeiT" else [head]
    for ending in ["Model"] + heads:
        define(f"Filtra{family}{ending}", (Filtered, getattr(transformers, f"{family}{ending}")),
               config_class=globals()[f"Filtra{family}Config"])
try:  # newer versions have other names for tensors, which they know by classes of their own
    from transformers import conversion_mapping
    for name in [f"{family}Model" for family in FAMILIES]:
        mapping = conversion_mapping.get_checkpoint_conversion_mapping(name)
        if mapping:
            conversion_mapping.register_checkpoint_conversion_mapping(
                f"Filtra{name}", mapping, overwrite=True)
except (ImportError, AttributeError):
    pass
