# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Large archives in the form that PyTorch writes, made without PyTorch.

A long graph is a fixture's graph repeated: each copy has values and parameters
of its own and reads what the one before it returned. The JSON is what
PyTorch 2.13 wrote, stack traces and all, but for the names.
"""

import json
import zipfile
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "test" / "fixtures"
MODEL = "models/model.json"
# Time stamps as PyTorch writes them; zip has no earlier ones.
_DATE = (1980, 1, 1, 0, 0, 0)


def read_fixture(name):
    """The records of a fixture, by name, in order."""
    with zipfile.ZipFile(FIXTURES / f"{name}.pt2") as archive:
        return {info.filename.split("/", 1)[1]: archive.read(info) for info in archive.infolist()}


def write_archive(path, records):
    """Stores the records; a value is bytes, or an iterable of bytes with its size."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, value in records.items():
            info = zipfile.ZipInfo(f"{path.stem}/{name}", _DATE)
            parts, size = ([value], len(value)) if isinstance(value, bytes) else value
            with archive.open(info, "w", force_zip64=size > 1 << 31) as record:
                for part in parts:
                    record.write(part)


def write_long_graph(path, fixture, nodes):
    """An archive of at least this many nodes; gives their number.

    All copies say that their weights lie where the fixture's do.
    """
    records = read_fixture(fixture)
    program = json.loads(records[MODEL])
    copies = -(-nodes // len(program["graph_module"]["graph"]["nodes"]))
    _repeat(program, copies)
    sidecar = json.loads(records["extra/commute.json"])
    sidecar["inputs"] = {}
    configs = {
        name: json.dumps({"config": _repeat_weights(json.loads(text)["config"], copies)}).encode()
        for name, text in records.items()
        if name.endswith("_config.json")
    }
    weights = {
        name: data
        for name, data in records.items()
        if name.startswith(("data/weights/", "data/constants/")) and name not in configs
    }
    write_archive(
        path,
        {
            **configs,
            **weights,
            MODEL: json.dumps(program).encode(),
            "data/sample_inputs/model.pt": b"",
            "extra/commute.json": json.dumps(sidecar).encode(),
            "archive_format": b"pt2",
            "archive_version": b"0",
            ".data/version": b"6\n",
            "byteorder": b"little",
        },
    )
    return len(program["graph_module"]["graph"]["nodes"])


def _repeat_weights(config, copies):
    return {
        f"copies.{copy}.{name}": entry for copy in range(copies) for name, entry in config.items()
    }


def _repeat(program, copies):
    """Puts copies of the graph one behind the other."""
    graph = program["graph_module"]["graph"]
    signature = program["graph_module"]["signature"]
    specs = signature["input_specs"]
    (user,) = (spec["user_input"]["arg"] for spec in specs if "user_input" in spec)
    first = user["as_tensor"]["name"]
    (last,) = (output["as_tensor"]["name"] for output in graph["outputs"])
    values = graph["tensor_values"]
    assert values[first]["sizes"] == values[last]["sizes"], "copies cannot follow each other"

    def rename(tree, new_name):
        """A copy with new names of values; metadata stays."""
        if isinstance(tree, list):
            return [rename(item, new_name) for item in tree]
        if not isinstance(tree, dict):
            return tree
        return {
            key: new_name(item) if key == "name" and item in values else rename(item, new_name)
            for key, item in tree.items()
        }

    long_graph = dict(graph, inputs=[], nodes=[], tensor_values={}, outputs=[])
    long_specs = []
    for copy in range(copies):

        def new_name(name, copy=copy):
            if name == first:
                return f"{last}_{copy - 1}_" if copy else first
            return f"{name}_{copy}_"

        for graph_input, spec in zip(graph["inputs"], specs, strict=True):
            if copy and "user_input" in spec:
                continue
            long_graph["inputs"].append(rename(graph_input, new_name))
            spec = rename(spec, new_name)
            for entry in spec.values():
                for key in ("parameter_name", "buffer_name", "tensor_constant_name"):
                    if key in entry:
                        entry[key] = f"copies.{copy}.{entry[key]}"
            long_specs.append(spec)
        for node in graph["nodes"]:
            arguments = {key: rename(node[key], new_name) for key in ("inputs", "outputs")}
            name = new_name(node["name"])
            long_graph["nodes"].append(dict(node, **arguments, name=name))
        for name, meta in values.items():
            long_graph["tensor_values"][new_name(name)] = meta
    result = {"as_tensor": {"name": f"{last}_{copies - 1}_"}}
    long_graph["outputs"] = [result]
    signature["input_specs"] = long_specs
    signature["output_specs"] = [{"user_output": {"arg": result}}]
    program["graph_module"]["graph"] = long_graph
    program["graph_module"]["module_call_graph"] = program["graph_module"]["module_call_graph"][:1]


def write_heavy_weights(path, size):
    """A fixture that `commute opt` rewrites, and a weight of `size` bytes."""
    records = read_fixture("llama_transposed_gather_tp2")
    # Not zeros, so that no layer below stores them as holes.
    block = bytes(range(256)) * (1 << 12)
    assert size % len(block) == 0
    heavy = {"data/weights/weight_heavy": ((block for _ in range(size // len(block))), size)}
    write_archive(path, {**heavy, **records})
