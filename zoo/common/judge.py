# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Runs the captured programs of all ranks by PyTorch's kernels, in float64.

Ranks may run different graphs: each runs until it needs others. Collectives are matched
by the members of their group and their order within it, messages by sender, receiver,
group and tag. What a collective computes is `python/tests/lockstep.py`'s to say.
"""

import collections
import dataclasses

import torch
from torch.fx import map_arg

from lockstep import COLLECTIVES, LockstepError

_c10d = torch.ops._c10d_functional
FLOATS = {torch.float32, torch.float16, torch.bfloat16}


class JudgeError(RuntimeError):
    """The ranks' programs cannot run together; the message says why."""


class DeadlockError(JudgeError):
    """Ranks wait for each other."""


@dataclasses.dataclass
class _Call:
    target: object
    arguments: dict
    shape: tuple


@dataclasses.dataclass
class _Receive:
    key: tuple
    like: torch.Tensor


def _named_arguments(target, args, kwargs):
    schema = target._schema.arguments
    named = {argument.name: argument.default_value for argument in schema}
    named.update({schema[place].name: value for place, value in enumerate(args)})
    named.update(kwargs)
    return named


def _to_double(value):
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype in FLOATS else value
    return torch.float64 if isinstance(value, torch.dtype) and value in FLOATS else value


class _Job:
    """What the ranks have in common: calls of collectives, and messages on their way."""

    def __init__(self, groups):
        self.groups = groups
        self.calls = collections.defaultdict(dict)
        self.counts = collections.Counter()
        self.results = {}
        self.messages = collections.defaultdict(collections.deque)
        # Counts what happened, to see whether anything still does.
        self.steps = 0

    def members(self, name, rank):
        if name not in self.groups:
            raise JudgeError(f"nobody knows the group {name!r}")
        for members in self.groups[name]:
            if rank in members:
                return tuple(members)
        raise JudgeError(f"rank {rank} is in no group {name!r}")

    def send(self, rank, peer, tag, group, tensor):
        members = self.members(group, rank)
        self.messages[members, rank, members[peer], tag].append(tensor)
        self.steps += 1

    def expect(self, rank, peer, tag, group, like):
        members = self.members(group, rank)
        return _Receive((members, members[peer], rank, tag), like)

    def receive(self, key):
        self.steps += 1
        return self.messages[key].popleft()

    def enter(self, rank, call):
        """Registers a call of a collective, and returns its key."""
        name = call.arguments.get("group_name") or call.arguments.get("group")
        members = self.members(name, rank)
        key = (members, self.counts[members, rank])
        self.counts[members, rank] += 1
        self.steps += 1
        self.calls[key][rank] = call
        if len(self.calls[key]) == len(members):
            self.complete(key, members)
        return key

    def complete(self, key, members):
        calls = [self.calls[key][rank] for rank in members]
        first = calls[0]
        for rank, call in zip(members, calls):
            if call.target != first.target:
                raise JudgeError(f"{call.target} on rank {rank}, {first.target} on {members[0]}")
            for name in ("reduce_op", "src", "group_size"):
                if call.arguments.get(name) != first.arguments.get(name):
                    raise JudgeError(f"{call.target}: {name} differs on rank {rank}")
            if call.target is not _c10d.all_to_all_single.default and call.shape != first.shape:
                raise JudgeError(f"{call.target}: the shape differs on rank {rank}")
        arguments = [dict(call.arguments) for call in calls]
        try:
            results = COLLECTIVES[first.target](arguments)
        except (LockstepError, RuntimeError) as error:
            raise JudgeError(f"{first.target}: {error}") from error
        self.results[key] = dict(zip(members, results, strict=True))


def _run_rank(rank, module, inputs, job):
    """A generator: yields None when it made a step, and what it waits for otherwise."""
    environment = {}
    remaining = iter(inputs)

    def load(argument):
        return map_arg(argument, environment.__getitem__)

    for node in module.graph.nodes:
        if node.op == "placeholder":
            environment[node] = next(remaining)
            continue
        if node.op == "output":
            outputs = load(node.args[0])
            return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        if node.op == "get_attr":
            environment[node] = _to_double(getattr(module, node.target))
            continue
        args = torch.utils._pytree.tree_map(_to_double, load(node.args))
        kwargs = torch.utils._pytree.tree_map(_to_double, load(node.kwargs))
        if node.target in COLLECTIVES:
            named = _named_arguments(node.target, args, kwargs)
            operands = named.get("inputs") or [named["input"]]
            shape = tuple(tuple(operand.shape) for operand in operands)
            key = job.enter(rank, _Call(node.target, named, shape))
            while key not in job.results:
                yield f"rank {rank} at {node.name}"
            environment[node] = job.results[key][rank]
        elif node.target is _c10d.isend.default:
            tensor, peer, tag, group = args
            job.send(rank, peer, tag, group, tensor)
            environment[node] = tensor
        elif node.target is _c10d.irecv.default:
            tensor, peer, tag, group = args
            environment[node] = job.expect(rank, peer, tag, group, tensor)
        elif node.target is _c10d.batch_p2p_ops.default:
            kinds, peers, tags, tensors, group = args
            results = []
            for kind, peer, tag, tensor in zip(kinds, peers, tags, tensors, strict=True):
                if kind == "isend":
                    job.send(rank, peer, tag, group, tensor)
                    results.append(tensor)
                else:
                    results.append(job.expect(rank, peer, tag, group, tensor))
            environment[node] = results
        elif node.target is _c10d.wait_tensor.default:
            waited = args[0]
            if isinstance(waited, _Receive):
                while not job.messages[waited.key]:
                    yield f"rank {rank} at {node.name}"
                message = job.receive(waited.key)
                if message.shape != waited.like.shape:
                    raise JudgeError(f"rank {rank} receives {tuple(message.shape)} at {node.name}")
                waited = message
            environment[node] = waited
        else:
            environment[node] = node.target(*args, **kwargs)


def run_ranks(modules, inputs_of_rank, groups):
    """The outputs of every rank, as lists of tensors.

    modules: an fx.GraphModule for each rank; groups: {axis: lists of members}.
    """
    job = _Job(groups)
    inputs = [[_to_double(tensor) for tensor in inputs] for inputs in inputs_of_rank]
    running = {
        rank: _run_rank(rank, module, inputs[rank], job) for rank, module in enumerate(modules)
    }
    outputs = [None] * len(modules)
    while running:
        waiting, before = [], job.steps
        for rank, generator in list(running.items()):
            try:
                waiting.append(next(generator))
            except StopIteration as stop:
                outputs[rank] = stop.value
                del running[rank]
        if running and len(waiting) == len(running) and before == job.steps:
            raise DeadlockError("; ".join(waiting))
    return outputs


def run_reference(module, inputs):
    return run_ranks([module], [inputs], {})[0]
