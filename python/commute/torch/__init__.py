# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What Commute adds to PyTorch.

    import commute.torch
    commute.torch.register_cpu_fused_ops()
"""

from commute.torch.cpu_symmetric_memory import register_cpu_fused_ops

__all__ = ["register_cpu_fused_ops"]
