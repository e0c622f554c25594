# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Random small models of `transformers`, for the tests and for benchmarks/models.

For example:

    small = MODELS["llama"]
    model, arguments = small.make(seed=0), small.prefill()
    capture(model, arguments, mesh={"tp": 2}, plan=small.plan, folder=...)
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
import transformers
from torch.distributed.tensor import Replicate, Shard

WIDTH, HEADS, KEY_HEADS, HEAD_SIZE, VOCABULARY = 64, 8, 4, 8, 64
TOKENS = 8

_COMMON = dict(
    vocab_size=VOCABULARY,
    hidden_size=WIDTH,
    intermediate_size=64,
    num_attention_heads=HEADS,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
_GROUPED = dict(_COMMON, num_key_value_heads=KEY_HEADS)
_SLIDING = dict(_GROUPED, head_dim=HEAD_SIZE, sliding_window=4)


@dataclasses.dataclass(frozen=True)
class SmallModel:
    config: Callable[..., Any]
    sizes: Mapping[str, Any]
    plan: Mapping[str, str] | None = None
    head: str | None = None
    has_cache: bool = True
    has_experts: bool = False
    layers: str = "num_hidden_layers"

    def configuration(self, layers: int = 2) -> Any:
        sizes = {**self.sizes, self.layers: layers}
        if "layer_types" in sizes:
            sizes["layer_types"] = sizes["layer_types"][-layers:]
        return self.config(**sizes)

    def make(self, seed: int = 0, layers: int = 2, dtype: torch.dtype | None = None) -> Any:
        """The model on one device, with random weights of moderate size."""
        config = self.configuration(layers)
        kind: Any = getattr(transformers, self.head or "AutoModelForCausalLM")
        model = (getattr(kind, "_from_config", None) or kind.from_config)(config).eval()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                drawn = torch.randn(parameter.shape, generator=generator) * 0.3
                parameter.copy_(drawn + (1 if parameter.dim() == 1 else 0))
        return model.to(dtype) if dtype else model

    def prefill(self, batch: int = 2, tokens: int = TOKENS, seed: int = 0) -> dict[str, Any]:
        generator = torch.Generator().manual_seed(seed)
        ids = torch.randint(3, VOCABULARY, (batch, tokens), generator=generator)
        return {"input_ids": ids, **({"use_cache": False} if self.has_cache else {})}

    def decode(self, model: Any, size: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
        """One more token with a cache: the arguments of one device, those of a rank, and the
        placement of the cache. Key heads are sharded on the axis tp if the plan shards them."""
        prompt = self.prefill()
        with torch.no_grad():
            cache = model(input_ids=prompt["input_ids"], use_cache=True).past_key_values
        whole = {"input_ids": prompt["input_ids"][:, :1], "past_key_values": cache}
        local = transformers.DynamicCache(config=model.config)
        sharded = self.shards_heads(model)
        for index, layer in enumerate(cache.layers):
            own = (t.chunk(size if sharded else 1, 1)[0] for t in (layer.keys, layer.values))
            local.update(*(t.clone() for t in own), index)
            if layer.is_sliding:
                local.layers[index].cumulative_length = layer.cumulative_length
        placement = Shard(1) if sharded else Replicate()
        return whole, {**whole, "past_key_values": local}, {"past_key_values": {"tp": placement}}

    def shards_heads(self, model: Any) -> bool:
        plan = self.plan or model.tp_plan
        # The output of Phi-3's packed projection is gathered.
        return any("attn.k_proj" in name for name in plan)


def _pattern(prefix: str, columns: tuple[str, ...], rows: tuple[str, ...]) -> dict[str, str]:
    plan = dict.fromkeys((f"{prefix}.{name}" for name in columns), "colwise")
    return plan | dict.fromkeys((f"{prefix}.{name}" for name in rows), "rowwise")


_EXPERTS = dict(num_experts_per_tok=2)

MODELS = {
    "llama": SmallModel(transformers.LlamaConfig, _GROUPED),
    "qwen2": SmallModel(transformers.Qwen2Config, _GROUPED),
    "qwen3": SmallModel(transformers.Qwen3Config, dict(_GROUPED, head_dim=HEAD_SIZE)),
    "mistral": SmallModel(transformers.MistralConfig, dict(_GROUPED, sliding_window=4)),
    "gemma2": SmallModel(
        transformers.Gemma2Config, dict(_SLIDING, query_pre_attn_scalar=HEAD_SIZE)
    ),
    "gemma3": SmallModel(
        transformers.Gemma3TextConfig,
        dict(
            _SLIDING,
            query_pre_attn_scalar=HEAD_SIZE,
            layer_types=["full_attention", "sliding_attention"],
        ),
    ),
    "phi": SmallModel(transformers.PhiConfig, _GROUPED),
    "phi3": SmallModel(transformers.Phi3Config, _GROUPED),
    "gpt2": SmallModel(
        transformers.GPT2Config,
        dict(
            vocab_size=VOCABULARY,
            n_embd=WIDTH,
            n_head=HEADS,
            n_positions=64,
            bos_token_id=1,
            eos_token_id=2,
        ),
        plan=_pattern("transformer.h.*.mlp", ("c_fc",), ("c_proj",)),
        layers="n_layer",
    ),
    # The attention of OPT counts on all heads, so that only the MLP is sharded.
    "opt": SmallModel(
        transformers.OPTConfig,
        dict(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            ffn_dim=64,
            num_attention_heads=HEADS,
            max_position_embeddings=64,
            word_embed_proj_dim=WIDTH,
        ),
        plan=_pattern("model.decoder.layers.*", ("fc1",), ("fc2",)),
    ),
    "bert": SmallModel(
        transformers.BertConfig,
        _COMMON,
        plan=_pattern(
            "bert.encoder.layer.*",
            ("attention.self.query", "attention.self.key", "attention.self.value",
             "intermediate.dense"),
            ("attention.output.dense", "output.dense"),
        ),
        head="BertForMaskedLM",
        has_cache=False,
    ),
    "mixtral": SmallModel(
        transformers.MixtralConfig, dict(_GROUPED, **_EXPERTS, num_local_experts=4),
        has_experts=True,
    ),
    "qwen3_moe": SmallModel(
        transformers.Qwen3MoeConfig,
        dict(_GROUPED, **_EXPERTS, head_dim=HEAD_SIZE, moe_intermediate_size=16, num_experts=4),
        has_experts=True,
    ),
    "deepseek_v3": SmallModel(
        transformers.DeepseekV3Config,
        dict(
            _COMMON,
            **_EXPERTS,
            num_key_value_heads=HEADS,
            moe_intermediate_size=16,
            n_routed_experts=8,
            n_shared_experts=1,
            n_group=2,
            topk_group=1,
            first_k_dense_replace=1,
            q_lora_rank=16,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=8,
        ),
        has_experts=True,
    ),
    "gpt_oss": SmallModel(
        transformers.GptOssConfig, dict(_SLIDING, **_EXPERTS, num_local_experts=4),
        has_experts=True,
    ),
}  # fmt: skip
