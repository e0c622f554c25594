# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Random models on DTensor, their graphs as AOTAutograd makes them (joint, forward and
backward), and the check that an optimized graph is valid and computes the same.

    for captured in capture(random_configuration(random.Random(seed))):
        check(captured, passes="micro-pipeline,lower-collectives", policy="always")

No process but this one takes part: the process group is fake while graphs are made, and
they are compared on real tensors by `lockstep`.
"""

import dataclasses
import functools
import random
import zlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from functorch.compile import (
    default_partition,
    make_boxed_func,
    min_cut_rematerialization_partition,
)
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.testing._internal.distributed.fake_pg import FakeStore

from commute.torch import optimize_graph
from lockstep import run_in_lockstep

LOWERED = "lower-collectives"
PASS_LISTS = (
    "",
    "normalize-collectives,lower-collectives",
    "sequence-parallel,lower-collectives",
    "sequence-parallel{pad=true},lower-collectives",
    "micro-pipeline,lower-collectives",
    "split-linear",
    "contiguous-collectives",
    "lower-collectives",
    "sequence-parallel,micro-pipeline,lower-collectives",
)
POLICIES = ("always", "profitable")


@dataclasses.dataclass(frozen=True)
class Configuration:
    seed: int
    model: str
    mesh: tuple
    sequence_parallel: bool
    bias: bool
    batch: int
    tokens: int
    heads: int
    key_heads: int
    head_size: int
    hidden: int
    blocks: int
    activation: str
    causal: bool
    fused_attention: bool
    partition: str
    # Parameters of 32 bits, and products of 16.
    autocast: bool = False

    @property
    def width(self):
        return self.heads * self.head_size

    def __str__(self):
        return ", ".join(
            f"{field.name}={getattr(self, field.name)}" for field in dataclasses.fields(self)
        )


def random_configuration(seed):
    rng = random.Random(seed)
    mesh = rng.choice([(2,), (4,), (2, 2)])
    size = mesh[-1]
    key_heads = size * rng.choice([1, 2])
    model = rng.choice(["mlp", "gated", "attention", "llama", "experts", "tied"])
    if len(mesh) > 1:
        # Attention on two axes is more than DTensor can do under Dynamo.
        model = {"attention": "gated", "llama": "experts"}.get(model, model)
    return Configuration(
        seed=seed,
        model=model,
        mesh=mesh,
        sequence_parallel=len(mesh) == 1 and rng.random() < 0.5,
        bias=rng.random() < 0.5,
        batch=rng.choice([1, 2, 3]),
        tokens=size * rng.choice([1, 2, 3]) * (2 if len(mesh) > 1 else 1),
        heads=key_heads * rng.choice([1, 2]),
        key_heads=key_heads,
        head_size=rng.choice([2, 4, 6]),
        hidden=size * rng.choice([1, 4, 6]),
        blocks=rng.choice([1, 1, 2]),
        activation=rng.choice(["relu", "gelu", "silu"]),
        fused_attention=rng.random() < 0.5,
        causal=rng.random() < 0.5,
        partition=rng.choice(["default", "min_cut"]),
    )


#
# Models
#


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.width, config.hidden, bias=config.bias)
        self.down = nn.Linear(config.hidden, config.width, bias=config.bias)
        self.activation = getattr(F, config.activation)

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class GatedMlp(Mlp):
    def __init__(self, config):
        super().__init__(config)
        self.gate = nn.Linear(config.width, config.hidden, bias=config.bias)

    def forward(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        size, bias = config.head_size, config.bias
        self.query = nn.Linear(config.width, config.heads * size, bias=bias)
        self.key = nn.Linear(config.width, config.key_heads * size, bias=bias)
        self.value = nn.Linear(config.width, config.key_heads * size, bias=bias)
        self.out = nn.Linear(config.heads * size, config.width, bias=bias)

    def forward(self, x):
        size = self.config.head_size
        query, key, value = (
            layer(x).unflatten(-1, (-1, size)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        repeats = self.config.heads // self.config.key_heads
        if repeats > 1:
            key, value = (part.repeat_interleave(repeats, dim=1) for part in (key, value))
        if self.config.fused_attention:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=self.config.causal)
            return self.out(mixed.transpose(1, 2).flatten(2))
        scores = query @ key.transpose(-1, -2) * size**-0.5
        if self.config.causal:
            tokens = scores.shape[-1]
            mask = torch.ones(tokens, tokens, dtype=torch.bool, device=scores.device).tril()
            scores = scores.masked_fill(~mask, float("-inf"))
        mixed = torch.softmax(scores, -1) @ value
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention_norm = RMSNorm(config.width)
        self.attention = Attention(config)
        self.norm = RMSNorm(config.width)
        self.feed_forward = GatedMlp(config)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.norm(x))


class Experts(nn.Module):
    """Every expert takes every token, weighed by a gate: dense, so that sizes are known."""

    def __init__(self, config):
        super().__init__()
        self.router = nn.Linear(config.width, 2, bias=False)
        self.experts = nn.ModuleList([Mlp(config), GatedMlp(config)])

    def forward(self, x):
        weights = torch.softmax(self.router(x), -1)
        parts = [expert(x) for expert in self.experts]
        return sum(part * weights[..., i : i + 1] for i, part in enumerate(parts))


class Tied(nn.Module):
    """One table for the way in and the way out."""

    def __init__(self, config):
        super().__init__()
        self.table = nn.Parameter(torch.randn(12, config.width))
        self.inner = Mlp(config)

    def forward(self, x):
        scores = self.inner(x) @ self.table.t()
        return self.inner(torch.softmax(scores, -1) @ self.table)


def _make_model(config):
    single = {"mlp": Mlp, "gated": GatedMlp, "attention": Attention, "llama": Block,
              "experts": Experts, "tied": Tied}[config.model]  # fmt: skip
    return nn.Sequential(*(single(config) for _ in range(config.blocks)))


def _is_row(name):
    return name.rsplit(".", 1)[-1] in ("down", "out")


def _parallelize(model, config, mesh):
    """Tensor parallelism by PyTorch's styles, on a mesh of one axis."""
    plan = {}
    sharded = {"input_layouts": Shard(1)} if config.sequence_parallel else {}
    # A module in the middle of others keeps what they have between them.
    whole = {"output_layouts": Shard(1)} if config.sequence_parallel else {}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and not name.endswith("router"):
            plan[name] = RowwiseParallel(**whole) if _is_row(name) else ColwiseParallel(**sharded)
        elif isinstance(module, RMSNorm) and config.sequence_parallel:
            plan[name] = SequenceParallel(use_local_output=True)
    parallelize_module(model, mesh, plan)


