# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The names of PyTorch that are not part of its public interface, for PyTorch 2.10 and newer.

No other module of the package uses a private name of PyTorch's modules. What a version
lacks, or names otherwise, is made up for here. Names of the compiler and of
torch.distributed.tensor are looked up when they are used: importing them takes seconds.
"""

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory  # registers the ops
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import TracingContext
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch._subclasses import FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import in_kernel_invocation_manager, unset_fake_temporarily
from torch.fx import Graph
from torch.utils import _pytree as pytree

if TYPE_CHECKING:
    from torch._dynamo.utils import counters
    from torch._functorch._aot_autograd import descriptors as aot_descriptors
    from torch._functorch._aot_autograd.descriptors import AOTInput
    from torch._functorch._aot_autograd.logging_utils import setup_stacktrace_preservation_hooks
    from torch._inductor import config as inductor_config
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.custom_graph_pass import CustomGraphPass
    from torch._inductor.fx_passes.group_batch_fusion import PRE_GRAD_FUSIONS
    from torch.autograd.graph import _engine_run_backward as run_backward
    from torch.distributed._symmetric_memory import is_symm_mem_enabled_for_group
    from torch.distributed.distributed_c10d import GroupName
    from torch.distributed.fsdp._fully_shard._fully_shard import FSDPModule
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    from torch.distributed.tensor.placement_types import _StridedShard as StridedShard
    from torch.export._trace import _export as export_without_checks
    from torch.testing._internal.distributed.fake_pg import FakeStore

# A custom pass of Inductor: a CustomGraphPass, or a function.
CustomPass = Callable[[Graph], Any]

_LAZY = {
    "AOTInput": "torch._functorch._aot_autograd.descriptors.AOTInput",
    "CustomGraphPass": "torch._inductor.custom_graph_pass.CustomGraphPass",
    "FSDPModule": "torch.distributed.fsdp._fully_shard._fully_shard.FSDPModule",
    "FakeStore": "torch.testing._internal.distributed.fake_pg.FakeStore",
    "PRE_GRAD_FUSIONS": "torch._inductor.fx_passes.group_batch_fusion.PRE_GRAD_FUSIONS",
    "StridedShard": "torch.distributed.tensor.placement_types._StridedShard",
    "aot_descriptors": "torch._functorch._aot_autograd.descriptors",
    "compile_fx": "torch._inductor.compile_fx.compile_fx",
    "compute_local_shape_and_global_offset": (
        "torch.distributed.tensor._utils.compute_local_shape_and_global_offset"
    ),
    "counters": "torch._dynamo.utils.counters",
    "export_without_checks": "torch.export._trace._export",
    "inductor_config": "torch._inductor.config",
    "is_symm_mem_enabled_for_group": (
        "torch.distributed._symmetric_memory.is_symm_mem_enabled_for_group"
    ),
    "list_mode_options": "torch._inductor.list_mode_options",
    "run_backward": "torch.autograd.graph._engine_run_backward",
    "setup_stacktrace_preservation_hooks": (
        "torch._functorch._aot_autograd.logging_utils.setup_stacktrace_preservation_hooks"
    ),
}

__all__ = [
    "PRE_GRAD_FUSIONS",
    "AOTInput",
    "CustomGraphPass",
    "CustomPass",
    "FSDPModule",
    "FakeStore",
    "FakeTensor",
    "FakeTensorMode",
    "HigherOrderOperator",
    "OpOverload",
    "OpOverloadPacket",
    "StridedShard",
    "TracingContext",
    "aot_descriptors",
    "clear_sharding_cache",
    "compile_fx",
    "compiled_code",
    "compute_local_shape_and_global_offset",
    "counters",
    "default_store",
    "enable_python_dispatcher",
    "export_without_checks",
    "get_sharded_parameters",
    "group_names_and_ranks",
    "group_registry",
    "group_size_by_name",
    "has_kernel",
    "has_option",
    "in_kernel_invocation_manager",
    "inductor_config",
    "is_from_local",
    "is_symm_mem_enabled_for_group",
    "list_mode_options",
    "nn_functions",
    "operator_schemas",
    "process_group_by_name",
    "pytree",
    "register_dynamo_backend",
    "run_backward",
    "saving_without_canonical_form",
    "setup_stacktrace_preservation_hooks",
    "takes_lists_of_passes",
    "to_dtypes",
    "unset_fake_temporarily",
    "without_torch_functions",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    path, _, attribute = _LAZY[name].rpartition(".")
    holder = importlib.import_module(path)
    value = getattr(holder, attribute, None)
    if value is None:
        # A module that its package does not import.
        value = importlib.import_module(_LAZY[name])
    globals()[name] = value
    return value


#
# Operators
#

# The functions behind torch.nn.functional that graphs call.
nn_functions = torch._C._nn


def has_kernel(operator: str, key: str) -> bool:
    """Whether an operator has a kernel of its own for a dispatch key."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(operator, key)


