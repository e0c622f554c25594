# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Layers with their backward, as torch.compile joins them, on a mesh.

Attention, its mask and its gradients are opaque operators, as a kernel of a library
is. Ranks are those of a mesh (dp, cp, tp): activations are sharded or reduced over
tp, gradients of weights over dp.

    write_pair(folder, tokens=2048, layers=1, mesh=(1, 1, 8))
"""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

from spmd_programs import Group, Program  # noqa: E402

HIDDEN, HEADS, WIDTH, INNER = 4096, 32, 128, 14336


def get_groups(mesh):
    """The groups of the axes that have more than one rank: tp and dp."""
    dp, cp, tp = mesh
    axes = {
        "tp": [[first + i for i in range(tp)] for first in range(0, dp * cp * tp, tp)],
        "dp": [[first + i * cp * tp for i in range(dp)] for first in range(cp * tp)],
    }
    return [Group(name, ranks) for name, ranks in axes.items() if len(ranks[0]) > 1]


class JointLayers:
    """Forward and backward of layers: with all_reduce, or sequence-parallel and, if
    `scatters_gradients`, with gradients that are scattered and gathered."""

    def __init__(self, tokens, layers, mesh, sequence_parallel, scatters_gradients=False):
        groups = get_groups(mesh)
        self.p = Program(groups, device="meta")
        self.groups = {group.name: group for group in groups}
        self.tp = self.groups["tp"]
        self.tokens = tokens
        self.sequence_parallel = sequence_parallel
        self.scatters_gradients = sequence_parallel and scatters_gradients
        self.build(layers)

    def input(self, name, shape, tp):
        placements = {"tp": tp, "dp": "varying" if tp == "replicated" else "replicated"}
        return self.p.input(name, shape, {name: placements[name] for name in self.groups})

    def build(self, layers):
        p, heads, inner = self.p, HEADS // self.tp.size, INNER // self.tp.size
        state = self.own(self.input("x", [self.tokens, HIDDEN], "replicated"))
        seed = self.input("seed", [1, 1], "replicated")
        mask = p.call("torch.ops.library.make_mask", [p.broadcast(seed, [self.tokens] * 2)])
        tape, gradients = [], []
        for layer in range(layers):

            def weight(part, shape, dim, layer=layer):
                return self.input(f"layer{layer}_{part}", shape, f"shard({dim})")

            def split(value):
                return p.permute(p.reshape(value, [self.tokens, heads, WIDTH]), [1, 0, 2])

            weights = [
                weight(part, [heads * WIDTH, HIDDEN], 0) for part in ("query", "key", "value")
            ]
            before = state
            entered = self.whole(p.map("silu", state))
            parts = [split(p.linear(entered, w)) for w in weights]
            mixed = p.call("torch.ops.library.attention", [*parts, mask])
            merged = self.merge(mixed)
            out = weight("out", [HIDDEN, heads * WIDTH], 1)
            state = p.add(state, self.reduced(p.linear(merged, out)))
            tape.append((before, entered, weights, parts, mixed, merged, out, split))

            before = state
            entered = self.whole(p.map("silu", state))
            up, down = weight("up", [inner, HIDDEN], 0), weight("down", [HIDDEN, inner], 1)
            wide = p.linear(entered, up)
            active = p.map("gelu", wide)
            state = p.add(state, self.reduced(p.linear(active, down)))
            tape.append((before, entered, up, down, wide, active))
        result = self.whole(state)

        tangent = self.own(self.input("tangent", [self.tokens, HIDDEN], "replicated"))
        for entry in reversed(tape):
            arrived = self.whole(tangent)
            if len(entry) == 6:
                before, entered, up, down, wide, active = entry
                gradients.append(self.gradient(arrived, active))
                inside = p.call("torch.ops.library.gelu_backward", [p.matmul(arrived, down), wide])
                gradients.append(self.gradient(inside, entered))
                passed = p.matmul(inside, up)
            else:
                before, entered, weights, parts, mixed, merged, out, split = entry
                gradients.append(self.gradient(arrived, merged))
                inside = split(p.matmul(arrived, out))
                passed = None
                for part, own, w in zip(("query", "key", "value"), parts, weights, strict=True):
                    name = f"torch.ops.library.attention_backward_{part}"
                    flat = self.merge(p.call(name, [own, inside, *parts, mixed, mask]))
                    gradients.append(self.gradient(flat, entered))
                    product = p.matmul(flat, w)
                    passed = product if passed is None else p.add(passed, product)
            # Any function of rows does for the derivative.
            passed = p.mul(self.reduced(passed), p.map("gelu", before))
            tangent = p.add(tangent, passed)
        p.returns(result, self.whole(tangent), *gradients)

    def merge(self, value):
        heads = value.shape[0]
        return self.p.reshape(self.p.permute(value, [1, 0, 2]), [self.tokens, heads * WIDTH])

    def gradient(self, tangent, operand):
        """Of a weight, summed over the ranks that have other data."""
        product = self.p.matmul(self.p.permute(tangent, [1, 0]), operand)
        if "dp" not in self.groups:
            return product
        dp = self.groups["dp"]
        if not self.scatters_gradients:
            return self.p.all_reduce("sum", product, dp)
        return self.p.all_gather(self.p.reduce_scatter("sum", product, 0, dp), 0, dp)

    def own(self, value):
        return self.p.rank_slice(value, 0, self.tp) if self.sequence_parallel else value

    def whole(self, value):
        return self.p.all_gather(value, 0, self.tp) if self.sequence_parallel else value

    def reduced(self, value):
        if not self.sequence_parallel:
            return self.p.all_reduce("sum", value, self.tp)
        return self.p.reduce_scatter("sum", value, 0, self.tp)


def write_pair(folder, **options):
    """Both forms of the layers, as text; returns their paths."""
    paths = []
    for name, form in (("first", False), ("second", True)):
        path = Path(folder) / f"{name}.mlir"
        path.write_text(JointLayers(sequence_parallel=form, **options).p.text())
        paths.append(str(path))
    return paths
