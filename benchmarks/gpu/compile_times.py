# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The time of compilation with and without Commute, forward and backward.

    python benchmarks/gpu/compile_times.py OUT.json [LAYERS...]

Two ranks compile tensor-parallel Llama layers as one graph, without caches. With Commute
that includes the exchange of the ranks' programs and the proof. A time is that of the first
step less that of a later one.
"""

import argparse
import contextlib
import functools
import time

import torch
import torch._inductor.config as config
from llama_layer import PLANS, Layer, Sizes
from measuring import DEVICE, IS_GPU, Results, commute_target, synchronize
from ranks_on_one_device import run_steps
from torch._inductor.utils import fresh_cache
from torch.distributed.tensor.parallel import parallelize_module

# The time does not depend on sizes. Heads and hidden sizes are divisible by four ranks.
SIZES = Sizes(width=256, heads=8, kv_heads=4, hidden=512, tokens=256)
LAYERS = (1, 4, 8) if IS_GPU else (1,)
WAYS = {"inductor": None, "commute": {}, "commute_always": {"policy": "always"}}


def _stack(layers, mesh):
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = torch.nn.Sequential(*(Layer(SIZES) for _ in range(layers)))
        x = torch.randn(1, SIZES.tokens, SIZES.width)
    for layer in model:
        parallelize_module(layer, mesh, PLANS["sequence_parallel"], src_data_rank=None)
    return model, x.chunk(mesh.size(), 1)[mesh.get_local_rank()].clone().requires_grad_()


@contextlib.contextmanager
def _time_in_passes():
    """Adds up the seconds in each of Commute's passes, with the proofs and with the exchange
    between ranks, for passes that are made in the meantime."""
    from commute.torch.graph_passes import ConfiguredPass

    seconds, make = {}, ConfiguredPass.__init__

    def timed(function):
        @functools.wraps(function)
        def call(*arguments, **named):
            begin = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                name = function.__name__.strip("_")
                seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin

        return call

    ConfiguredPass.__init__ = lambda self, function, options: make(self, timed(function), options)
    try:
        yield seconds
    finally:
        ConfiguredPass.__init__ = make


def _step(function, x):
    begin = time.perf_counter()
    function(x).square().mean().backward()
    synchronize()
    return time.perf_counter() - begin


def _worker(mesh):
    import commute.torch

    commute.torch.register_backend()
    # Starts the processes and libraries that the compiler uses, once.
    warm = torch.compile(lambda x: (x.sin() @ x).cos())
    warm(torch.randn(64, 64, device=DEVICE, requires_grad=True)).sum().backward()

    def run_step(step):
        layers, _, way = step.partition(".")
        torch._dynamo.reset()
        model, x = _stack(int(layers), mesh)
        options = WAYS[way]
        if options is None:
            compiled = torch.compile(model, backend="inductor")
        else:
            options = {"target": commute_target(), **options}
            compiled = torch.compile(model, backend="commute", options=options)
        # A new cache of a CPU would have to compile PyTorch's headers first.
        fresh = fresh_cache() if IS_GPU else contextlib.nullcontext()
        with (
            fresh,
            config.patch(force_disable_caches=True),
            _time_in_passes() as in_passes,
        ):
            first = _step(compiled, x)
        return {
            "seconds": first - min(_step(compiled, x) for _ in range(2)),
            "in_commute": sum(in_passes.values()),
            "in_passes": dict(in_passes),
        }

    return run_step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("layers", type=int, nargs="*")
    options = parser.parse_args()
    steps = [f"{layers}.{way}" for layers in options.layers or LAYERS for way in WAYS]
    run_steps(_worker, steps, 2, Results(options.output))


if __name__ == "__main__":
    main()