def _distribute(model, mesh):
    """Weights on a mesh of data and tensor parallelism: whole on each part of the data."""
    for name, module in list(model.named_modules()):
        for key, parameter in list(module.named_parameters(recurse=False)):
            placement = Replicate()
            if isinstance(module, nn.Linear) and not name.endswith("router"):
                if not _is_row(name):
                    placement = Shard(0)
                elif key == "weight":
                    placement = Shard(1)
            placements = [Replicate(), placement]
            module.register_parameter(
                key, nn.Parameter(distribute_tensor(parameter.data, mesh, placements))
            )


class _OnMesh(nn.Module):
    """A model whose operands are DTensors of a mesh with two axes."""

    def __init__(self, inner, mesh):
        super().__init__()
        self.inner, self.mesh = inner, mesh

    def forward(self, x):
        placements = [Shard(0), Replicate()]
        x = DTensor.from_local(x, self.mesh, placements, run_check=False)
        return self.inner(x).redistribute(placements=placements).to_local()


#
# Capture
#


@dataclasses.dataclass
class CapturedGraph:
    config: Configuration
    kind: str
    module: torch.fx.GraphModule
    groups: dict
    # Placeholders that are the same on all ranks, and are stated to be.
    replicated: tuple = ()

    def copy(self):
        graph = torch.fx.Graph()
        graph.output(graph.graph_copy(self.module.graph, {}))
        return torch.fx.GraphModule(self.module, graph)


