# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the exchange of the ranks' programs adds to a compilation.

    python benchmarks/exchange/run.py --build build/dist [--layers 8 32 80] [--ranks 64] [--json]

First, two gloo ranks compile Llama-like layers, forward and backward, with Inductor's passes
but without its generated code: once where both have the same program, and once where each
cuts its own rows out of the input, so that the programs are published and merged. Reported
are the seconds of the compilation, of Commute in it, of what ranks do to exchange programs,
and of that, how long they waited for each other.

Then `--ranks` simulated ranks, each a thread with a connection of its own to one TCPStore,
exchange programs of the length of the largest ones above: all alike, eight different ones (as
in groups of eight), and all different. A bar: 2 % of the compilation, waits apart, where the
programs are the same.
"""

import argparse
import json
import random
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from claims import Claim

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build/dist")
parser.add_argument("--layers", type=int, nargs="*", default=[8, 32, 80])
parser.add_argument("--ranks", type=int, default=64)
parser.add_argument("--json", action="store_true")
ROOT = Path(__file__).resolve().parents[2]


def find_modules(build):
    sys.path[:0] = [
        str(Path(build).resolve() / "python"),
        str(ROOT / "python" / "tests"),
        str(ROOT / "benchmarks" / "live"),
    ]


class Clock:
    """Adds up what the functions that it watches take."""

    def __init__(self):
        self.seconds = {}

    def watch(self, owner, name, label):
        function = getattr(owner, name)

        def timed(*arguments, **options):
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                seconds = time.perf_counter() - begin
                self.seconds[label] = self.seconds.get(label, 0.0) + seconds

        setattr(owner, name, timed)


def compile_on_rank(rank, build, layers, own_rows):
    """One rank's seconds by what they were spent on."""
    find_modules(build)
    import captured
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    import commute.torch
    from commute.torch import live_graph, rank_programs
    from commute.torch.rank_exchange import RankExchange
    from inductor_graphs import InductorGraphs

    size = dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    model = captured.parallelize(
        torch.nn.Sequential(*(captured.Layer() for _ in range(layers))).bfloat16(), layers, mesh
    )
    tokens = 64 * size

    def step(x):
        # A constant of the graph, which tells the programs of the ranks apart.
        return model(x[:, rank * 64 : (rank + 1) * 64] if own_rows else x)

    x = torch.randn(
        1, tokens if own_rows else 64, captured.WIDTH, dtype=torch.bfloat16, requires_grad=True
    )
    clock = Clock()
    clock.watch(live_graph, "optimize_runs", "commute")
    clock.watch(RankExchange, "_wait", "wait")
    clock.watch(RankExchange, "meet", "exchange")
    clock.watch(rank_programs.RankPrograms, "exchange", "exchange")
    clock.watch(RankExchange, "decide", "exchange")
    clock.watch(RankExchange, "close", "exchange")
    texts = []
    published = rank_programs.PublishedProgram

    def keep(text, facts):
        texts.append(len(text))
        return published(text, facts)

    rank_programs.PublishedProgram = keep
    dist.barrier()
    begin = time.perf_counter()
    with commute.torch.enable(fatal=True):
        torch.compile(step, backend=InductorGraphs())(x).sum().backward()
    return {
        "compilation": time.perf_counter() - begin,
        "wait": 0.0,
        **clock.seconds,
        "characters": max(texts),
    }


def simulate(build, num_ranks, num_characters, num_programs):
    """The seconds until all ranks have decided."""
    find_modules(build)
    import torch.distributed as dist

    from commute.torch.rank_exchange import Identity, PublishedProgram, RankExchange

    # A text that compresses as programs do: names that repeat.
    draw = random.Random(0)
    words = [f'"node_{draw.randrange(10**6)}", ' for _ in range(500)]
    common = "".join(draw.choices(words, k=num_characters // 16))
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    stores = [
        dist.TCPStore("127.0.0.1", server.port, timeout=timedelta(seconds=60))
        for _ in range(num_ranks)
    ]
    failures = []

    def take_part(rank):
        try:
            exchange = RankExchange(
                Identity("f", f"f/{num_programs}", ""),
                range(num_ranks),
                options="",
                offers={},
                timeout=120.0,
                store=stores[rank],
                rank=rank,
            )
            exchange.meet()
            exchange.collect("0", PublishedProgram(f"{rank % num_programs} {common}", {}))
            exchange.decide(["a"])
            exchange.close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=take_part, args=(rank,)) for rank in range(num_ranks)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begin
    if failures:
        raise failures[0]
    return seconds


def record(results):
    claim = Claim("exchange")
    for one in results["compilations"]:
        programs = "the same programs" if one["programs"] == "the same" else "own rows"
        claim.record(
            f"{one['layers']} layers, {programs}: exchange, of the compilation",
            f"{one['exchange'] - one['wait']:.2f} of {one['compilation']:.1f} s",
        )
    claim.save()


def main():
    options = parser.parse_args()
    find_modules(options.build)
    from ranks import call_on_ranks

    results = {"compilations": [], "simulated": []}
    for layers in options.layers:
        for own_rows in (False, True):
            ranks = call_on_ranks(compile_on_rank, 2, options.build, layers, own_rows, timeout=1800)
            slowest = max(ranks, key=lambda one: one["exchange"] - one["wait"])
            results["compilations"].append(
                {"layers": layers, "programs": "own rows" if own_rows else "the same", **slowest}
            )
            if not options.json:
                print(
                    f"{layers:3} layers, {'own rows' if own_rows else 'the same':8}: compilation"
                    f" {slowest['compilation']:6.1f} s, Commute {slowest['commute']:5.2f} s,"
                    f" exchange {slowest['exchange'] - slowest['wait']:.3f} s and waits"
                    f" {slowest['wait']:.3f} s, {slowest['characters'] / 1e6:.1f} million"
                    " characters",
                    flush=True,
                )
    largest = max((one["characters"] for one in results["compilations"]), default=10**6)
    for num_programs in (1, min(8, options.ranks), options.ranks):
        seconds = simulate(options.build, options.ranks, largest, num_programs)
        results["simulated"].append({"programs": num_programs, "seconds": seconds})
        if not options.json:
            print(f"{options.ranks} ranks, {num_programs} programs: {seconds:.2f} s", flush=True)
    record(results)
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
