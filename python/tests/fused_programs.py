# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs of fused collectives, with small whole numbers as inputs.

Sums of products of such numbers are exact in f32, so that results can be
compared bit by bit however the sums are made; what is rounded is rounded once,
from the exact sum.
"""

import dataclasses

import torch

NAMES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.int32: "i32",
}


def type_of(sizes, dtype):
    return f"tensor<{''.join(f'{size}x' for size in sizes)}{NAMES[dtype]}>"


@dataclasses.dataclass
class Case:
    """One fused op. Sizes are those on one rank; `fits` has sizes by the number of ranks.

    `kind` is "gather" or "scatter", `lhs` the shard or the left-hand side, and
    `columns` those of each right-hand side.
    """

    kind: str
    lhs: tuple
    columns: tuple
    axis: int
    dtype: torch.dtype = torch.float32
    result: torch.dtype = None
    returns_gathered: bool = False
    reduction: str = "sum"
    has_bias: bool = False
    # Sizes of the scales of the left-hand side and of the right-hand sides.
    scales: tuple = None

    def __post_init__(self):
        self.result = self.result or self.dtype

    def lhs_sizes(self, ranks):
        """Of scattered dims, `lhs` has the part of one rank."""
        sizes = list(self.lhs)
        if self.kind == "scatter" and self.axis + 1 < len(sizes):
            sizes[self.axis] *= ranks
        return sizes

    def inner(self, ranks):
        contracts = self.kind == "gather" and self.axis + 1 == len(self.lhs)
        return self.lhs[-1] * (ranks if contracts else 1)

    def rhs_columns(self, ranks):
        scatters = self.kind == "scatter" and self.axis + 1 == len(self.lhs)
        return [columns * (ranks if scatters else 1) for columns in self.columns]

    def inputs(self, ranks):
        """Sizes and element type of each operand, in order."""
        count = len(self.columns)
        columns = self.rhs_columns(ranks)
        operands = [(self.lhs_sizes(ranks), self.dtype)]
        operands += [((self.inner(ranks), size), self.dtype) for size in columns]
        if self.has_bias:
            operands += [((size,), self.result) for size in columns]
        if self.scales:
            lhs, rhs = self.scales
            operands += [(lhs, torch.float32)] + [(rhs, torch.float32)] * count
        return operands

    def expected(self, values):
        """What each rank gets; values[rank] are its operands as f64."""
        ranks, count = len(values), len(self.columns)
        lhs = [own[0] for own in values]
        if self.scales:
            lhs = [own[0] * own[-1 - count] for own in values]
        outputs = [[] for _ in values]
        gathered = torch.cat(lhs, self.axis) if self.kind == "gather" else None
        if self.returns_gathered:
            for output in outputs:
                output.append(torch.cat([own[0] for own in values], self.axis).to(self.dtype))
        for index in range(count):
            products = []
            for rank, own in enumerate(values):
                rhs = own[1 + index] * (own[index - count] if self.scales else 1)
                product = (lhs[rank] if gathered is None else gathered) @ rhs
                products.append(product + (own[1 + count + index] if self.has_bias else 0))
            if gathered is None:
                total = sum(products)
                if self.reduction == "avg":
                    total = total.float() / ranks
                products = total.chunk(ranks, self.axis)
            for output, product in zip(outputs, products):
                output.append(product.to(self.result))
        return outputs

    def output_types(self, ranks):
        sizes = list(self.lhs)
        types = []
        if self.kind == "gather":
            sizes[self.axis] *= ranks
            if self.returns_gathered:
                types.append(type_of(sizes, self.dtype))
        return types + [type_of([*sizes[:-1], columns], self.result) for columns in self.columns]

    def fused(self, name, operands, ranks):
        """The op; `operands` are names."""
        count = len(self.columns)
        lhs, *rest = operands
        rhs, rest = rest[:count], rest[count:]
        biases, scales = (rest[:count], rest[count:]) if self.has_bias else ([], rest)
        results = self.output_types(ranks)
        if self.kind == "gather":
            text = f"tp.all_gather_matmul {lhs}, rhs({', '.join(rhs)})"
            if biases:
                text += f" biases({', '.join(biases)})"
            if scales:
                text += f" shard_scale {scales[0]} rhs_scales({', '.join(scales[1:])})"
            text += f" gather_axis {self.axis}"
        else:
            text = f"tp.matmul_reduce_scatter {self.reduction} {lhs}, {rhs[0]}"
            if biases:
                text += f" bias {biases[0]}"
            if scales:
                text += f" lhs_scale {scales[0]} rhs_scale {scales[1]}"
            text += f" scatter_axis {self.axis}"
        text += " group #all" + (" returns_gathered" if self.returns_gathered else "")
        types = ", ".join(type_of(*operand) for operand in self.inputs(ranks))
        return [f"{name}:{len(results)} = {text} : ({types}) -> ({', '.join(results)})"]

    def unfused(self, name, operands, ranks):
        """A collective and a product, for one right-hand side without scales."""
        sizes = self.inputs(ranks)
        lhs, result = self.lhs_sizes(ranks), self.output_types(ranks)[-1]
        bias = f" bias {operands[2]}" if self.has_bias else ""
        biases = f", {type_of(*sizes[2])}" if self.has_bias else ""
        if self.kind == "gather":
            lhs[self.axis] *= ranks
        product = type_of([*lhs[:-1], self.rhs_columns(ranks)[0]], self.dtype)

        def multiply(target, source):
            types = f"{type_of(lhs, self.dtype)}, {type_of(*sizes[1])}{biases}"
            return f"{target} = tp.matmul {source}, {operands[1]}{bias} : ({types}) -> {product}"

        def move(target, source, what, before, after):
            where = f"{self.kind}_axis {self.axis} group #all"
            return f"{target} = {what} {source} {where} : {before} -> {after}"

        if self.kind == "gather":
            before, after = type_of(*sizes[0]), type_of(lhs, self.dtype)
            gathered = move(f"{name}_all", operands[0], "tp.all_gather", before, after)
            return [gathered, multiply(name, f"{name}_all")]
        what = f"tp.reduce_scatter {self.reduction}"
        return [
            multiply(f"{name}_all", operands[0]),
            move(name, f"{name}_all", what, product, result),
        ]


F32, BF16, F8 = torch.float32, torch.bfloat16, torch.float8_e4m3fn
CASES = {
    "gather_rows": Case("gather", (256, 192), (64, 40), 0, returns_gathered=True),
    "gather_rows_biased": Case("gather", (256, 192), (64,), 0, has_bias=True),
    "gather_rows_bf16": Case("gather", (384, 192), (64, 8), 0, BF16, has_bias=True),
    "gather_rows_f16": Case("gather", (384, 192), (64,), 0, torch.float16),
    "gather_rows_f64": Case("gather", (10, 6), (4,), 0, torch.float64),
    "gather_rows_i32": Case("gather", (10, 6), (4,), 0, torch.int32),
    "gather_first_of_three": Case("gather", (2, 128, 96), (72,), 0),
    "gather_second_of_three": Case("gather", (3, 128, 96), (72, 5), 1, returns_gathered=True),
    "gather_contraction": Case("gather", (600, 64), (72,), 1, has_bias=True),
    "gather_contraction_of_three": Case(
        "gather", (2, 128, 128), (72, 16), 2, BF16, returns_gathered=True
    ),
    "gather_nothing": Case("gather", (0, 6), (4,), 0),
    "gather_scaled": Case("gather", (512, 128), (64, 16), 0, F8, BF16, scales=((), (1, 1))),
    "gather_scaled_rows": Case(
        "gather", (512, 128), (64,), 0, F8, BF16, scales=((512, 1), (1, 64))
    ),
    "gather_scaled_rows_of_three": Case(
        "gather", (2, 256, 256), (64,), 1, F8, F32, True, scales=((2, 256, 1), ())
    ),
    "scatter_rows": Case("scatter", (320, 96), (160,), 0),
    "scatter_rows_bf16": Case("scatter", (320, 96), (160,), 0, BF16),
    "scatter_rows_f16": Case("scatter", (128, 96), (160,), 0, torch.float16),
    "scatter_rows_i32": Case("scatter", (4, 6), (5,), 0, torch.int32),
    "scatter_second_of_three": Case("scatter", (3, 64, 96), (160,), 1, has_bias=True),
    "scatter_average": Case("scatter", (3, 64, 96), (160,), 1, BF16, F32, reduction="avg"),
    "scatter_columns": Case("scatter", (600, 96), (48,), 1),
    "scatter_columns_biased": Case("scatter", (2, 200, 96), (48,), 2, BF16, has_bias=True),
    "scatter_scaled": Case("scatter", (256, 128), (64,), 0, F8, BF16, scales=((), ())),
}


def draw(case, index, ranks, rank):
    """The operands of a rank."""
    generator = torch.Generator().manual_seed(1000 * index + rank)
    values = []
    for place, (sizes, dtype) in enumerate(case.inputs(ranks)):
        is_scale = case.scales and place > len(case.columns)
        low, high = (0, 3) if is_scale else (-3, 4)
        value = torch.randint(low, high, tuple(sizes), generator=generator).double()
        values.append((2.0**-value if is_scale else value).to(dtype))
    return values


def write_program(ranks, names, form="fused", change=lambda text: text):
    """A module of the cases called `names`, and their inputs by name.

    `form` is the method that spells the cases.
    """
    arguments, lines, outputs, types, tensors = [], [], [], [], {}
    for index, name in enumerate(names):
        case = CASES[name]
        operands = []
        for place, operand in enumerate(case.inputs(ranks)):
            operands.append(f"%{name}_{place}")
            arguments.append(f'{operands[-1]}: {type_of(*operand)} {{tp.name = "{name}_{place}"}}')
        lines += getattr(case, form)(f"%{name}", operands, ranks)
        results = case.output_types(ranks)
        places = [f"%{name}"]
        if form == "fused":
            places = [f"%{name}#{number}" for number in range(len(results))]
        outputs += places
        types += results[-len(places) :]
        for rank in range(ranks):
            for operand, value in zip(operands, draw(case, index, ranks, rank)):
                tensors[f"rank{rank}.{operand[1:]}"] = value
    body = "\n".join(f"    {line}" for line in lines)
    members = list(range(ranks))
    text = f"""#all = #tp.group<"0", {members}>
module attributes {{tp.groups = [#all]}} {{
  func.func @main({", ".join(arguments)}) -> ({", ".join(types)}) {{
{body}
    return {", ".join(outputs)} : {", ".join(types)}
  }}
}}
"""
    return change(text), tensors


def expected(ranks, names):
    """What each rank gets, of all cases one behind the other."""
    outputs = [[] for _ in range(ranks)]
    for index, name in enumerate(names):
        case = CASES[name]
        values = [[v.double() for v in draw(case, index, ranks, rank)] for rank in range(ranks)]
        for output, own in zip(outputs, case.expected(values)):
            output += own
    return outputs
