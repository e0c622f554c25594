# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The names of PyTorch that are not part of its public interface, for PyTorch 2.10 and newer.

No other module of the package uses a private name of PyTorch's modules. What a version
lacks, or names otherwise, is made up for here. Names of the compiler and of
torch.distributed.tensor are looked up when they are used: importing them takes seconds.
"""

import contextlib
import functools
import importlib
import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol, cast
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
from torch.utils._python_dispatch import _disable_current_modes as disable_current_modes

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
    from torch._inductor.pattern_matcher import stable_topological_sort
    from torch.autograd.graph import _engine_run_backward as run_backward
    from torch.distributed._symmetric_memory import is_symm_mem_enabled_for_group
    from torch.distributed.distributed_c10d import GroupName
    from torch.distributed.fsdp._fully_shard._fully_shard import FSDPModule
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    from torch.distributed.tensor.placement_types import _StridedShard as StridedShard
    from torch.export._trace import _export as export_without_checks
    from torch.testing._internal.distributed.fake_pg import FakeStore

_log = logging.getLogger("commute")

# A custom pass of Inductor: a CustomGraphPass, or a function.
CustomPass = Callable[[Graph], Any]

_LAZY = {
    "AOTInput": "torch._functorch._aot_autograd.descriptors.AOTInput",
    "CustomGraphPass": "torch._inductor.custom_graph_pass.CustomGraphPass",
    "FSDPModule": "torch.distributed.fsdp._fully_shard._fully_shard.FSDPModule",
    "FakeStore": "torch.testing._internal.distributed.fake_pg.FakeStore",
    "PRE_GRAD_FUSIONS": "torch._inductor.fx_passes.group_batch_fusion.PRE_GRAD_FUSIONS",
    "stable_topological_sort": "torch._inductor.pattern_matcher.stable_topological_sort",
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
    "GroupWatcher",
    "HigherOrderOperator",
    "OpOverload",
    "OpOverloadPacket",
    "StridedShard",
    "TracingContext",
    "aot_descriptors",
    "aten_operator",
    "clear_sharding_cache",
    "compile_fx",
    "compiled_code",
    "compute_local_shape_and_global_offset",
    "coordinates_of_rank",
    "counters",
    "default_store",
    "disable_current_modes",
    "enable_python_dispatcher",
    "export_without_checks",
    "flattened_meshes",
    "get_sharded_parameters",
    "group_names_and_ranks",
    "group_names_of_mesh",
    "group_ranks_by_name",
    "group_registry",
    "group_size_by_name",
    "has_kernel",
    "has_option",
    "in_kernel_invocation_manager",
    "inductor_config",
    "is_from_local",
    "is_known_equal",
    "is_symm_mem_enabled_for_group",
    "is_traced_tensor",
    "list_mode_options",
    "nn_functions",
    "operator_schemas",
    "pass_functions",
    "pass_observer",
    "preserve_node_meta",
    "process_group_by_name",
    "pytree",
    "register_dynamo_backend",
    "resolve_packet",
    "root_of_mesh",
    "run_backward",
    "saving_without_canonical_form",
    "set_graph",
    "setup_stacktrace_preservation_hooks",
    "stable_topological_sort",
    "takes_lists_of_passes",
    "to_dtypes",
    "trace_again",
    "unset_fake_temporarily",
    "watch_groups",
    "without_compile_caches",
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


def resolve_packet(packet: OpOverloadPacket, args: Sequence[Any], kwargs: Any) -> OpOverload | None:
    """The overload that a call of a packet takes; None if no overload takes the arguments."""
    try:
        name = torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
    except (RuntimeError, TypeError):
        return None
    return getattr(packet, name or "default", None)


def aten_operator(name: str) -> OpOverload:
    """An overload, such as "rand.default"."""
    packet, _, overload = name.partition(".")
    return cast("OpOverload", getattr(getattr(torch.ops.aten, packet), overload))


def operator_schemas(name: str) -> list[torch.FunctionSchema]:
    """The schemas of all overloads of an operator. Raises RuntimeError if there is none."""
    return torch._C._jit_get_schemas_for_operator(name)


def to_dtypes(types: Sequence[Any]) -> list[torch.dtype | None]:
    """Element types that an operator gets as numbers."""
    return symmetric_memory._maybe_convert_scalar_types_to_dtypes(list(types))


def is_traced_tensor(value: torch.Tensor) -> bool:
    """Whether a tensor exists in a trace only, and has no values."""
    from torch._subclasses.functional_tensor import FunctionalTensor

    return isinstance(value, (FakeTensor, FunctionalTensor))


def is_known_equal(sizes: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether sizes, of which some are symbols, are equal whatever the symbols stand for."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return len(sizes) == len(others) and all(
        statically_known_true(one == other) for one, other in zip(sizes, others)
    )


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


def group_ranks_by_name(name: str) -> list[int] | None:
    """The ranks of a group of this process, in order; None if it has no such group."""
    try:
        return dist.get_process_group_ranks(process_group_by_name(name))
    except (RuntimeError, LookupError, ValueError):
        return None


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


def group_names_of_mesh(mesh: Any) -> list[str]:
    """The names of this rank's groups along the axes of a DeviceMesh; none if the mesh has no
    groups."""
    return [str(name) for name in getattr(mesh, "_dim_group_names", ())]


def root_of_mesh(mesh: Any) -> Any:
    """The DeviceMesh that a mesh is cut from, which may be the mesh itself."""
    return getattr(mesh, "_root_mesh", None) or mesh


def flattened_meshes(mesh: Any) -> list[Any]:
    """The meshes with several axes of a DeviceMesh in one."""
    return [*getattr(mesh, "_flatten_mapping", {}).values()]


@contextlib.contextmanager
def coordinates_of_rank(rank: int) -> Iterator[None]:
    """Gives every DeviceMesh, known to anybody or not, the coordinates of another rank."""
    mesh_class: Any = importlib.import_module("torch.distributed.device_mesh").DeviceMesh
    found: dict[int, tuple[Any, tuple[int, ...] | None]] = {}

    def coordinates(mesh: Any) -> tuple[int, ...] | None:
        if id(mesh) not in found:
            with unset_fake_temporarily():
                # A submesh is the part of its root that contains the rank, so it changes too.
                full = mesh._layout.remap_to_tensor(mesh._rank_map)
                places = (full == rank).nonzero()
                own = tuple(places[0].tolist()[1:]) if len(places) else None
            found[id(mesh)] = mesh, own
        return found[id(mesh)][1]

    def keep(mesh: Any, value: Any) -> None:
        mesh.__dict__["_coordinate_on_dim"] = value

    # A property goes before what a mesh holds.
    changed = property(coordinates, keep)
    with mock.patch.object(mesh_class, "_coordinate_on_dim", changed, create=True):
        yield


class GroupWatcher(Protocol):
    """What is told of groups and meshes when they are made."""

    def forget(self) -> None:
        """A new default group is made."""

    def note_group(self, name: str, ranks: Sequence[int], description: str) -> None:
        """This process may not be a member."""

    def note_axis(self, name: str, groups: list[list[int]]) -> None:
        """This process's group is one of several that are made at once."""

    def note_mesh(self, mesh: Any) -> None: ...


