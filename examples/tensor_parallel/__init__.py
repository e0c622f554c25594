# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Tensor-parallel transformer blocks on local tensors, for torch.export."""
