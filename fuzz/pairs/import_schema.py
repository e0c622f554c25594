# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs of archives, read so that PyTorch's kernels can run them on all ranks.

The other way of export_schema.py, for what `commute opt` writes. Fused collectives
become what they are made of. `check_metadata` says where an archive states another
shape or type than its operators give.
"""

import json
import zipfile

import torch
import torch.distributed._symmetric_memory  # registers symm_mem

from pairs.export_schema import MEMORY_FORMATS, SCALAR_TYPES
from pairs.programs import Builder, Program, aten

DTYPES = {number: dtype for dtype, number in SCALAR_TYPES.items()}
FORMATS = {number: form for form, number in MEMORY_FORMATS.items()}


def read_archive(path):
    """The program document of an archive."""
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("models/model.json")]
        return json.loads(archive.read(name))


def _operator(target):
    found = torch
    for part in target.removeprefix("torch.").split("."):
        found = getattr(found, part)
    return found


class _Reader:
    def __init__(self, pool, document):
        self.graph = document["graph_module"]["graph"]
        self.builder = Builder(pool)
        self.values = {}
        for name, node in pool.inputs.items():
            self.builder.add(node)
            self.values[name] = node.values[0]

    def argument(self, argument):
        ((tag, payload),) = argument.items()
        if tag == "as_none":
            return None
        if tag == "as_tensor":
            return self.values[payload["name"]]
        if tag == "as_tensors":
            return [self.values[item["name"]] for item in payload]
        if tag == "as_optional_tensors":
            return [self.argument(item) for item in payload]
        if tag == "as_scalar_type":
            return DTYPES[payload]
        if tag == "as_memory_format":
            return FORMATS[payload]
        if tag == "as_device":
            return torch.device("cpu")
        if tag == "as_layout":
            return torch.strided
        if tag in ("as_float", "as_floats"):
            return [float(x) for x in payload] if tag == "as_floats" else float(payload)
        if tag in ("as_int", "as_ints", "as_bool", "as_bools", "as_string", "as_strings"):
            return payload
        raise ValueError(f"an argument of kind {tag}")

    def call(self, node):
        given = {entry["name"]: self.argument(entry["arg"]) for entry in node["inputs"]}
        if node["target"].startswith("torch.ops.symm_mem."):
            return self.fused(node["target"], given)
        target = _operator(node["target"])
        args = []
        for argument in target._schema.arguments:
            if argument.name not in given or argument.kwarg_only:
                # The caller states it by name, or leaves the default.
                if argument.has_default_value() and given and not argument.kwarg_only:
                    args.append(argument.default_value)
                    continue
                break
            args.append(given.pop(argument.name))
        while args and not given and len(args) > 1 and args[-1] is None:
            args.pop()
        given = {
            name: value
            for name, value in given.items()
            if name not in ("layout", "device", "pin_memory")
        }
        return self.builder.call(target, *args, **given)

    def fused(self, target, given):
        b = self.builder
        groups = b.pool.groups[given["group_name"]]
        size = len(groups[0])

        def turned(x, dim):
            return x if dim == 0 else b.dense(b.call(aten.transpose.int, x, 0, dim, exact=True))

        if "fused_all_gather_matmul" in target:
            dim = given["gather_dim"] % given["A"].rank
            shard = b.dense(turned(given["A"], dim))
            whole = b.collective(
                "all_gather_into_tensor", shard, size, given["group_name"], exact=True
            )
            whole = turned(whole, dim)
            return [whole, [b.call(aten.matmul.default, whole, side) for side in given["Bs"]]]
        if "fused_matmul_reduce_scatter" in target:
            product = b.call(aten.matmul.default, given["A"], given["B"])
            dim = given["scatter_dim"] % product.rank
            shard = b.dense(turned(product, dim))
            part = b.collective(
                "reduce_scatter_tensor", shard, given["reduce_op"], size, given["group_name"]
            )
            return turned(part, dim)
        raise ValueError(f"the operator {target}")

    def define(self, outputs, results):
        results = results if isinstance(results, list) else [results]
        if len(outputs) == 1 and "as_tensors" in outputs[0]:
            results = [results]
        for output, result in zip(outputs, results):
            ((tag, payload),) = output.items()
            if tag == "as_tensor":
                self.values[payload["name"]] = result
            elif tag == "as_tensors":
                for item, value in zip(payload, result, strict=True):
                    self.values[item["name"]] = value

    def program(self):
        for node in self.graph["nodes"]:
            try:
                self.define(node["outputs"], self.call(node))
            except (RuntimeError, IndexError, TypeError, ValueError, KeyError) as error:
                raise ValueError(
                    f"node {node.get('name')}: {node['target']}: {str(error)[:300]}"
                ) from error
        outputs, constants = [], []
        for output in self.graph["outputs"]:
            ((tag, payload),) = output.items()
            if tag == "as_tensor":
                outputs.append(self.values[payload["name"]])
            else:
                constants.append(None if tag == "as_none" else payload)
        return Program(self.builder.pool, self.builder.items, outputs, constants)

    def check_metadata(self):
        """What the archive states wrongly, or None."""
        for name, value in self.values.items():
            meta = self.graph["tensor_values"].get(name)
            if meta is None:
                return f"nothing is stated of {name}"
            sizes = [size["as_int"] for size in meta["sizes"]]
            if sizes != list(value.shape):
                return f"{name} is stated to be {sizes}, and is {list(value.shape)}"
            if DTYPES[meta["dtype"]] != value.dtype:
                return f"{name} is stated to be {DTYPES[meta['dtype']]}, and is {value.dtype}"
        return None


def read_program(pool, document):
    """The program over the pool's inputs, and what its archive states wrongly."""
    reader = _Reader(pool, document)
    program = reader.program()
    return program, reader.check_metadata()
