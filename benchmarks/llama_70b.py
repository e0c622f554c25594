# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs of Llama-70B's shape, tensor-parallel on 8 ranks, as tp text of any depth.

For example:

    Model(layers=80, tokens=4096).p.text()
"""

import re
import sys
from pathlib import Path

import torch

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

from spmd_programs import Group, Program  # noqa: E402

HIDDEN, HEADS, SHARED_HEADS, WIDTH, INNER = 8192, 64, 8, 128, 28672
RANKS = 8
EPSILON = 1e-5


def rotate(p, x, cosine, sine):
    half = WIDTH // 2
    turned = p.concat([p.map("neg", p.slice(x, 2, half, half)), p.slice(x, 2, 0, half)], 2)
    return p.add(p.mul(x, cosine), p.mul(turned, sine))


class Model:
    """One rank's program from the first residual to the last norm.

    `sequence_parallel` chooses the form. The first residual is replicated, or,
    with `reduces_first`, the all_reduce of what a vocabulary-parallel embedding
    gives.
    """

    def __init__(
        self, layers, tokens, sequence_parallel=False, reduces_first=False, dtype=torch.float32
    ):
        self.p = Program([Group("0", list(range(RANKS)))], device="meta")
        self.group = self.p.groups[0]
        self.tokens = tokens
        self.sequence_parallel = sequence_parallel
        self.reduces_first = reduces_first
        self.dtype = dtype
        self.build(layers)

    def weight(self, name, shape, dim):
        return self.p.input(name, shape, {"0": f"shard({dim})"}, self.dtype)

    def replicated(self, name, shape):
        return self.p.input(name, shape, {"0": "replicated"}, self.dtype)

    def first_residual(self):
        shape = [self.tokens, HIDDEN]
        if self.reduces_first:
            return self.reduced(self.p.input("x", shape, {"0": "partial(sum)"}, self.dtype))
        x = self.replicated("x", shape)
        return self.p.rank_slice(x, 0, self.group) if self.sequence_parallel else x

    def build(self, layers):
        p = self.p
        heads, shared, inner = HEADS // RANKS, SHARED_HEADS // RANKS, INNER // RANKS
        state = self.first_residual()
        cosine = self.replicated("cosine", [self.tokens, WIDTH])
        sine = self.replicated("sine", [self.tokens, WIDTH])
        for layer in range(layers):

            def name(part, layer=layer):
                return f"layer{layer}_{part}"

            normed = self.whole(
                p.rms_norm(state, self.replicated(name("norm1"), [HIDDEN]), EPSILON)
            )
            query = p.linear(normed, self.weight(name("wq"), [heads * WIDTH, HIDDEN], 0))
            key = p.linear(normed, self.weight(name("wk"), [shared * WIDTH, HIDDEN], 0))
            value = p.linear(normed, self.weight(name("wv"), [shared * WIDTH, HIDDEN], 0))
            query, key, value = (
                p.permute(p.reshape(t, [self.tokens, count, WIDTH]), [1, 0, 2])
                for t, count in ((query, heads), (key, shared), (value, shared))
            )
            mixed = p.attention(
                rotate(p, query, cosine, sine), rotate(p, key, cosine, sine), value, grouped=True
            )
            merged = p.reshape(p.permute(mixed, [1, 0, 2]), [self.tokens, heads * WIDTH])
            projected = p.linear(merged, self.weight(name("wo"), [HIDDEN, heads * WIDTH], 1))
            state = p.add(state, self.reduced(projected))

            normed = self.whole(
                p.rms_norm(state, self.replicated(name("norm2"), [HIDDEN]), EPSILON)
            )
            gate = p.linear(normed, self.weight(name("gate"), [inner, HIDDEN], 0))
            up = p.linear(normed, self.weight(name("up"), [inner, HIDDEN], 0))
            active = p.mul(p.map("silu", gate), up)
            down = p.linear(active, self.weight(name("down"), [HIDDEN, inner], 1))
            state = p.add(state, self.reduced(down))
        final = p.rms_norm(state, self.replicated("norm", [HIDDEN]), EPSILON)
        p.returns(self.whole(final))

    def whole(self, value):
        """Before products by columns: gathered, where values are shards."""
        if not self.sequence_parallel:
            return value
        return self.p.all_gather(value, 0, self.group)

    def reduced(self, value):
        """After products by rows."""
        if not self.sequence_parallel:
            return self.p.all_reduce("sum", value, self.group)
        return self.p.reduce_scatter("sum", value, 0, self.group)


def write_deep(path, layers, tokens, **options):
    """Writes the text of a model with any number of layers; returns how many ops.

    Layers are alike but for the numbers of their values: the second of two is
    written again and again, with numbers that follow.
    """
    one, two = (Model(count, tokens, **options).p for count in (1, 2))
    size = len(two.lines) - len(one.lines)
    # What follows the layers is as long behind one as behind two.
    same = (a == b for a, b in zip(one.lines, two.lines))
    begin = next((i for i, is_same in enumerate(same) if not is_same), len(one.lines))
    layer, rest = two.lines[begin : begin + size], two.lines[begin + size :]

    def shift(line, count):
        return re.sub(r"%v(\d+)", lambda match: f"%v{int(match[1]) + count * size}", line)

    def rename(line, index):
        return shift(line, index - 1).replace("%layer1_", f"%layer{index}_")

    inputs = [argument for argument in two.arguments if "layer1_" in argument]
    with open(path, "w") as file:
        groups = ", ".join(f"#tp.group{group}" for group in two.groups)
        file.write(f"module attributes {{tp.groups = [{groups}]}} {{\nfunc.func @main(")
        file.write(", ".join(two.arguments))
        for index in range(2, layers):
            for argument in inputs:
                file.write(", " + argument.replace("layer1_", f"layer{index}_"))
        (result,) = two.results
        file.write(f") -> ({result.type}) {{\n")
        file.writelines(line + "\n" for line in two.lines[:begin])
        for index in range(1, layers):
            file.writelines(rename(line, index) + "\n" for line in layer)
        file.writelines(shift(line, layers - 2) + "\n" for line in rest)
        file.write(f"return {shift(result.name, layers - 2)} : {result.type}\n}}\n}}\n")
    return len(two.lines) + (layers - 2) * size
