# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Runs an fx.Graph of operators on all ranks of a job at once, in one process.

    groups = {"0": [[0, 1], [2, 3]]}
    outputs = run_in_lockstep(module, inputs_of_rank, groups)
    outputs[rank][index]

Every node is run on every rank before the next one, by PyTorch's own kernels on real
tensors; what a collective gives follows from what all members of its group bring. All
ranks run the one graph, as torch.compile's do, or each a graph of its own with the same
nodes and other constants.
"""

import torch
import torch.distributed._functional_collectives  # registers the ops
import torch.distributed._symmetric_memory
from torch.fx import map_arg

from commute.torch.cpu_symmetric_memory import _laid_out

_c10d = torch.ops._c10d_functional
_symm_mem = torch.ops.symm_mem


class LockstepError(RuntimeError):
    """A node cannot be run; the message names it."""


def _reduce(kind, parts):
    stacked = torch.stack([part.contiguous() for part in parts])
    if kind == "sum":
        return stacked.sum(0, dtype=stacked.dtype)
    if kind == "avg":
        return stacked.sum(0, dtype=stacked.dtype) / len(parts)
    if kind == "max":
        return stacked.amax(0)
    if kind == "min":
        return stacked.amin(0)
    raise LockstepError(f"no reduction {kind!r}")


def _blocks(tensor, count, dim=0):
    if tensor.shape[dim] % count:
        raise LockstepError(f"dim {dim} of {tuple(tensor.shape)} is not divided by {count} ranks")
    return tensor.chunk(count, dim)


# Each takes the arguments of all members of a group, by name, in the order of the
# group, and gives their results.


def _all_reduce(calls):
    total = _reduce(calls[0]["reduce_op"], [call["input"] for call in calls])
    return [total.clone() for _ in calls]


def _all_gather(calls):
    _check_size(calls)
    gathered = torch.cat([call["input"].contiguous() for call in calls])
    return [gathered.clone() for _ in calls]


def _reduce_scatter(calls):
    _check_size(calls)
    total = _reduce(calls[0]["reduce_op"], [call["input"] for call in calls])
    return [block.clone() for block in _blocks(total, len(calls))]


def _all_to_all(calls):
    parts = [call["input"].split(call["input_split_sizes"]) for call in calls]
    received = []
    for position, call in enumerate(calls):
        mine = [part[position] for part in parts]
        if [len(part) for part in mine] != list(call["output_split_sizes"]):
            raise LockstepError("the ranks' split sizes contradict each other")
        received.append(torch.cat(mine))
    return received


def _broadcast(calls):
    # The source is a rank of its group in functional graphs.
    return [calls[calls[0]["src"]]["input"].clone() for _ in calls]


def _coalesced(single):
    """The same for lists of tensors."""

    def run(calls):
        results = [
            single([{**call, "input": call["inputs"][place]} for call in calls])
            for place in range(len(calls[0]["inputs"]))
        ]
        return [list(of_rank) for of_rank in zip(*results)]

    return run


def _check_size(calls):
    if calls[0]["group_size"] != len(calls):
        raise LockstepError(
            f"group_size is {calls[0]['group_size']}, and the group has {len(calls)} ranks"
        )


def _gather_along(shards, dim):
    """As PyTorch's op lays it out: dense once `dim` is moved to the front, but for the last."""
    if dim == shards[0].dim() - 1:
        return torch.cat(shards, dim)
    return torch.cat([shard.movedim(dim, 0) for shard in shards]).movedim(0, dim)


def _fused_all_gather_matmul(calls):
    dim = calls[0]["gather_dim"] % calls[0]["A"].dim()
    gathered = _gather_along([call["A"] for call in calls], dim)
    results = []
    for call in calls:
        if any(right.dim() != 2 for right in call["Bs"]):
            raise LockstepError("B is no matrix")
        products = [_laid_out(gathered @ right, dim) for right in call["Bs"]]
        results.append((gathered.clone() if call.get("return_A", True) else None, products))
    return results


def _check_fused_reduction(calls):
    if calls[0]["reduce_op"] not in ("sum", "avg"):
        raise LockstepError(f"PyTorch's fused ops have no {calls[0]['reduce_op']!r}")


def _fused_matmul_reduce_scatter(calls):
    _check_fused_reduction(calls)
    dim = calls[0]["scatter_dim"] % calls[0]["A"].dim()
    total = _reduce(calls[0]["reduce_op"], [call["A"] @ call["B"] for call in calls])
    return [block.clone() for block in _blocks(total, len(calls), dim)]


def _scaled(left, right, left_scale, right_scale, dtype):
    """A scaled product; `right` and the scales are matrices, or the scales single numbers."""
    product = (left.float() * left_scale) @ (right.float() * right_scale)
    return product.to(dtype or left.dtype)


def _fused_all_gather_scaled_matmul(calls):
    dim = calls[0]["gather_dim"]
    gathered = _gather_along([call["A"] for call in calls], dim)
    scales = [call["A_scale"] for call in calls]
    is_sharded = scales[0].shape[:-1] == calls[0]["A"].shape[:-1]
    whole_scale = _gather_along(scales, dim) if is_sharded else None
    results = []
    for call in calls:
        scale = call["A_scale"] if whole_scale is None else whole_scale
        if any(call["biases"]) or any(call["result_scales"]):
            raise LockstepError("biases and scales of results are not run")
        dtypes = call["out_dtypes"]
        products = [
            _laid_out(_scaled(gathered, right, scale, right_scale, dtype), dim)
            for right, right_scale, dtype in zip(call["Bs"], call["B_scales"], dtypes, strict=True)
        ]
        results.append((gathered.clone(), products))
    return results


