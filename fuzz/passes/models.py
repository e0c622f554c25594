# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models whose graphs give Inductor's passes something to do."""

import random

import torch
from torch import nn
from torch.nn import functional

WIDTH = 8


class RandomModule(nn.Module):
    """Some steps that are drawn, on a tensor of [2, 6, 8]."""

    def __init__(self, rng):
        super().__init__()
        self.steps = [rng.choice(STEPS) for _ in range(rng.randint(3, 8))]
        self.linears = nn.ModuleList(
            nn.Linear(WIDTH, rng.choice([WIDTH, 3 * WIDTH])) for _ in range(2 * len(self.steps))
        )
        self.norm, self.table = nn.LayerNorm(WIDTH), nn.Embedding(16, WIDTH)
        self.register_buffer("scale", torch.rand(WIDTH))
        self.register_buffer("count", torch.zeros(WIDTH))

    def forward(self, x):
        for index, step in enumerate(self.steps):
            x = step(self, x, index)
        return x, x.sum(-1)


def _linear(module, x, index):
    return module.linears[index](x)[..., :WIDTH]


def _parallel(module, x, index):
    return sum(module.linears[one](x)[..., :WIDTH] for one in (index, index + 1))


def _attention(module, x, index):
    query, key, value = (x * scale for scale in (1.0, 0.5, 2.0))
    heads = [t.view(2, -1, 2, WIDTH // 2).transpose(1, 2) for t in (query, key, value)]
    scores = heads[0] @ heads[1].transpose(-1, -2) / (WIDTH // 2 + index) ** 0.5
    return (scores.softmax(-1) @ heads[2]).transpose(1, 2).reshape(x.shape)


def _product_attention(module, x, index):
    heads = x.view(2, -1, 2, WIDTH // 2).transpose(1, 2)
    result = functional.scaled_dot_product_attention(heads, heads, heads, is_causal=index % 2 == 0)
    return result.transpose(1, 2).reshape(x.shape)


def _pieces(module, x, index):
    parts = x.split(2, -1)
    return torch.cat([parts[1], parts[0], *parts[2:]], -1)


def _stacked(module, x, index):
    return torch.stack([part.tanh() for part in x.unbind(1)], 1)


def _reordered(module, x, index):
    return x.permute(0, 2, 1).contiguous().permute(0, 2, 1).reshape(-1, WIDTH).view(x.shape)


def _noops(module, x, index):
    return (x + torch.zeros_like(x)) * 1 + x.expand(x.shape).clone() / torch.ones(())


def _constants(module, x, index):
    return x * torch.full((WIDTH,), 2.0, dtype=x.dtype) + torch.arange(WIDTH) * 0.5


def _norm(module, x, index):
    return module.norm(x)


def _activation(module, x, index):
    function = [functional.gelu, functional.silu, torch.relu, torch.sigmoid, functional.softplus]
    return function[index % 5](x)


def _rows(module, x, index):
    ids = torch.arange(x.shape[1]) % 3 + index
    return x + module.table(ids)


def _masked(module, x, index):
    return torch.where(x > 0, x, x.abs() * 0.5).clamp(max=3)


def _casts(module, x, index):
    return x.to(torch.float32).to(x.dtype) + x.to(x.dtype)


def _writes(module, x, index):
    y = x.clone()
    y[:, 0] = x[:, 1] * 2
    y.mul_(0.5)
    return y + module.scale


def _state(module, x, index):
    module.count.add_(1)
    return x * module.count


def _statistics(module, x, index):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()


def _scattered(module, x, index):
    positions = torch.tensor([0, 2, 4])
    return x.index_add(1, positions, x[:, 1:4]) + x.index_select(1, torch.arange(x.shape[1]))


STEPS = [
    _linear, _parallel, _attention, _product_attention, _pieces, _stacked, _reordered, _noops,
    _constants, _norm, _activation, _rows, _masked, _casts, _writes, _state, _statistics,
    _scattered,
]  # fmt: skip


def random_module(seed):
    def make():
        module = RandomModule(random.Random(seed)).double()
        return module, (torch.randn(2, 6, WIDTH, dtype=torch.float64),)

    return make


def _transformers(config, head, **sizes):
    def make():
        import transformers

        model = getattr(transformers, head)(getattr(transformers, config)(**sizes)).double()
        model.config.use_cache = False
        ids = torch.randint(0, 32, (2, 6))

        class Wrapped(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, ids):
                return self.model(ids).last_hidden_state

        return Wrapped(), (ids,)

    return make


def small_models():
    common = dict(vocab_size=32, hidden_size=16, num_attention_heads=2, num_hidden_layers=1)
    plain = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return [
        ("bert", _transformers("BertConfig", "BertModel", intermediate_size=32, **common, **plain),
         {}),
        ("llama", _transformers("LlamaConfig", "LlamaModel", intermediate_size=32, **common), {}),
        ("qwen2", _transformers("Qwen2Config", "Qwen2Model", intermediate_size=32,
                                num_key_value_heads=1, **common), {}),
        ("gpt2", _transformers("GPT2Config", "GPT2Model", vocab_size=32, n_embd=16, n_head=2,
                               n_layer=1, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), {}),
        ("mistral", _transformers("MistralConfig", "MistralModel", intermediate_size=32,
                                  num_key_value_heads=1, **common), {}),
        ("gemma", _transformers("GemmaConfig", "GemmaModel", intermediate_size=32, head_dim=8,
                                num_key_value_heads=1, **common), {}),
    ]  # fmt: skip


def options(index):
    """Options of Inductor that turn passes on."""
    fusions = {
        "batch_linear": {}, "batch_tanh": {}, "batch_sigmoid": {}, "batch_relu": {},
        "batch_layernorm": {}, "normalization_pass": {}, "split_cat_pass": {},
        "remove_split_with_size_one_pass": {}, "merge_splits_pass": {},
        "merge_getitem_cat_pass": {}, "merge_stack_tahn_unbind_pass": {},
        "mutate_cat_pass": {}, "unbind_stack_pass": {},
    }  # fmt: skip
    after = {
        "batch_linear_post_grad": {}, "batch_aten_mul": {}, "batch_aten_add": {},
        "batch_aten_tanh": {}, "batch_aten_sigmoid": {}, "batch_aten_relu": {},
        "decompose_mm_pass": {},
    }  # fmt: skip
    if index % 3 == 1:
        return {"pre_grad_fusion_options": fusions, "post_grad_fusion_options": after}
    if index % 3 == 2:
        return {"joint_graph_constant_folding": True, "reorder_for_locality": True}
    return {}
