# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Llama's shape on one device and on a mesh of data and tensor parallelism, as tp text.

For example:

    write(folder, LLAMA_70B, layers=80, tp=8, dp=1)
"""

import dataclasses
import json
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

from spmd_programs import Group, Program  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Shape:
    hidden: int
    heads: int
    shared_heads: int
    width: int
    inner: int


LLAMA_8B = Shape(4096, 32, 8, 128, 14336)
LLAMA_70B = Shape(8192, 64, 8, 128, 28672)
LLAMA_405B = Shape(16384, 128, 8, 128, 53248)
EPSILON = 1e-5


class Decoder:
    """The program of one rank, or of one device with tp = dp = 1."""

    def __init__(self, shape, layers, tokens, batch, tp, dp):
        self.shape, self.tokens, self.batch, self.tp = shape, tokens, batch // dp, tp
        ranks = range(tp * dp)
        axes = {
            "tp": [[first + i for i in range(tp)] for first in ranks[::tp]],
            "dp": [[first + i * tp for i in range(dp)] for first in range(tp)],
        }
        self.axes = {name: groups for name, groups in axes.items() if len(groups[0]) > 1}
        self.p = Program([Group(name, groups) for name, groups in self.axes.items()], device="meta")
        # One device has no group.
        self.p.world = self.p.world or [0]
        self.group = {group.name: group for group in self.p.groups}
        self.relations = {}
        self.build(layers)

    def input(self, name, shape, relation=None):
        self.relations[name] = relation or name
        return self.p.input(name, shape, dict.fromkeys(self.axes, "varying"))

    def shard(self, name, shape, dim):
        relation = f"shard({name}, {dim}, tp)" if self.tp > 1 else name
        return self.input(name, shape, relation)

    def rotate(self, x, cosine, sine):
        p, half = self.p, self.shape.width // 2
        turned = p.concat([p.map("neg", p.slice(x, 3, half, half)), p.slice(x, 3, 0, half)], 3)
        return p.add(p.mul(x, cosine), p.mul(turned, sine))

    def reduced(self, value):
        return self.p.all_reduce("sum", value, self.group["tp"]) if self.tp > 1 else value

    def build(self, layers):
        p, s, tokens, batch = self.p, self.shape, self.tokens, self.batch
        heads, shared, inner = s.heads // self.tp, s.shared_heads // self.tp, s.inner // self.tp
        state = self.input(
            "x", [batch, tokens, s.hidden], "shard(x, 0, dp)" if "dp" in self.axes else None
        )
        cosine = self.input("cosine", [tokens, s.width])
        sine = self.input("sine", [tokens, s.width])
        for layer in range(layers):
            name = f"layers.{layer}."
            normed = p.rms_norm(state, self.input(name + "norm1", [s.hidden]), EPSILON)
            query, key, value = (
                p.permute(
                    p.reshape(
                        p.linear(normed, self.shard(name + part, [count * s.width, s.hidden], 0)),
                        [batch, tokens, count, s.width],
                    ),
                    [0, 2, 1, 3],
                )
                for part, count in (("wq", heads), ("wk", shared), ("wv", shared))
            )
            mixed = p.attention(
                self.rotate(query, cosine, sine),
                self.rotate(key, cosine, sine),
                value,
                grouped=True,
            )
            merged = p.reshape(p.permute(mixed, [0, 2, 1, 3]), [batch, tokens, heads * s.width])
            projected = p.linear(merged, self.shard(name + "wo", [s.hidden, heads * s.width], 1))
            state = p.add(state, self.reduced(projected))
            normed = p.rms_norm(state, self.input(name + "norm2", [s.hidden]), EPSILON)
            gate = p.linear(normed, self.shard(name + "gate", [inner, s.hidden], 0))
            up = p.linear(normed, self.shard(name + "up", [inner, s.hidden], 0))
            active = p.mul(p.map("silu", gate), up)
            down = p.linear(active, self.shard(name + "down", [s.hidden, inner], 1))
            state = p.add(state, self.reduced(down))
        p.returns(p.rms_norm(state, self.input("norm", [s.hidden]), EPSILON))


def write(folder, shape, layers, tokens=4096, batch=2, tp=8, dp=1):
    """Writes reference.mlir, rank.mlir and relations.json; returns the command."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    whole = Decoder(shape, layers, tokens, batch, 1, 1)
    ranks = Decoder(shape, layers, tokens, batch, tp, dp)
    (folder / "reference.mlir").write_text(whole.p.text())
    (folder / "rank.mlir").write_text(ranks.p.text())
    output = "shard(0, dp)" if "dp" in ranks.axes else "replicated"
    stated = {
        "version": 1,
        "mesh": ranks.axes,
        "inputs": ranks.relations,
        "outputs": {"0": output},
    }
    (folder / "relations.json").write_text(json.dumps(stated, indent=1))
    return [
        "verify",
        f"--reference={folder / 'reference.mlir'}",
        str(folder / "rank.mlir"),
        f"--relations={folder / 'relations.json'}",
    ]