def watch_groups(watcher: GroupWatcher) -> None:
    """Tells a watcher of all groups and meshes that are made from now on.

    PyTorch makes each group in all processes, but keeps those of this rank.
    """
    c10d = dist.distributed_c10d

    def is_told(tell: Callable[..., None], original: Any) -> Any:
        """The function, after whose calls `tell` gets the result and the arguments by name."""
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            try:
                tell(result, **signature.bind(*args, **kwargs).arguments)
            except Exception:
                # Another version of PyTorch: these groups are not known then.
                _log.debug("a group is not noted", exc_info=True)
            return result

        return call

    def note_group(
        result: Any, group_size: int, global_ranks_in_group: Sequence[int], group_name: str,
        group_desc: str | None = None, **_: Any,
    ) -> None:  # fmt: skip
        if not global_ranks_in_group:
            watcher.forget()
        ranks = [*global_ranks_in_group] or [*range(group_size)]
        watcher.note_group(str(group_name), ranks, group_desc or "")

    def note_split(
        result: Any, parent_pg: Any = None, split_ranks: Any = None,
        group_desc: str | None = None, **_: Any,
    ) -> None:  # fmt: skip
        if not isinstance(result, dist.ProcessGroup):
            return
        parent = dist.get_process_group_ranks(parent_pg)
        groups = [[parent[rank] for rank in split] for split in split_ranks]
        name = str(result.group_name)
        watcher.note_group(name, dist.get_process_group_ranks(result), group_desc or "")
        watcher.note_axis(name, groups)

    device_mesh: Any = importlib.import_module("torch.distributed.device_mesh")
    mesh = device_mesh.DeviceMesh
    c10d._new_process_group_helper = is_told(note_group, c10d._new_process_group_helper)
    split_group = is_told(note_split, c10d.split_group)
    for module in (c10d, dist, device_mesh):
        if hasattr(module, "split_group"):
            setattr(module, "split_group", split_group)  # noqa: B010 (of another type)
    mesh.__init__ = is_told(lambda _, self, **__: watcher.note_mesh(self), mesh.__init__)
    mesh.from_group = staticmethod(
        is_told(lambda made, **_: watcher.note_mesh(made), mesh.from_group)
    )


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


