# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs as text of the export schema, which models/NAME.json of a .pt2 holds.

torch.export takes a second for what this takes a millisecond for; the reader of
archives is the same. `save` writes a whole archive, for reproducers.
"""

import functools
import json
import math
import zipfile

import torch

from pairs.programs import Size, Value

SCALAR_TYPES = {
    torch.uint8: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.bool: 12,
    torch.bfloat16: 13,
    torch.float8_e4m3fn: 29,
}
MEMORY_FORMATS = {torch.contiguous_format: 1, torch.preserve_format: 4}
_BYTES = {number: dtype.itemsize for dtype, number in SCALAR_TYPES.items()}
CPU = {"type": "cpu", "index": None}
STRIDED = 7
SYMBOL_RANGE = {"s0": {"min_val": 2, "max_val": 1024}}


class NotExpressible(Exception):
    """A size that is no polynomial of the symbol."""


@functools.cache
def _schema(target):
    arguments = [argument.name for argument in target._schema.arguments]
    return f"torch.ops.{target}", arguments


def _polynomial(numbers, symbols):
    """The integer polynomial a*s0**2 + b*s0 + c with these values at these symbols."""
    if len(set(numbers)) == 1:
        return {"as_int": numbers[0]}
    (x0, x1, x2, *more), (y0, y1, y2, *rest) = symbols, numbers
    second, remainder = divmod(
        (y2 - y0) * (x1 - x0) - (y1 - y0) * (x2 - x0), (x2 - x0) * (x1 - x0) * (x2 - x1)
    )
    if remainder:
        raise NotExpressible
    slope, remainder = divmod(y1 - y0 - second * (x1 * x1 - x0 * x0), x1 - x0)
    offset = y0 - second * x0 * x0 - slope * x0
    if remainder or any(second * x * x + slope * x + offset != y for x, y in zip(more, rest)):
        raise NotExpressible
    terms = [f"{second}*s0**2"] * bool(second) + [f"{slope}*s0"] * bool(slope)
    terms += [str(offset)] * bool(offset)
    text = " + ".join(terms)
    return {"as_expr": {"expr_str": text, "hint": {"as_int": y0}}}


class _Writer:
    def __init__(self, program):
        self.program = program
        self.pool = program.pool
        self.values = {}
        self.nodes = []
        self.sizes = {}
        self.sym_ints = {}
        symbols = self.pool.symbol_values
        self.symbols = symbols if len(symbols) > 1 else None

    def number(self, numbers):
        return _polynomial(numbers, self.symbols) if self.symbols else {"as_int": numbers[0]}

    def meta(self, value):
        samples = range(len(self.symbols)) if self.symbols else (0,)
        tensors = [self.pool.compute(value.node, sample)[value.position][0] for sample in samples]
        if len({tensor.dim() for tensor in tensors}) > 1:
            raise NotExpressible
        return {
            "dtype": SCALAR_TYPES[value.dtype],
            "sizes": [self.number(sizes) for sizes in zip(*(tensor.shape for tensor in tensors))],
            "requires_grad": False,
            "device": CPU,
            "strides": [self.number(s) for s in zip(*(tensor.stride() for tensor in tensors))],
            "storage_offset": {"as_int": 0},
            "layout": STRIDED,
        }

    def define(self, value):
        if value.name not in self.values:
            self.values[value.name] = self.meta(value)
        return {"name": value.name}

    def size(self, size):
        """The name of a symbolic size; nodes compute it from an input's."""
        if "s0" not in self.sizes:
            name, dim = next(
                (node.spec.name, node.spec.shape.index(Size(1)))
                for node in self.pool.inputs.values()
                if Size(1) in node.spec.shape
            )
            inputs = [
                {"name": "self", "arg": {"as_tensor": {"name": name}}, "kind": 1},
                {"name": "dim", "arg": {"as_int": dim}, "kind": 1},
            ]
            self.sizes["s0"] = self.size_node("torch.ops.aten.sym_size.int", inputs, "size", "s0")
        name = self.sizes["s0"]
        for target, number, neutral in (("mul", size.factor, 1), ("add", size.offset, 0)):
            if number == neutral:
                continue
            key = (target, name, number)
            if key not in self.sizes:
                inputs = [
                    {"name": "a", "arg": {"as_sym_int": {"as_name": name}}, "kind": 1},
                    {"name": "b", "arg": {"as_int": number}, "kind": 1},
                ]
                text = f"{number}*s0" if target == "mul" else self.text_of(size)
                self.sizes[key] = self.size_node(
                    f"_operator.{target}", inputs, f"size_{len(self.sizes)}", text
                )
            name = self.sizes[key]
        return name

    @staticmethod
    def text_of(size):
        product = "s0" if size.factor == 1 else f"{size.factor}*s0"
        return f"{product} + {size.offset}"

    def size_node(self, target, inputs, name, text):
        outputs = [{"as_sym_int": {"as_name": name}}]
        self.nodes.append(
            {"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}, "name": name}
        )
        self.sym_ints[name] = {"as_expr": {"expr_str": text, "hint": None}}
        return name

    def argument(self, value):
        if isinstance(value, Value):
            return {"as_tensor": self.define(value)}
        if value is None:
            return {"as_none": True}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            return {"as_int": value}
        if isinstance(value, float):
            # JSON has no other numbers; PyTorch writes "Infinity" and "NaN".
            if not math.isfinite(value):
                return {
                    "as_float": "NaN"
                    if math.isnan(value)
                    else str(value).replace("inf", "Infinity")
                }
            return {"as_float": value}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, Size):
            return {"as_sym_int": {"as_name": self.size(value)}}
        if isinstance(value, torch.dtype):
            return {"as_scalar_type": SCALAR_TYPES[value]}
        if isinstance(value, torch.memory_format):
            return {"as_memory_format": MEMORY_FORMATS[value]}
        if isinstance(value, torch.device):
            return {"as_device": CPU}
        if isinstance(value, torch.layout):
            return {"as_layout": STRIDED}
        return self.sequence(value)

    def sequence(self, values):
        if not values:
            return {"as_ints": []}
        parts = [self.argument(value) for value in values]
        tags = {next(iter(part)) for part in parts}
        payloads = [next(iter(part.values())) for part in parts]
        if tags == {"as_tensor", "as_none"}:
            return {"as_optional_tensors": parts}
        if "as_sym_int" in tags:
            sizes = [part if "as_int" in part else part["as_sym_int"] for part in parts]
            return {"as_sym_ints": sizes}
        (tag,) = tags
        return {f"{tag}s": payloads}

    def node(self, node):
        target, names = _schema(node.target)
        inputs = [
            {"name": name, "arg": self.argument(argument), "kind": 1}
            for name, argument in zip(names, node.args)
        ]
        inputs += [
            {"name": name, "arg": self.argument(argument), "kind": 2}
            for name, argument in node.kwargs.items()
        ]
        names = [self.define(value) for value in node.values]
        returns_list = "Tensor[]" in str(node.target._schema.returns[0].type) or (
            str(node.target._schema.returns[0].type) == "List[Tensor]"
        )
        outputs = [{"as_tensors": names}] if returns_list else [{"as_tensor": n} for n in names]
        self.nodes.append(
            {
                "target": target,
                "inputs": inputs,
                "outputs": outputs,
                "metadata": {},
                "name": f"v{node.id}",
            }
        )

    def input_spec(self, name):
        argument = {"name": name}
        if name in self.program.parameters:
            return {"parameter": {"arg": argument, "parameter_name": self.program.parameters[name]}}
        if name in self.program.buffers:
            buffer = {
                "arg": argument,
                "buffer_name": self.program.buffers[name],
                "persistent": True,
            }
            return {"buffer": buffer}
        return {"user_input": {"arg": {"as_tensor": argument}}}

    def document(self):
        inputs = [node.values[0] for node in self.pool.inputs.values()]
        # Parameters and buffers come first, as torch.export has it.
        state = {*self.program.parameters, *self.program.buffers}
        inputs.sort(key=lambda value: value.name not in state)
        arguments = [{"as_tensor": self.define(value)} for value in inputs]
        for node in self.program.live_nodes():
            if node.target is not None:
                self.node(node)
        outputs, output_specs = [], []
        for index, value in enumerate(self.program.outputs):
            argument = {"as_tensor": self.define(value)}
            outputs.append(argument)
            mutated = self.program.mutations.get(index)
            if mutated is None:
                output_specs.append({"user_output": {"arg": argument}})
            else:
                mutation = {"arg": argument["as_tensor"], "buffer_name": mutated}
                output_specs.append({"buffer_mutation": mutation})
        for constant in self.program.constants:
            argument = self.argument(constant)
            outputs.append(argument)
            output_specs.append({"user_output": {"arg": argument}})
        return {
            "graph_module": {
                "graph": {
                    "inputs": arguments,
                    "outputs": outputs,
                    "nodes": self.nodes,
                    "tensor_values": self.values,
                    "sym_int_values": self.sym_ints,
                    "sym_bool_values": {},
                    "sym_float_values": {},
                    "custom_obj_values": {},
                    "is_single_tensor_return": False,
                },
                "signature": {
                    "input_specs": [self.input_spec(value.name) for value in inputs],
                    "output_specs": output_specs,
                },
                "module_call_graph": [],
                "metadata": {},
            },
            "opset_version": {"aten": 10},
            "range_constraints": SYMBOL_RANGE if self.symbols else {},
            "schema_version": {"major": 8, "minor": 14},
            "verifiers": ["ATEN"],
            "torch_version": torch.__version__,
            "guards_code": [],
        }