def operator_schemas(name: str) -> list[torch.FunctionSchema]:
    """The schemas of all overloads of an operator. Raises RuntimeError if there is none."""
    return torch._C._jit_get_schemas_for_operator(name)


def to_dtypes(types: Sequence[Any]) -> list[torch.dtype | None]:
    """Element types that an operator gets as numbers."""
    return symmetric_memory._maybe_convert_scalar_types_to_dtypes(list(types))


# What torch.autograd.grad calls.
run_backward = torch.autograd.graph._engine_run_backward

# Within it, subclasses of torch.Tensor do not see what is called with them.
without_torch_functions = torch._C.DisableTorchFunctionSubclass


#
# Process groups
#


def process_group_by_name(name: str) -> dist.ProcessGroup:
    """Raises RuntimeError, LookupError or ValueError if the process has no such group."""
    return dist.distributed_c10d._resolve_process_group(cast("GroupName", name))


def group_size_by_name(name: str) -> int:
    return dist.distributed_c10d._get_group_size_by_name(cast("GroupName", name))


def group_registry() -> Any:
    """What PyTorch keeps of its groups: `pg_names` and `pg_group_ranks`, by group."""
    return dist.distributed_c10d._world


def group_names_and_ranks() -> list[tuple[str, list[int]]]:
    """All groups of this process, with their ranks."""
    world = group_registry()
    return [
        (str(name), sorted(world.pg_group_ranks.get(group, {})))
        for group, name in world.pg_names.items()
    ]


def get_sharded_parameters(module: "FSDPModule") -> Iterator[tuple[Any, Any, Any]]:
    """The parameters that fully_shard shards: each with the mesh it is sharded over and,
    if it is a DTensor when it is whole, the spec of that DTensor."""
    state: Any = module._get_fsdp_state()
    # Before PyTorch 2.12, a module had one group at most, and the spec another name.
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None:
        group = state._fsdp_param_group
        groups = [group] if group else []
    for group in groups:
        for parameter in group.fsdp_params:
            spec = getattr(parameter, "_unsharded_dtensor_spec", None) or getattr(
                parameter, "_tp_spec", None
            )
            yield parameter.sharded_param, group.mesh_info.mesh, spec


def clear_sharding_cache() -> None:
    """Makes DTensor forget local sizes, where it keeps them between calls."""
    clear = getattr(torch._C, "_clear_DTensor_sharding_propagator_cache", None)
    if clear is not None:
        clear()


@contextlib.contextmanager
def saving_without_canonical_form() -> Iterator[None]:
    """Makes torch.export.save leave out its test that a program has a canonical form, which
    copies the serialized program and drops the result: a fifth of the time of a capture."""
    from torch._export.serde import serialize

    if not hasattr(serialize, "canonicalize"):
        yield
        return
    with mock.patch.object(serialize, "canonicalize", lambda program, constants=None: program):
        yield


def default_store() -> dist.Store:
    return dist.distributed_c10d._get_default_store()


#
# The compiler
#


def compiled_code(context: TracingContext) -> CodeType | None:
    """The code that is compiled in a context, of which Dynamo traces other code as well."""
    traced = getattr(context, "traced_code", None)
    return traced[0] if traced else None


def replace_hooks(graph: torch.fx.Graph) -> Sequence[Callable[..., object]]:
    """What watchers of a graph, such as Inductor's observer of passes, want to be told when a
    reader of one node comes to read another: by `old`, the name of the `new` one, and `user`."""
    return getattr(graph.owning_module, "_replace_hooks", None) or ()


def takes_lists_of_passes() -> bool:
    """Whether options of Inductor for custom passes hold lists of them, or one pass."""
    module = importlib.import_module("torch._inductor.custom_graph_pass")
    return hasattr(module, "get_custom_graph_passes")


def has_option(name: str) -> bool:
    """Whether this version of Inductor has an option, such as "compute.estimator"."""
    from torch._inductor import config

    return name in config._config  # type: ignore[attr-defined]


def is_from_local(target: Any) -> bool:
    """Whether a call in Dynamo's graph is of DTensor.from_local, for which older versions
    write a function of their own."""
    from torch.distributed.tensor import DTensor

    return target is DTensor.from_local or getattr(target, "__name__", "") == "prim from_local"


def register_dynamo_backend(backend: Callable[..., Any], name: str) -> None:
    import torch._dynamo

    torch._dynamo.register_backend(backend, name=name)
