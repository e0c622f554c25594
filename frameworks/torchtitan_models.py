# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models of torchtitan, parallelized by its own functions."""

import torch
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed import ParallelDims
from torchtitan.models.qwen3 import parallelize_qwen3, qwen3_configs

IDS = torch.arange(16).reshape(2, 8) * 5 % 64


def qwen3(rank, world):
    config = qwen3_configs["debugmodel"]("sdpa")
    model = config.build()
    dims = ParallelDims(dp_replicate=1, dp_shard=1, cp=1, tp=world, pp=1, ep=1, world_size=world)
    parallelize_qwen3(
        model, parallel_dims=dims, training=TrainingConfig(), parallelism=ParallelismConfig(),
        compile_config=CompileConfig(), ac_config=None, dump_folder="", skip_dp=True,
    )  # fmt: skip
    return model, (IDS,)