def _groups(mesh):
    """The groups of all axes, by the name that collectives call them by."""
    found = {}
    names = mesh.mesh_dim_names
    for axis, name in enumerate(names):
        members = mesh.mesh.movedim(axis, -1).reshape(-1, mesh.mesh.shape[axis])
        found[mesh.get_group(name).group_name] = members.tolist()
    return found


def capture(config):
    """The joint, the forward and the backward graph of a model."""
    if dist.is_initialized():
        dist.destroy_process_group()
    world = functools.reduce(int.__mul__, config.mesh)
    dist.init_process_group(backend="fake", world_size=world, rank=0, store=FakeStore())
    torch._dynamo.reset()
    torch.manual_seed(config.seed)
    names = ("tp",) if len(config.mesh) == 1 else ("dp", "tp")
    mesh = init_device_mesh("cpu", config.mesh, mesh_dim_names=names)
    groups = _groups(mesh)
    captured = []

    def keep(kind, module):
        graph = torch.fx.Graph()
        graph.output(graph.graph_copy(module.graph, {}))
        captured.append(CapturedGraph(config, kind, torch.fx.GraphModule(module, graph), groups))

    def partition(joint, inputs, **options):
        keep("joint", joint)
        split = (
            default_partition
            if config.partition == "default"
            else min_cut_rematerialization_partition
        )
        return split(joint, inputs, **options)

    def compiler(kind):
        def compile(module, inputs):
            keep(kind, module)
            return make_boxed_func(module.forward)

        return compile

    backend = aot_autograd(
        fw_compiler=compiler("forward"), bw_compiler=compiler("backward"), partition_fn=partition
    )
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if config.autocast else torch.float64)
    try:
        model = _make_model(config)
        tokens = config.tokens
        if len(config.mesh) == 1:
            _parallelize(model, config, mesh)
            if config.sequence_parallel:
                tokens //= config.mesh[0]
        else:
            _distribute(model, mesh)
            model = _OnMesh(model, mesh)
        x = torch.randn(config.batch, tokens, config.width, requires_grad=True)
        compiled = torch.compile(model, backend=backend, dynamic=False, fullgraph=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=config.autocast):
            result = compiled(x)
        result.sum().backward()
    finally:
        torch.set_default_dtype(default)
    return captured


#
# Checks
#


def _inputs(captured, rank):
    """Values for the placeholders of one rank, each rank's own."""
    own = torch.Generator().manual_seed(zlib.crc32(f"{captured.config.seed} {rank}".encode()))
    values = []
    for node in captured.module.graph.find_nodes(op="placeholder"):
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            values.append(value)
            continue
        shape, dtype = tuple(map(int, value.shape)), value.dtype
        generator = own
        if node.name in captured.replicated:
            generator = torch.Generator().manual_seed(zlib.crc32(node.name.encode()))
        if dtype.is_floating_point:
            drawn = torch.rand(shape, generator=generator, dtype=torch.float64).add_(0.5)
            if len(shape) == 2:
                # Rows of a weight add up to about one: scores of attention that grow from
                # block to block would turn rounding into differences.
                drawn /= max(shape[-1], 1)
            drawn = drawn.to(dtype)
        elif dtype == torch.bool:
            drawn = torch.rand(shape, generator=generator) < 0.5
        else:
            drawn = torch.randint(0, 4, shape, generator=generator, dtype=dtype)
        values.append(torch.empty_strided(shape, value.stride(), dtype=dtype).copy_(drawn))
    return values


def _tensors(module):
    (output,) = module.graph.find_nodes(op="output")
    return torch.utils._pytree.tree_leaves(output.args[0])


