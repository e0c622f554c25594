# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Kernels of vLLM that write into their arguments, in archives after functionalization: what
they are read as computes what they compute."""

import pytest
import torch

import serving_operators  # noqa: F401 (defines them)
from commute_tool import commute, optimize, show
from loaded_programs import load
from programs import Model
from records import read_records
from safetensors_files import read_safetensors, write_safetensors

kernels = torch.ops._C
TOKENS, HEADS, KEY_HEADS, HEAD, ROTATED = 6, 4, 2, 8, 4
FP8 = torch.float8_e4m3fn


def silu_and_mul(self, x):
    result = x.new_empty(TOKENS, x.shape[-1] // 2)
    kernels.silu_and_mul(result, x)
    return result


def rotary(is_neox, has_key=True):
    def rotary_embedding(self, query, key, positions):
        query, key = query.clone(), key.clone()
        other = key if has_key else None
        kernels.rotary_embedding(positions, query, other, HEAD, self.cache, is_neox)
        return query, key

    return rotary_embedding


def quantize(self, x):
    result = x.new_empty(x.shape, dtype=FP8)
    kernels.static_scaled_fp8_quant(result, x, self.scale)
    return result.float()


def quantize_rows(self, x):
    result = x.new_empty(x.shape, dtype=FP8)
    scale = x.new_empty(TOKENS, 1)
    kernels.dynamic_per_token_scaled_fp8_quant(result, x, scale, None)
    return result.float(), scale


def quantized_norms(self, x, residual):
    result, of_sum = x.new_empty(x.shape, dtype=FP8), x.new_empty(x.shape, dtype=FP8)
    kernels.rms_norm_static_fp8_quant(result, x, self.norm, self.scale, 1e-5)
    residual = residual.clone()
    kernels.fused_add_rms_norm_static_fp8_quant(of_sum, x, residual, self.norm, self.scale, 1e-5)
    return result.float(), of_sum.float(), residual


def scaled_product(self, x):
    quantized, scales = x.new_empty(x.shape, dtype=FP8), x.new_empty(TOKENS, 1)
    kernels.dynamic_per_token_scaled_fp8_quant(quantized, x, scales, None)
    result = x.new_empty((TOKENS, self.weight.shape[1]), dtype=torch.bfloat16)
    weight = self.weight.to(FP8)
    kernels.cutlass_scaled_mm(result, quantized, weight, scales, self.scales)
    return result.float()


def norms(self, x, residual):
    result = torch.empty_like(x)
    kernels.rms_norm(result, x, self.norm, 1e-5)
    x, residual = x.clone(), residual.clone()
    kernels.fused_add_rms_norm(x, residual, self.norm, 1e-5)
    return result, x, residual


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


QUERY, KEY = draw(TOKENS, HEADS * HEAD), draw(TOKENS, KEY_HEADS * HEAD)
POSITIONS = torch.tensor([3, 1, 0, 2, 7, 7])
CACHE = torch.cat((draw(8, ROTATED // 2).cos(), draw(8, ROTATED // 2).sin()), -1)
HIDDEN = draw(TOKENS, 16)

# By kernel: the function, its arguments and members, and ops that it is read as.
PROGRAMS = {
    "norms": (norms, (HIDDEN, HIDDEN.flip(0)), {"norm": draw(16)}, {"tp.add_rms_norm": 1}),
    "silu_and_mul": (silu_and_mul, (HIDDEN,), {}, {}),
    "rotary_neox": (rotary(True), (QUERY, KEY, POSITIONS), {"cache": CACHE}, {"tp.take": 1}),
    "rotary_pairs": (rotary(False), (QUERY, KEY, POSITIONS), {"cache": CACHE}, {"tp.take": 1}),
    "rotary_of_query": (
        rotary(True, has_key=False),
        (QUERY, KEY, POSITIONS),
        {"cache": CACHE},
        {"tp.take": 1},
    ),
    "quantize": (quantize, (HIDDEN,), {"scale": torch.tensor([0.02])}, {}),
    "quantized_norms": (
        quantized_norms,
        (HIDDEN, HIDDEN.flip(0)),
        {"norm": draw(16), "scale": torch.tensor([0.02])},
        {"tp.rms_norm": 2},
    ),
    "scaled_product": (
        scaled_product,
        (HIDDEN,),
        {"weight": draw(16, 32), "scales": draw(1, 32).abs()},
        {"tp.matmul": 1},
    ),
    "quantize_rows": (quantize_rows, (HIDDEN,), {}, {"tp.reduce": 1}),
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")

    def make(name):
        path = folder / f"{name}.pt2"
        if not path.exists():
            function, arguments, members, _ = PROGRAMS[name]
            exported = torch.export.export(Model(function, **members), arguments)
            torch.export.save(exported.run_decompositions({}), path)
        return path

    return make


@pytest.mark.parametrize("name", PROGRAMS)
def test_functionalized_kernel_is_read_and_kept(name, archive, tmp_path):
    path = archive(name)
    targets = {str(node.target) for node in load(path).graph.nodes}
    assert any(target.startswith("auto_functionalized") for target in targets), targets
    summary = show(path)
    assert summary["opaque"] == {}
    for op, count in PROGRAMS[name][3].items():
        assert summary["modelled"][op] == count
    target = tmp_path / "out.pt2"
    assert optimize(path, target)["unchanged"]
    assert read_records(target) == read_records(path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_model_of_a_kernel_computes_what_the_kernel_does(name, archive, tmp_path):
    """Commute's runtime runs what the kernel is read as, PyTorch runs the kernel."""
    path = archive(name)
    _, arguments, _, _ = PROGRAMS[name]
    program = load(path)
    expected = program.module()(*arguments)
    expected = [expected] if isinstance(expected, torch.Tensor) else expected
    inputs, outputs = tmp_path / "in.safetensors", tmp_path / "out.safetensors"
    names = program.graph_signature.user_inputs
    write_safetensors(inputs, dict(zip(names, arguments, strict=True)))
    process = commute("run", path, "--ranks=1", f"--inputs={inputs}", f"--outputs={outputs}")
    assert process.returncode == 0, process.stderr
    found = read_safetensors(outputs)
    for index, value in enumerate(expected):
        torch.testing.assert_close(found[f"rank0.output{index}"], value, rtol=1e-5, atol=1e-5)


def test_kernel_that_writes_in_place_stays_opaque(tmp_path):
    """Before functionalization nothing says what later nodes read."""
    path = tmp_path / "program.pt2"
    function, arguments, members, _ = PROGRAMS["norms"]
    torch.export.save(torch.export.export(Model(function, **members), arguments), path)
    summary = show(path)
    assert summary["opaque"]["torch.ops._C.fused_add_rms_norm.default"] == 1
    assert optimize(path, tmp_path / "out.pt2")["unchanged"]
