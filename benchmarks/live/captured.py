# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The graphs that custom passes of torch.compile see, of Llama-like layers on eight ranks
under sequence parallelism, of which only the first exists.

    graphs = capture(layers=8)          # "joint", "forward", "backward": GraphModules
    fresh = copy_of(graphs["forward"])  # to be changed
"""

import copy
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.fx import GraphModule
from torch.testing._internal.distributed.fake_pg import FakeStore

from inductor_graphs import InductorGraphs

# The graphs run once, on a CPU. Neither passes nor proofs take longer for larger sizes.
SIZE, TOKENS, WIDTH, HEADS, HIDDEN = 8, 512, 512, 8, 1024


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("query", "key", "value", "attended"):
            setattr(self, name, torch.nn.Linear(WIDTH, WIDTH, bias=False))
        self.gate = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = torch.nn.Linear(HIDDEN, WIDTH, bias=False)
        self.attention_norm = torch.nn.RMSNorm(WIDTH)
        self.norm = torch.nn.RMSNorm(WIDTH)

    def forward(self, x):
        def heads(projected):
            return projected.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)

        normed = self.attention_norm(x)
        query, key, value = (heads(p(normed)) for p in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.attended(attended.transpose(1, 2).flatten(2))
        normed = self.norm(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class _Recorder(CustomGraphPass):
    """A custom pass that keeps what it sees."""

    def __init__(self):
        self.seen = []

    def __call__(self, graph):
        self.seen.append(copy_of(graph.owning_module))

    def uuid(self):
        return None


def copy_of(module):
    """The same nodes and facts, in a graph of its own."""
    graph = torch.fx.Graph()
    output = graph.graph_copy(module.graph, {}, return_output_node=True)
    value, old = output
    new = graph.output(value)
    new.meta = copy.copy(old.meta)
    return GraphModule(module, graph)


def parallelize(model, layers, mesh):
    """Layers under sequence parallelism."""
    columns = ColwiseParallel(input_layouts=Shard(1))
    rows = RowwiseParallel(output_layouts=Shard(1))
    plan = {}
    for index in range(layers):
        for name in ("query", "key", "value", "gate", "up"):
            plan[f"{index}.{name}"] = columns
        for name in ("attended", "down"):
            plan[f"{index}.{name}"] = rows
        for name in ("attention_norm", "norm"):
            plan[f"{index}.{name}"] = SequenceParallel()
    return parallelize_module(model, mesh, plan)


def compile_layers(layers, backend):
    """Compiles and runs layers with their backward graph. The process group is left as it was
    found: there is none."""
    dist.init_process_group(backend="fake", world_size=SIZE, rank=0, store=FakeStore())
    torch._dynamo.reset()
    mesh = init_device_mesh("cpu", (SIZE,), mesh_dim_names=("tp",))
    model = torch.nn.Sequential(*(Layer() for _ in range(layers))).bfloat16()
    model = parallelize(model, layers, mesh)
    x = torch.randn(1, TOKENS // SIZE, WIDTH, dtype=torch.bfloat16, requires_grad=True)
    torch.compile(model, backend=backend)(x).sum().backward()
    dist.destroy_process_group()


def capture(layers):
    """By name."""
    joint, after = _Recorder(), _Recorder()
    with config.patch(joint_custom_post_pass=joint, post_grad_custom_post_pass=after):
        compile_layers(layers, InductorGraphs())
    forward, backward = after.seen
    return {"joint": joint.seen[0], "forward": forward, "backward": backward}


class _Stopwatch(CustomGraphPass):
    """A custom pass that runs another one on copies of the graphs, and measures it."""

    def __init__(self, function):
        self._function = function
        self.seconds = self.overhead = 0.0

    def __call__(self, graph):
        begin = time.perf_counter()
        copied = copy_of(graph.owning_module)
        copied_at = time.perf_counter()
        self._function(copied.graph)
        self.seconds += time.perf_counter() - copied_at
        self.overhead += copied_at - begin

    def uuid(self):
        return None


def share_of_compilation(layers, function):
    """The seconds that a pass takes after Inductor's own passes, and those of the compilation
    with it, generated code included."""
    stopwatch = _Stopwatch(function)
    begin = time.perf_counter()
    with config.patch(post_grad_custom_post_pass=stopwatch, force_disable_caches=True):
        compile_layers(layers, "inductor")
    return stopwatch.seconds, time.perf_counter() - begin - stopwatch.overhead
