# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Archives written node by node, for programs that PyTorch would never export.

For example:

    program = HandmadeProgram()
    x = program.input("x", [4])
    y = program.all_gather(x, [8], group="0", size=2)
    program.output(program.call("aten.neg.default", {"self": y}, [8]))
    program.write(path, groups={"0": [0, 1]})
"""

import json
import zipfile

FLOAT = 7
LEAF = {"type": None, "context": None, "children_spec": []}


def _tuple(children):
    return {"type": "builtins.tuple", "context": "null", "children_spec": children}


def _structure(root):
    return json.dumps([1, root])


def _size(size):
    """A number, or the text of an expression, whose hint is 8."""
    if isinstance(size, int):
        return {"as_int": size}
    return {"as_expr": {"expr_str": size, "hint": {"as_int": 8}}}


def _argument(value):
    if value is None:
        return {"as_none": True}
    if isinstance(value, Tensor):
        return {"as_tensor": {"name": value.name}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, str):
        return {"as_string": value}
    if value and isinstance(value[0], Tensor):
        return {"as_tensors": [{"name": tensor.name} for tensor in value]}
    return {"as_ints": list(value)}


class Tensor:
    def __init__(self, name, sizes):
        self.name = name
        self.sizes = sizes


class HandmadeProgram:
    def __init__(self):
        self.inputs, self.outputs, self.nodes, self.values = [], [], [], {}
        self.input_specs, self.output_specs = [], []
        self.in_spec = self.out_spec = None

    def _define(self, name, sizes):
        dense = [1] * len(sizes)
        for dim in range(len(sizes) - 2, -1, -1):
            follows = sizes[dim + 1]
            if isinstance(follows, int) and isinstance(dense[dim + 1], int):
                dense[dim] = dense[dim + 1] * follows
            else:
                dense[dim] = f"Mul({dense[dim + 1]}, {follows})"
        self.values[name] = {
            "dtype": FLOAT,
            "sizes": [_size(size) for size in sizes],
            "requires_grad": False,
            "device": {"type": "cpu", "index": None},
            "strides": [_size(stride) for stride in dense],
            "storage_offset": {"as_int": 0},
            "layout": 7,
        }
        return Tensor(name, sizes)

    def input(self, name, sizes, kind="user_input", target=None):
        tensor = self._define(name, sizes)
        self.inputs.append(_argument(tensor))
        spec = {"arg": _argument(tensor) if kind == "user_input" else {"name": name}}
        if kind == "parameter":
            spec["parameter_name"] = target
        if kind == "buffer":
            spec |= {"buffer_name": target, "persistent": True}
        self.input_specs.append({kind: spec})
        return tensor

    def constant_input(self, name, value):
        self.inputs.append(_argument(value))
        constant = {"as_none": True} if value is None else _argument(value)
        self.input_specs.append({"constant_input": {"name": name, "value": constant}})

    def call(self, target, arguments, sizes, name=None, stack_trace=""):
        name = name or f"{target.split('.')[1]}_{len(self.nodes)}"
        result = self._define(name, sizes)
        self.nodes.append(
            {
                "target": "torch.ops." + target,
                "inputs": [
                    {"name": argument, "arg": _argument(value), "kind": 1}
                    for argument, value in arguments.items()
                ],
                "outputs": [_argument(result)],
                "metadata": {"stack_trace": stack_trace},
                "is_hop_single_tensor_return": None,
                "name": name,
            }
        )
        return result

    def _collective(self, target, arguments, sizes, group, **more):
        started = self.call(
            f"_c10d_functional.{target}.default", arguments | {"group_name": group}, sizes, **more
        )
        return self.call("_c10d_functional.wait_tensor.default", {"tensor": started}, sizes)

    def all_gather(self, tensor, sizes, group, size, **more):
        arguments = {"input": tensor, "group_size": size}
        return self._collective("all_gather_into_tensor", arguments, sizes, group, **more)

    def reduce_scatter(self, tensor, sizes, group, size):
        arguments = {"input": tensor, "reduce_op": "sum", "group_size": size}
        return self._collective("reduce_scatter_tensor", arguments, sizes, group)

    def all_reduce(self, tensor, group):
        arguments = {"input": tensor, "reduce_op": "sum"}
        return self._collective("all_reduce", arguments, tensor.sizes, group)

    def output(self, value, kind="user_output", target=None):
        argument = _argument(value)
        self.outputs.append(argument)
        spec = {"arg": argument if kind == "user_output" else argument["as_tensor"]}
        if kind == "buffer_mutation":
            spec["buffer_name"] = target
        if kind == "user_input_mutation":
            spec["user_input_name"] = target
        self.output_specs.append({kind: spec})

    def document(self):
        users = [spec for spec in self.input_specs if "user_input" in spec]
        results = [spec for spec in self.output_specs if "user_output" in spec]
        empty = {"type": "builtins.dict", "context": "[]", "children_spec": []}
        positional = _tuple([LEAF] * len(users))
        in_spec = self.in_spec or _structure(_tuple([positional, empty]))
        out_spec = self.out_spec or _structure(_tuple([LEAF] * len(results)))
        signature = {"inputs": [], "outputs": [], "in_spec": in_spec, "out_spec": out_spec}
        return {
            "graph_module": {
                "graph": {
                    "inputs": self.inputs,
                    "outputs": self.outputs,
                    "nodes": self.nodes,
                    "tensor_values": self.values,
                    "sym_int_values": {},
                    "sym_bool_values": {},
                    "is_single_tensor_return": False,
                    "custom_obj_values": {},
                    "sym_float_values": {},
                },
                "signature": {
                    "input_specs": self.input_specs,
                    "output_specs": self.output_specs,
                },
                "module_call_graph": [{"fqn": "", "signature": signature}],
                "metadata": {},
                "treespec_namedtuple_fields": {},
            },
            "opset_version": {"aten": 10},
            "range_constraints": {},
            "schema_version": {"major": 8, "minor": 14},
            "verifiers": ["TRAINING"],
            "torch_version": "2.9.0",
            "guards_code": [],
        }

    # Parameters and buffers share one record of zeros.
    NUM_WEIGHT_BYTES = 1024

    def _weights(self):
        return {
            entry[f"{kind}_name"]: {
                "path_name": "weight_0",
                "is_param": kind == "parameter",
                "use_pickle": False,
                "tensor_meta": self.values[entry["arg"]["name"]],
            }
            for spec in self.input_specs
            for kind, entry in spec.items()
            if kind in ("parameter", "buffer")
        }

    def write(self, path, groups=None, placements=None, document=None):
        records = {
            "models/model.json": json.dumps(document or self.document()),
            "data/weights/model_weights_config.json": json.dumps({"config": self._weights()}),
            "data/weights/weight_0": bytes(self.NUM_WEIGHT_BYTES),
            "archive_format": "pt2",
            "archive_version": "0",
            "byteorder": "little",
        }
        if groups is not None or placements is not None:
            sidecar = {
                "version": 1,
                "groups": {name: {"ranks": ranks} for name, ranks in (groups or {}).items()},
                "inputs": placements or {},
            }
            records["extra/commute.json"] = json.dumps(sidecar)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for name, content in records.items():
                archive.writestr(f"model/{name}", content)
        return path