def set_graph(module: torch.fx.GraphModule, graph: Graph) -> None:
    """Gives a GraphModule a graph for which no code is generated, which fails for targets
    without a name in Python."""
    module._graph = graph
    graph.owning_module = module


def preserve_node_meta() -> contextlib.AbstractContextManager[None]:
    """Makes nodes that are traced while others are interpreted have their source lines."""
    from torch.fx import traceback

    return traceback.preserve_node_meta()


def trace_again(
    function: Callable[..., Any], values: Sequence[Any], mode: FakeTensorMode | None
) -> torch.fx.GraphModule:
    """Traces a function of fake tensors to functional operators."""
    from torch.func import functionalize
    from torch.fx.experimental.proxy_tensor import make_fx

    with contextlib.ExitStack() as stack:
        if mode is not None:
            # Constants and parameters are real tensors.
            stack.enter_context(mock.patch.object(mode, "allow_non_fake_inputs", True))
            if mode.shape_env is not None:
                stack.enter_context(mode.shape_env.ignore_fresh_unbacked_symbols())
        traced = make_fx(functionalize(function, remove="mutations"), _allow_non_fake_inputs=True)(
            *values
        )
    return traced


# The functions that run passes without PyTorch's observer of passes, in the modules that call
# them, and the phases that run all others. A version lacks some of them.
_PASS_FUNCTIONS = {
    "torch._inductor.compile_fx": (
        "pre_grad_passes",
        "joint_graph_passes",
        "post_grad_passes",
        "view_to_reshape",
    ),
    "torch._inductor.fx_passes.joint_graph": (
        "canonicalize_aten_ir_passes",
        "replace_random_passes",
    ),
    "torch._inductor.fx_passes.post_grad": (
        "micro_pipeline_tp_pass",
        "stable_topological_sort",
    ),
}
_PARTITIONERS = {
    "torch._functorch.partitioners": (
        "default_partition",
        "min_cut_rematerialization_partition",
    ),
    "torch._inductor.compile_fx": ("min_cut_rematerialization_partition",),
}


@contextlib.contextmanager
def without_compile_caches() -> Iterator[None]:
    """Makes torch.compile run all passes, instead of taking code from a cache."""
    from torch._functorch import config as functorch_config
    from torch._inductor import config

    with contextlib.ExitStack() as stack:
        for module, name in (
            (config, "fx_graph_cache"),
            (functorch_config, "enable_autograd_cache"),
        ):
            if name in module._config:
                stack.enter_context(module.patch({name: False}))
        yield


def pass_observer() -> Any:
    """The class whose instances PyTorch enters and leaves around passes."""
    module = importlib.import_module("torch.fx.passes.graph_transform_observer")
    return module.GraphTransformObserver


def pass_functions() -> list[tuple[Any, str, str]]:
    """The functions that change graphs and that the observer does not see: the module that
    calls each by name, its name, and whether it is a "pass" or a "partition"."""
    found: list[tuple[Any, str, str]] = []
    for kind, table in (("pass", _PASS_FUNCTIONS), ("partition", _PARTITIONERS)):
        for path, names in table.items():
            try:
                module = importlib.import_module(path)
            except ImportError:
                continue
            found += [(module, name, kind) for name in names if hasattr(module, name)]
    return found


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