def check_valid(module, original):
    """Every node runs on fake tensors and gives what its metadata says, the outputs what
    they gave before."""
    module.graph.lint()
    environment = {}
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        for node in module.graph.nodes:
            if node.op == "output":
                continue
            stated = node.meta.get("val")
            if node.op == "placeholder":
                value = stated
                if isinstance(stated, torch.Tensor):
                    value = torch.empty_strided(
                        tuple(stated.shape), stated.stride(), dtype=stated.dtype
                    )
            elif node.op == "get_attr":
                value = getattr(module, node.target)
                # An opaque object, such as a mesh, is what it is.
                if isinstance(value, torch.Tensor):
                    value = mode.from_tensor(value)
            else:
                args, kwargs = torch.fx.map_arg((node.args, node.kwargs), environment.__getitem__)
                value = node.target(*args, **kwargs)
            environment[node] = value
            _check_described(node.name, value, stated)
    for before, after in zip(_tensors(original), _tensors(module), strict=True):
        if before is None:
            assert after is None
            continue
        _check_described("output", environment[after], before.meta.get("val"))


def _check_described(name, value, stated):
    if not isinstance(stated, torch.Tensor):
        return
    found = (tuple(value.shape), value.dtype)
    assert found == (tuple(stated.shape), stated.dtype), (
        f"{name} gives {found}, and is said to give {tuple(stated.shape)}, {stated.dtype}"
    )


def run_all(captured, module):
    world = functools.reduce(int.__mul__, captured.config.mesh)
    inputs = [_inputs(captured, rank) for rank in range(world)]
    return run_in_lockstep(module, inputs, captured.groups)


class Check:
    """Checks optimized forms of one graph; the original is run once."""

    def __init__(self, captured):
        self.captured = captured
        self._expected = None

    def expected(self):
        if self._expected is None:
            self._expected = run_all(self.captured, self.captured.module)
        return self._expected

    def run(self, passes, policy, verify=False, ranks=None):
        """Gives the remarks; raises where the result is not right. The result is `module`."""
        remarks, self.module = self._optimize(passes, policy, verify, ranks)
        changed = [node.target for node in self.module.graph.nodes] != [
            node.target for node in self.captured.module.graph.nodes
        ]
        if changed or any(remark.verdict == "applied" for remark in remarks):
            module = self.module
            check_valid(module, self.captured.module)
            if self.captured.replicated:
                # Each rank takes its own part of what all of them have.
                world = functools.reduce(int.__mul__, self.captured.config.mesh)
                others = range(1, world)
                module = [module] + [
                    self._optimize(passes, policy, verify, ranks, rank)[1] for rank in others
                ]
            self._compare(run_all(self.captured, module))
        return remarks

    def _optimize(self, passes, policy, verify, ranks, rank=0):
        module = self.captured.copy()
        context = {
            "version": 1,
            "groups": {name: {"ranks": ranks} for name, ranks in self.captured.groups.items()},
            "inputs": {
                name: dict.fromkeys(self.captured.groups, "replicated")
                for name in self.captured.replicated
            },
            **({"rank": rank} if rank else {}),
        }
        remarks = optimize_graph(
            module.graph, passes=passes, policy=policy, context=context,
            is_functional_graph=True, verify=verify, ranks=ranks,
        )  # fmt: skip
        module.recompile()
        return remarks, module

    def _compare(self, found):
        for rank, (expected, values) in enumerate(zip(self.expected(), found, strict=True)):
            for place, (one, other) in enumerate(zip(expected, values, strict=True)):
                if not isinstance(one, torch.Tensor):
                    assert one == other
                    continue
                if one.dtype == torch.bool:
                    assert torch.equal(one, other), f"rank {rank}, output {place} differs"
                    continue
                scale = max(float(one.abs().max()), 1.0) if one.numel() else 1.0
                rounding = 2e-2 if self.captured.config.autocast else 1e-10
                torch.testing.assert_close(
                    other, one, rtol=10 * rounding, atol=rounding * scale,
                    msg=lambda text, rank=rank, place=place: f"rank {rank}, output {place}: {text}",
                )  # fmt: skip