def _fused_scaled_matmul_reduce_scatter(calls):
    """As PyTorch's kernel: A is cut along one dim, and what comes out is viewed as a block of
    the output along another."""
    dim, cut = calls[0]["orig_scatter_dim"], calls[0]["scatter_dim_after_maybe_reshape"]
    shape = list(calls[0]["output_shape"])
    shape[dim] //= len(calls)
    results = []
    for position in range(len(calls)):
        blocks = []
        for call in calls:
            left, scale = call["A"], call["A_scale"]
            if scale.numel() > 1:
                scale = _blocks(scale, len(calls), cut)[position]
            block = _blocks(left, len(calls), cut)[position]
            product = _scaled(block, call["B"], scale, call["B_scale"], call["out_dtype"])
            blocks.append(product.reshape(shape))
        results.append(_reduce(calls[0]["reduce_op"], blocks))
    return results


COLLECTIVES = {
    _c10d.all_reduce.default: _all_reduce,
    _c10d.all_gather_into_tensor.default: _all_gather,
    _c10d.reduce_scatter_tensor.default: _reduce_scatter,
    _c10d.all_to_all_single.default: _all_to_all,
    _c10d.broadcast.default: _broadcast,
    _c10d.all_reduce_coalesced.default: _coalesced(_all_reduce),
    _c10d.all_gather_into_tensor_coalesced.default: _coalesced(_all_gather),
    _c10d.reduce_scatter_tensor_coalesced.default: _coalesced(_reduce_scatter),
    _symm_mem.fused_all_gather_matmul.default: _fused_all_gather_matmul,
    _symm_mem.fused_matmul_reduce_scatter.default: _fused_matmul_reduce_scatter,
    _symm_mem.fused_all_gather_scaled_matmul.default: _fused_all_gather_scaled_matmul,
    _symm_mem.fused_scaled_matmul_reduce_scatter.default: _fused_scaled_matmul_reduce_scatter,
}


def _run_collective(target, calls_of_rank, groups):
    schema = target._schema.arguments

    def by_name(args, kwargs):
        named = {argument.name: argument.default_value for argument in schema}
        named.update({schema[place].name: value for place, value in enumerate(args)})
        named.update(kwargs)
        return named

    calls = [by_name(*call) for call in calls_of_rank]
    results = [None] * len(calls)
    name = calls[0].get("group_name") or calls[0].get("group")
    if name not in groups:
        raise LockstepError(f"nobody knows the group {name!r}")
    for members in groups[name]:
        outcome = COLLECTIVES[target]([calls[rank] for rank in members])
        for rank, result in zip(members, outcome, strict=True):
            results[rank] = result
    return results


def _attribute(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def run_in_lockstep(module, inputs_of_rank, groups):
    """What the graph of a GraphModule gives on every rank.

    module          the program of all ranks, or a list with that of each
    inputs_of_rank  for each rank, a value for each placeholder
    groups          {name: all groups of that axis, as lists of ranks}
    """
    ranks = range(len(inputs_of_rank))
    modules = module if isinstance(module, list) else [module] * len(ranks)
    environments = [{} for _ in ranks]
    remaining = [iter(inputs) for inputs in inputs_of_rank]
    last_use = {}
    for own in modules:
        for node in own.graph.nodes:
            for read in node.all_input_nodes:
                last_use[read] = node

    def arguments(node, rank):
        return tuple(
            map_arg(value, environments[rank].__getitem__) for value in (node.args, node.kwargs)
        )

    for nodes in zip(*(own.graph.nodes for own in modules), strict=True):
        node = nodes[0]
        if any((other.op, other.target) != (node.op, node.target) for other in nodes):
            raise LockstepError(f"{node.format_node()}: the ranks' programs differ")
        if node.op == "output":
            return [arguments(nodes[rank], rank)[0][0] for rank in ranks]
        try:
            if node.op == "placeholder":
                results = [next(remaining[rank]) for rank in ranks]
            elif node.op == "get_attr":
                results = [_attribute(modules[rank], nodes[rank].target) for rank in ranks]
            elif node.target in COLLECTIVES:
                calls = [arguments(nodes[rank], rank) for rank in ranks]
                results = _run_collective(node.target, calls, groups)
            elif node.target is _c10d.wait_tensor.default:
                results = [arguments(nodes[rank], rank)[0][0] for rank in ranks]
            elif node.op == "call_function":
                if str(node.target).startswith(("_c10d_functional", "symm_mem")):
                    raise LockstepError("no such collective is known here")
                calls = [arguments(nodes[rank], rank) for rank in ranks]
                results = [node.target(*args, **kwargs) for args, kwargs in calls]
            else:
                raise LockstepError(f"nodes of kind {node.op} are not run")
        except Exception as error:
            raise LockstepError(f"{node.format_node()}: {error}") from error
        for rank in ranks:
            environments[rank][nodes[rank]] = results[rank]
            for read in nodes[rank].all_input_nodes:
                if last_use[read] is nodes[rank]:
                    environments[rank].pop(read, None)
    raise LockstepError("the graph has no output")
