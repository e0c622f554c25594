# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the edits of Commute's micro-pipeline pass cost torch.fx alone.

    python benchmarks/live/replay.py --build build/dist --layers 8

Replays the finished edits on a fresh copy of the graph: looks at each node, creates the new
ones, connects them and erases the others. Nothing is read as a program, decided or given a
fake value, so a pass that makes the same edits through torch.fx takes longer. A pass that
makes fewer edits may take less. Beside it, a third of the time of PyTorch's pass.
"""

import gc
import statistics
import time

from torch.fx import map_arg

from run import capture, dist, in_group, incumbent, measure, options, ours, prepare


def replay(fresh, edited, dead):
    graph = fresh.graph
    node_of = {node.name: node for node in graph.nodes}
    names = set(node_of)
    gc.collect()
    begin = time.process_time()
    for node in graph.nodes:
        node.op, node.target, node.args, node.kwargs, node.meta  # noqa: B018

    def own(read):
        return node_of[read.name]

    cursor = None
    for node in edited.graph.nodes:
        if node.name in names:
            cursor = node_of[node.name]
            continue
        args, kwargs = map_arg(node.args, own), map_arg(node.kwargs, own)
        made = graph.create_node(node.op, node.target, args, kwargs, name=node.name)
        made.meta.update(node.meta)
        cursor.append(made)
        cursor = node_of[node.name] = made
    for node in edited.graph.nodes:
        reader = node_of[node.name]
        if [read.name for read in node.all_input_nodes] != [
            read.name for read in reader.all_input_nodes
        ]:
            reader.args = map_arg(node.args, own)
    for name in dead:
        graph.erase_node(node_of[name])
    return time.process_time() - begin


def compare(module):
    theirs, _ = measure(module, incumbent, options.rounds)
    edited = prepare(module, needs_reshape=True)
    before = [node.name for node in edited.graph.nodes]
    ours(False)(edited.graph)
    after = {node.name for node in edited.graph.nodes}
    dead = [name for name in reversed(before) if name not in after]
    seconds = [
        replay(prepare(module, needs_reshape=True), edited, dead) for _ in range(options.rounds)
    ]
    return theirs / 3, statistics.median(seconds), len(after - set(before)), len(dead)


def main():
    dist.is_nccl_available = lambda: True
    for layers in options.layers:
        for name, module in capture(layers).items():
            third, alone, made, dead = in_group(lambda module=module: compare(module))
            print(
                f"{name:8} {layers:3} layers: {made} new nodes, {dead} erased:"
                f" {1000 * alone:.1f} ms; a third of PyTorch's pass: {1000 * third:.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
