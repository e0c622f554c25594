# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Which arguments an operator writes into, for every operator of ATen: as its schema
says, in live graphs, and by PyTorch's conventions in archives, which have no schemas."""

import json
import re

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from commute.torch.effects import written_arguments
from commute.torch.graph_program import GraphProgram
from commute_tool import show_module
from records import PROGRAM, SIDECAR, edit_records

MAX_ARGUMENTS = 48


def is_tensors(argument):
    return str(argument.type) in ("Tensor", "Optional[Tensor]", "List[Tensor]")


def overloads():
    """(name in a program, schema) of the overloads that take tensors."""
    for schema in torch._C._jit_get_all_schemas():
        # Others are TorchScript's own.
        overload = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if not schema.name.startswith("aten::") or not torch._C._dispatch_has_kernel(overload):
            continue
        if any(map(is_tensors, schema.arguments)):
            name = schema.name.removeprefix("aten::")
            yield f"torch.ops.aten.{name}.{schema.overload_name or 'default'}", schema


def node_for(target, schema, name):
    """A call with all tensors that the operator takes; x3 is the argument at place 3."""
    inputs = []
    for place, argument in enumerate(schema.arguments):
        if not is_tensors(argument):
            continue
        tensor = {"name": f"x{place}"}
        is_list = str(argument.type) == "List[Tensor]"
        inputs.append(
            {
                "name": argument.name,
                "arg": {"as_tensors": [tensor]} if is_list else {"as_tensor": tensor},
                "kind": 2 if argument.kwarg_only else 1,
            }
        )
    outputs = [{"as_tensor": {"name": name}}]
    return {
        "target": target, "inputs": inputs, "outputs": outputs, "metadata": {}, "name": name,
    }  # fmt: skip


def schema_writes(schema):
    writes = [
        argument.name
        for argument in schema.arguments
        if is_tensors(argument) and argument.alias_info is not None and argument.alias_info.is_write
    ]
    # Older schemas do not say it.
    if schema.name.removeprefix("aten::") in UNSTATED:
        writes += ["running_mean", "running_var"]
    return set(writes)


UNSTATED = (
    "batch_norm", "instance_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm",
    "_batch_norm_impl_index", "batch_norm_update_stats", "batch_norm_gather_stats",
    "batch_norm_gather_stats_with_counts",
)  # fmt: skip


def test_archives_of_every_operator(tmp_path, fixtures_folder):
    known = list(overloads())
    assert len(known) > 2000

    def edit(records):
        document = json.loads(records[PROGRAM])
        module = document["graph_module"]
        graph, signature = module["graph"], module["signature"]
        names = [f"x{place}" for place in range(MAX_ARGUMENTS)]
        arguments = [{"as_tensor": {"name": name}} for name in names]
        # A write into every input: all of them are places, and every node opaque.
        nodes = [
            {"target": "torch.ops.aten.zero_.default", "outputs": [{"as_tensor": {"name": f"z_{name}"}}],
             "inputs": [{"name": "self", "arg": argument, "kind": 1}], "metadata": {}, "name": f"z_{name}"}
            for name, argument in zip(names, arguments)
        ]  # fmt: skip
        nodes += [node_for(*item, f"r{index}") for index, item in enumerate(known)]
        results = [output["as_tensor"]["name"] for node in nodes for output in node["outputs"]]
        meta = next(iter(graph["tensor_values"].values()))
        meta = {**meta, "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}]}
        outputs = [{"as_tensor": {"name": results[-1]}}]
        graph.update(
            inputs=arguments, outputs=outputs, nodes=nodes,
            tensor_values=dict.fromkeys([*names, *results], meta),
        )  # fmt: skip
        signature["input_specs"] = [{"user_input": {"arg": argument}} for argument in arguments]
        signature["output_specs"] = [{"user_output": {"arg": outputs[0]}}]
        module["module_call_graph"] = []
        records[PROGRAM] = json.dumps(document).encode()
        del records[SIDECAR]

    archive = edit_records(
        fixtures_folder / "llama_transposed_gather_tp2.pt2", tmp_path / "all.pt2", edit
    )
    text = show_module(archive, "--passes=split-linear")
    found = {}
    for line in text.splitlines():
        if call := re.search(r'tp\.call "([^"]+)"\(([^)]*)\)', line):
            operands = call[2].split(", ")
            mutated = re.search(r" mutates \[([0-9, ]+)\]", line)
            places = mutated[1].split(", ") if mutated else []
            found[call[1]] = {operands[int(place)] for place in places}
    wrong = []
    for target, schema in known:
        places = {argument.name: place for place, argument in enumerate(schema.arguments)}
        expected = {f"%arg{places[name]}" for name in schema_writes(schema) if name in places}
        # It takes a tensor out of autograd's graph, and changes no element.
        if target == "torch.ops.aten.detach_.default":
            expected = set()
        if found.get(target) != expected:
            wrong.append((target, sorted(expected), sorted(found.get(target, {"not a call"}))))
    missed = [entry for entry in wrong if not set(entry[1]) <= set(entry[2])]
    assert not missed, "\n".join(map(str, missed))
    # More than is written costs an optimization, and must be rare.
    assert len(wrong) < 0.02 * len(known), wrong


def backward_of_attention():
    operator = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    query = torch.randn(2, 4, 64, 16)
    arguments = (query, query, query, query, query, torch.randn(2, 4, 64))
    return make_fx(lambda *values: operator(*values, 0.0, True), tracing_mode="fake")(*arguments)


@pytest.mark.in_process
def test_an_argument_called_out_may_be_read():
    program = GraphProgram(list(backward_of_attention().graph.nodes), is_functional_graph=True)
    document = json.loads(program.to_json())
    nodes = document["graph_module"]["graph"]["nodes"]
    (node,) = [node for node in nodes if "attention" in node["target"]]
    assert "out" in [entry["name"] for entry in node["inputs"]]
    assert node["metadata"]["writes"] == ""


@pytest.mark.parametrize(
    "overload, names",
    [
        (torch.ops.aten.add.out, ["out"]),
        (torch.ops.aten.add_.Tensor, ["self"]),
        (torch.ops.aten.add.Tensor, []),
        (torch.ops.aten.sort.values, ["values", "indices"]),
        (torch.ops.aten.native_batch_norm.default, ["running_mean", "running_var"]),
        (torch.ops.aten._native_batch_norm_legit_functional.default, []),
        (torch.ops.aten._native_batch_norm_legit.default, ["running_mean", "running_var"]),
    ],
)
def test_schemas_say_what_is_written(overload, names):
    assert written_arguments(overload) == names
