# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The rules colwise and rowwise for `Conv1D`, the linear layer of GPT-2.

Its weight is [inputs, outputs], the transpose of that of `nn.Linear`, which the rules of
`transformers` require. This module imports `transformers`.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from transformers.distributed.tensor_parallel import ColwiseParallel, RowwiseParallel
from transformers.pytorch_utils import Conv1D


def _distribute(module: Any, name: str, mesh: DeviceMesh, placement: Any) -> None:
    parameter = module._parameters[name]
    value = distribute_tensor(parameter, mesh, [placement], src_data_rank=None)
    module._parameters[name] = nn.Parameter(value, requires_grad=parameter.requires_grad)


class _Colwise(ColwiseParallel):
    def install_forward(self, module: Any, mesh: DeviceMesh) -> Any:
        module.out_features = module.nf
        return super().install_forward(module, mesh)

    def shard_param(self, module: Any, param: str, mesh: DeviceMesh) -> None:
        _distribute(module, param, mesh, Shard(-1))


class _Rowwise(RowwiseParallel):
    def install_forward(self, module: Any, mesh: DeviceMesh) -> Any:
        module.in_features = module.nx
        return super().install_forward(module, mesh)

    def shard_param(self, module: Any, param: str, mesh: DeviceMesh) -> None:
        _distribute(module, param, mesh, Replicate() if param == "bias" else Shard(0))


_RULES = {"colwise": _Colwise(), "rowwise": _Rowwise()}


def apply_rules(model: nn.Module, mesh: DeviceMesh, plan: Mapping[str, str]) -> dict[str, str]:
    """Applies the rules that a plan has for modules of this kind and their parameters, and
    returns the rest of the plan."""
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, Conv1D)}
    rest = {}
    for name, rule in plan.items():
        owner, _, parameter = name.rpartition(".")
        style = _RULES.get(rule)
        if style is not None and name in layers:
            style.install_forward(layers[name], mesh)
        elif style is not None and owner in layers:
            style.shard_param(layers[owner], parameter, mesh)
        else:
            rest[name] = rule
    return rest
