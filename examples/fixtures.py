# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The archives under test/fixtures: what each is and how it is made."""

from dataclasses import dataclass, field

import torch

from tensor_parallel.config import Config


@dataclass
class Fixture:
    model: str
    size: int
    about: str
    config: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)

    def export(self, path):
        from tensor_parallel.archive import export_archive

        return export_archive(path, self.model, Config(**self.config), self.size, **self.options)


BF16 = dict(dtype=torch.bfloat16)
SEQUENCE_FIRST = dict(layout="sequence_first")
ATEN = dict(aten="default")
ATEN_WHOLE_ATTENTION = dict(aten="whole-attention")
DYNAMIC = dict(dynamic=True)

FIXTURES = {
    "llama_tp2": Fixture("llama", 2, "one block, float32, fused RMS norm"),
    "llama_tp2_aten": Fixture("llama", 2, "the same after run_decompositions", options=ATEN),
    "llama_tp2_dynamic": Fixture("llama", 2, "dynamic batch and sequence, bfloat16", BF16, DYNAMIC),
    "llama_tp2_no_weights": Fixture(
        "llama", 2, "exported without weights: 0-byte records", options=dict(weights=False)
    ),
    "llama_tp4": Fixture("llama", 4, "two blocks, bfloat16", dict(layers=2, **BF16)),
    "llama_model_tp2": Fixture(
        "llama_model", 2, "tokens to logits, vocabulary-parallel embedding and head, bfloat16", BF16
    ),
    "llama_sequence_parallel_tp2": Fixture(
        "llama_sequence_parallel",
        2,
        "[batch, sequence, hidden]: chunk and cat around collectives, bfloat16",
        BF16,
    ),
    "llama_sequence_parallel_tp2_aten": Fixture(
        "llama_sequence_parallel",
        2,
        "bfloat16, RMS norm spelled out, after run_decompositions, attention kept whole",
        dict(fused_norm=False, **BF16),
        ATEN_WHOLE_ATTENTION,
    ),
    "llama_sequence_first_tp2": Fixture(
        "llama_sequence_parallel",
        2,
        "[sequence, batch, hidden]: collectives on dim 0, bfloat16",
        dict(**SEQUENCE_FIRST, **BF16),
    ),
    "llama_sequence_first_tp4_dynamic": Fixture(
        "llama_sequence_parallel",
        4,
        "[sequence, batch, hidden], dynamic: sizes such as 4*s",
        SEQUENCE_FIRST,
        DYNAMIC,
    ),
    "llama_transposed_gather_tp2": Fixture(
        "llama_transposed_gather",
        2,
        "one transposed value in two all-gathers, dense values in others",
    ),
    "llama_transposed_gather_tp4": Fixture("llama_transposed_gather", 4, "the same on 4 ranks"),
    "llama_transposed_gather_tp2_batch1": Fixture(
        "llama_transposed_gather",
        2,
        "batch 1, bfloat16: transposed but dense all the same",
        dict(batch=1, **BF16),
    ),
    "qwen_tp4": Fixture(
        "qwen", 4, "bfloat16, query-key-value bias, norm per head", dict(fused_norm=False, **BF16)
    ),
    "gpt2_tp2": Fixture("gpt2", 2, "addmm, split, gelu tanh, arange, bfloat16", BF16),
    "gpt2_tp2_aten": Fixture(
        "gpt2",
        2,
        "the same after run_decompositions, attention kept whole",
        BF16,
        ATEN_WHOLE_ATTENTION,
    ),
    "bert_tp2": Fixture("bert", 2, "mask, softmax, contiguous, gelu, bfloat16", BF16),
    "bert_tp4_aten": Fixture(
        "bert", 4, "float32, on 4 ranks, after run_decompositions", options=ATEN
    ),
    "every_collective_tp4": Fixture(
        "every_collective", 4, "each functional collective, on the world and on pairs of ranks"
    ),
    "in_place_collectives_tp2": Fixture(
        "in_place_collectives", 2, "all_reduce_ and broadcast_, also of a transposed value"
    ),
    "in_place_with_holes_tp2": Fixture(
        "in_place_with_holes", 2, "all_reduce_ of every other column: wrong in eager PyTorch"
    ),
}
