# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Steps of training and of prefill of Llama models, tensor- and sequence-parallel, as tp text.

A step is a number of equal layers, and the head. Each program is one rank's: the norms and
the residual on a shard of the tokens, an all_gather before the products by columns and a
reduce_scatter after those by rows. The backward reads the gathered values again, as
torchtitan's checkpointing does: it gathers them anew.

    Step(LLAMA_8B, tokens=98304, sequence=8192, ranks=8, trains=True).layer()
"""

import dataclasses
import sys
from pathlib import Path

import torch

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

from spmd_programs import Group, Program, Value  # noqa: E402

EPSILON = 1e-5


@dataclasses.dataclass(frozen=True)
class Model:
    hidden: int
    heads: int
    key_heads: int
    inner: int
    layers: int
    vocabulary: int = 128256
    width: int = 128


MODELS = {
    "8B": Model(4096, 32, 8, 14336, 32),
    "70B": Model(8192, 64, 8, 28672, 80),
}


class Step:
    def __init__(
        self,
        model: str,
        tokens: int,
        sequence: int,
        ranks: int,
        precision: str = "bf16",
        checkpointing: str = "none",
        fused: bool = False,
    ) -> None:
        self.model, self.tokens, self.sequence = MODELS[model], tokens, sequence
        self.ranks, self.precision, self.checkpointing = ranks, precision, checkpointing
        self.group = Group("0", list(range(ranks)))
        # PyTorch's async TP fuses no gathers where each row has a scale (pytorch#149990).
        self.fuses_gathers = fused and precision != "rowwise"
        self.fuses_scatters = fused

    def start(self) -> None:
        self.p = Program([self.group], device="meta")
        self.inputs = 0

    def input(self, shape: list[int], placement: str, dtype: torch.dtype = torch.bfloat16) -> Value:
        self.inputs += 1
        return self.p.input(f"input{self.inputs}", shape, {"0": placement}, dtype)

    # ---------------------------------------------------------------- products

    def quantize(self, x: Value) -> tuple[Value, Value]:
        """A value in fp8 and its scale: one, or one for each row."""
        p = self.p
        dims = [1] if self.precision == "rowwise" else [0, 1]
        largest = p.reduce("max", p.map("maximum", x, p.map("neg", x)), dims)
        if self.precision == "rowwise":
            largest = p.reshape(largest, [x.shape[0], 1])
        scale = p.cast(largest, torch.float32)
        scaled = p.mul(p.cast(x, torch.float32), p.map("rsqrt", scale))
        return p.cast(scaled, torch.float8_e4m3fn), scale

    def product(self, lhs: Value, rhs: Value) -> Value:
        if self.precision == "bf16":
            return self.p.matmul(lhs, rhs)
        (a, s), (b, t) = self.quantize(lhs), self.quantize(rhs)
        return self.scaled(a, s, b, t)

    def scaled(self, a: Value, s: Value, b: Value, t: Value) -> Value:
        s, t = self.scales(s, t)
        text = f"matmul {a.name}, {b.name} lhs_scale {s.name} rhs_scale {t.name}"
        return self.p._add(text, [a, b, s, t], lambda x, y, *_: x.bfloat16() @ y.bfloat16())

    def scales(self, s: Value, t: Value) -> tuple[Value, Value]:
        """Scales of rows cost as little as one, which is simpler to write."""
        if self.precision != "rowwise":
            return s, t
        one = self.p.constant(1.0)
        return one, one

    def record(self, text: str, operands: list[Value], shapes: list[list[int]]) -> list[Value]:
        """An op whose results are bf16."""
        p = self.p
        shards = [[torch.empty(shape, dtype=torch.bfloat16, device="meta")] for shape in shapes]
        name = f"%results{len(p.lines)}"
        many = len(shapes) > 1
        results = [
            Value(f"{name}#{index}" if many else name, shard) for index, shard in enumerate(shards)
        ]
        types = ", ".join(value.type for value in operands)
        kinds = ", ".join(value.type for value in results)
        count = f":{len(shapes)}" if many else ""
        kinds = f"({kinds})" if many else kinds
        p.lines.append(f"{name}{count} = tp.{text} : ({types}) -> {kinds}")
        return results

    def gathered_products(self, shard: Value, weights: list[Value]) -> list[Value]:
        """The products of a gathered value."""
        p, precision = self.p, self.precision
        scale, sides, scales = None, weights, []
        if precision == "tensorwise":
            shard, scale = self.quantize(shard)
            pairs = [self.quantize(weight) for weight in weights]
            sides, scales = [b for b, _ in pairs], [t for _, t in pairs]
        if self.fuses_gathers:
            text = f"all_gather_matmul {shard.name}, rhs({', '.join(b.name for b in sides)})"
            if scale is not None:
                text += f" shard_scale {scale.name}"
                text += f" rhs_scales({', '.join(t.name for t in scales)})"
            text += f" gather_axis 0 group {self.group}"
            operands = [shard, *sides, *([scale] if scale is not None else []), *scales]
            return self.record(text, operands, [[self.tokens, b.shape[1]] for b in sides])
        whole = p.all_gather(shard, 0, self.group)
        if precision == "tensorwise":
            return [self.scaled(whole, scale, b, t) for b, t in zip(sides, scales, strict=True)]
        return [self.product(whole, weight) for weight in weights]

    def reduced_product(self, lhs: Value, rhs: Value) -> Value:
        if not self.fuses_scatters:
            return self.reduced(self.product(lhs, rhs))
        operands, text = [lhs, rhs], ""
        if self.precision != "bf16":
            (a, s), (b, t) = self.quantize(lhs), self.quantize(rhs)
            s, t = self.scales(s, t)
            operands, text = [a, b, s, t], f" lhs_scale {s.name} rhs_scale {t.name}"
        text = (
            f"matmul_reduce_scatter sum {operands[0].name}, {operands[1].name}{text}"
            f" scatter_axis 0 group {self.group}"
        )
        return self.record(text, operands, [[self.tokens // self.ranks, rhs.shape[1]]])[0]

    def reduced(self, value: Value) -> Value:
        return self.p.reduce_scatter("sum", value, 0, self.group)

    # ---------------------------------------------------------------- layers

    def rotated(self, x: Value, cosine: Value, sine: Value) -> Value:
        p, half = self.p, self.model.width // 2
        turned = p.concat([p.map("neg", p.slice(x, 3, half, half)), p.slice(x, 3, 0, half)], 3)
        return p.add(p.mul(x, cosine), p.mul(turned, sine))

    def split(self, x: Value, count: int) -> Value:
        batch = self.tokens // self.sequence
        shape = [batch, self.sequence, count, self.model.width]
        return self.p.permute(self.p.reshape(x, shape), [0, 2, 1, 3])

    def merge(self, x: Value, count: int) -> Value:
        shape = [self.tokens, count * self.model.width]
        return self.p.reshape(self.p.permute(x, [0, 2, 1, 3]), shape)

    def layer(self, trains: bool) -> str:
        self.start()
        p, m = self.p, self.model
        heads, keys = m.heads // self.ranks, max(m.key_heads // self.ranks, 1)
        inner, rows = m.inner // self.ranks, self.tokens // self.ranks
        counts = [heads, keys, keys]
        x = self.input([rows, m.hidden], "varying")
        norms = [self.input([m.hidden], "replicated") for _ in range(2)]
        into = [self.input([m.hidden, count * m.width], "varying") for count in counts]
        out = self.input([heads * m.width, m.hidden], "varying")
        gates = [self.input([m.hidden, inner], "varying") for _ in range(2)]
        down = self.input([inner, m.hidden], "varying")
        table = [self.sequence, m.width]
        cosine, sine = (self.input(table, "replicated") for _ in range(2))

        def attend(x: Value) -> dict[str, Value]:
            normed = p.rms_norm(x, norms[0], EPSILON)
            q, k, v = self.gathered_products(normed, into)
            query, key, value = (self.split(t, c) for t, c in zip((q, k, v), counts, strict=True))
            query, key = self.rotated(query, cosine, sine), self.rotated(key, cosine, sine)
            mixed = p.attention(query, key, value, grouped=True)
            merged = self.merge(mixed, heads)
            return {"normed": normed, "query": query, "key": key, "value": value,
                    "mixed": mixed, "merged": merged}  # fmt: skip

        def activate(state: Value) -> dict[str, Value]:
            normed = p.rms_norm(state, norms[1], EPSILON)
            gate, up = self.gathered_products(normed, gates)
            return {"normed": normed, "gate": gate, "up": up,
                    "active": p.mul(p.map("silu", gate), up)}  # fmt: skip

        first = attend(x)
        state = p.add(x, self.reduced_product(first["merged"], out))
        second = activate(state)
        result = p.add(state, self.reduced_product(second["active"], down))
        if not trains:
            return p.returns(result).text()

        gradients = []
        tangent = self.input([rows, m.hidden], "varying")
        if self.checkpointing == "full":
            first = attend(x)
            state = p.add(x, self.reduced_product(first["merged"], out))
            second = activate(state)

        # The gated product.
        entered = self.whole(second["normed"])
        up = second["up"]
        if self.checkpointing == "selective":
            # Every second product is computed again.
            up = self.again(entered, gates[1])
        (inside,) = self.gathered_products(tangent, [self.transposed(down)])
        gradients.append(self.gradient(second["active"], self.arrived(tangent)))
        gate_gradient = p.mul(p.mul(inside, up), p.map("silu", second["gate"]))
        up_gradient = p.mul(inside, p.map("silu", second["gate"]))
        gradients += [self.gradient(entered, g) for g in (gate_gradient, up_gradient)]
        passed = p.add(
            self.product(gate_gradient, self.transposed(gates[0])),
            self.product(up_gradient, self.transposed(gates[1])),
        )
        tangent = p.add(tangent, self.norm_gradient(self.reduced(passed), state, norms[1]))

        # Attention.
        (inside,) = self.gathered_products(tangent, [self.transposed(out)])
        gradients.append(self.gradient(first["merged"], self.arrived(tangent)))
        parts = self.attention_gradient(first, self.split(inside, heads))
        parts = [
            self.rotated(parts[0], cosine, sine),
            self.rotated(parts[1], cosine, sine),
            parts[2],
        ]
        flat = [self.merge(part, count) for part, count in zip(parts, counts, strict=True)]
        entered = self.whole(first["normed"])
        gradients += [self.gradient(entered, part) for part in flat]
        passed = None
        for part, weight in zip(flat, into, strict=True):
            product = self.product(part, self.transposed(weight))
            passed = product if passed is None else p.add(passed, product)
        tangent = p.add(tangent, self.norm_gradient(self.reduced(passed), x, norms[0]))
        return p.returns(result, tangent, *gradients).text()

    def whole(self, shard: Value) -> Value:
        """Gathered again for the gradients of the weights."""
        if self.precision == "tensorwise":
            return self.p.all_gather(self.quantize(shard)[0], 0, self.group)
        return self.p.all_gather(shard, 0, self.group)

    def again(self, entered: Value, weight: Value) -> Value:
        if self.precision != "tensorwise":
            return self.product(entered, weight)
        b, t = self.quantize(weight)
        return self.scaled(entered, t, b, t)

    def arrived(self, tangent: Value) -> Value:
        """A gathered tangent, which the fused op or the all_gather before has left."""
        shape = [self.tokens, tangent.shape[1]]
        eight = self.precision == "tensorwise"
        return self.input(shape, "varying", torch.float8_e4m3fn if eight else torch.bfloat16)

    def transposed(self, weight: Value) -> Value:
        return self.p.permute(weight, [1, 0])

    def gradient(self, operand: Value, tangent: Value) -> Value:
        flipped = self.p.permute(operand, [1, 0])
        if self.precision == "bf16":
            return self.p.matmul(flipped, tangent)
        eight = torch.float8_e4m3fn
        a = flipped if flipped.shards[0].dtype == eight else self.quantize(flipped)[0]
        b = tangent if tangent.shards[0].dtype == eight else self.quantize(tangent)[0]
        one = self.p.constant(1.0)
        return self.scaled(a, one, b, one)

    def norm_gradient(self, tangent: Value, x: Value, weight: Value) -> Value:
        """What the backward of a norm reads and writes: two passes over its rows."""
        p = self.p
        scaled = p.mul(tangent, weight)
        mean = p.reshape(p.reduce("sum", p.mul(scaled, x), [1]), [x.shape[0], 1])
        return p.add(scaled, p.mul(x, mean))

    def attention_gradient(self, first: dict[str, Value], tangent: Value) -> list[Value]:
        p = self.p
        values = [first[name] for name in ("query", "key", "value")]
        sums = self.input(first["mixed"].shape[:-1], "varying", torch.float32)
        operands = [tangent, *values, first["mixed"], sums]
        types = ", ".join(value.type for value in operands)
        shards = [
            [torch.empty(value.shape, dtype=torch.bfloat16, device="meta")] for value in values
        ]
        name = f"%gradients{len(p.lines)}"
        results = [Value(f"{name}#{index}", shard) for index, shard in enumerate(shards)]
        p.lines.append(
            f"{name}:3 = tp.attention_backward {', '.join(value.name for value in operands)}"
            f" is_causal grouped_heads : ({types}) -> ({', '.join(r.type for r in results)})"
        )
        return results

    def head(self, trains: bool) -> str:
        """The last norm, the logits, and the loss, whose classes are sharded."""
        self.start()
        p, m = self.p, self.model
        rows, classes = self.tokens // self.ranks, m.vocabulary // self.ranks
        x = self.input([rows, m.hidden], "varying")
        norm = self.input([m.hidden], "replicated")
        weight = self.input([m.hidden, classes], "varying")
        normed = p.rms_norm(x, norm, EPSILON)
        whole = p.all_gather(normed, 0, self.group)
        logits = p.matmul(whole, weight)
        if not trains:
            return p.returns(logits).text()
        wide = p.cast(logits, torch.float32)
        largest = p.all_reduce("max", p.reduce("max", wide, [1]), self.group)
        shifted = p.map("sub", wide, p.reshape(largest, [self.tokens, 1]))
        total = p.all_reduce("sum", p.reduce("sum", p.map("silu", shifted), [1]), self.group)
        tangent = p.mul(p.map("silu", shifted), p.reshape(total, [self.tokens, 1]))
        tangent = p.cast(tangent, torch.bfloat16)
        gradient = p.matmul(p.permute(whole, [1, 0]), tangent)
        passed = self.reduced(p.matmul(tangent, p.permute(weight, [1, 0])))
        return p.returns(self.norm_gradient(passed, x, norm), gradient).text()