def to_text(program):
    """The program and its sidecar, as JSON."""
    pool = program.pool
    document = _Writer(program).document()
    sidecar = {
        "version": 1,
        "groups": {name: {"ranks": lists} for name, lists in pool.groups.items()},
        "inputs": {name: dict(node.spec.placements) for name, node in pool.inputs.items()},
    }
    return json.dumps(document), json.dumps(sidecar)


def save(path, texts):
    """Writes an archive; its weights are zeros."""
    text, sidecar = texts
    program = json.loads(text)["graph_module"]
    records = {"archive_format": "pt2", "archive_version": "0", "models/model.json": text}
    config = {}
    for spec in program["signature"]["input_specs"]:
        kind, content = next(iter(spec.items()))
        if kind == "user_input":
            continue
        meta = program["graph"]["tensor_values"][content["arg"]["name"]]
        elements = math.prod(size["as_int"] for size in meta["sizes"])
        record = f"weight_{len(config)}"
        config[content[f"{kind}_name"]] = {
            "path_name": record,
            "is_param": kind == "parameter",
            "use_pickle": False,
            "tensor_meta": meta,
        }
        records[f"data/weights/{record}"] = bytes(elements * _BYTES[meta["dtype"]])
    records |= {
        "data/weights/model_weights_config.json": json.dumps({"config": config}),
        "data/constants/model_constants_config.json": '{"config": {}}',
        "data/sample_inputs/model.pt": "",
        "extra/commute.json": sidecar,
        ".data/version": "6\n",
        "byteorder": "little",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in records.items():
            archive.writestr(f"{path.stem}/{name}", content)
