# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""MXFP8 and NVFP4 products: PyTorch has no fused form of them, so they are refused by name."""

import pytest
import torch
import torch.distributed._functional_collectives as functional
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import ScalingType, SwizzleType, scaled_mm

import commute

pytestmark = [
    pytest.mark.in_process,
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
]

FP8, E8M0, FP4 = torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2
BF16 = torch.bfloat16
NO_FUSED_FORM = "PyTorch's fused products take one scale for a tensor or for each row"


def remarks_of(function, *sizes_and_types):
    # These forms exist on GPUs only.
    with FakeTensorMode():
        operands = [
            torch.empty(size, dtype=dtype, device="cuda") for size, dtype in sizes_and_types
        ]
        module = make_fx(function, tracing_mode="fake")(*operands)
        passes = ["normalize-collectives", "micro-pipeline"]
        result = commute.optimize(module, policy="always", passes=passes)
    return result, [remark for remark in result.remarks if remark.verdict != "applied"]


def product(x, w, x_scale, w_scale):
    return torch._scaled_mm(x, w.t(), x_scale, w_scale, out_dtype=BF16)


def recipes(x, w, x_scale, w_scale, recipe, swizzle):
    return scaled_mm(x, w.t(), x_scale, recipe, w_scale, recipe, swizzle, swizzle)


@pytest.fixture
def gathered(fake_group):
    return lambda x: functional.all_gather_tensor(x, 0, fake_group)


@pytest.fixture
def scattered(fake_group):
    return lambda x: functional.reduce_scatter_tensor(x, "sum", 0, fake_group)


# Of a gathered operand of 128 rows and 128 columns, and of 256 columns of the product.
FORMATS = {
    "MXFP8": ((64, 128), FP8, 128 * 4, 256 * 4, E8M0, "MXFP8 scales (one for 32 elements)"),
    "NVFP4": ((64, 64), FP4, 128 * 8, 256 * 8, FP8, "NVFP4 scales (one for 16 elements)"),
}


def operands(name, rows):
    (_, columns), dtype, x_scales, w_scales, scale, _ = FORMATS[name]
    return [((rows, columns), dtype), ((256, columns), dtype), (x_scales, scale), (w_scales, scale)]


def test_a_gathered_mxfp8_product_is_refused_by_name(gathered):
    result, (remark,) = remarks_of(
        lambda x, w, s, t: product(gathered(x), w, s, t), *operands("MXFP8", 64)
    )
    assert not result.is_changed
    assert remark.verdict == "refused" and "'_scaled_mm' uses its result" in remark.message
    assert FORMATS["MXFP8"][-1] in remark.message and NO_FUSED_FORM in remark.message


def test_a_gathered_nvfp4_operand_is_refused_by_name(gathered):
    result, (remark,) = remarks_of(
        lambda x, w, s, t: product(gathered(x), w, s, t), *operands("NVFP4", 64)
    )
    assert not result.is_changed and remark.node == "all_gather_into_tensor"
    assert "float4_e2m1fn_x2 (NVFP4 or MXFP4), for which PyTorch has no fused" in remark.message


@pytest.mark.parametrize("name", FORMATS)
def test_a_scattered_product_is_refused_by_name(scattered, name):
    result, (remark,) = remarks_of(
        lambda x, w, s, t: scattered(product(x, w, s, t)), *operands(name, 128)
    )
    assert not result.is_changed and remark.verdict == "refused"
    assert "it scatters '_scaled_mm'" in remark.message and FORMATS[name][-1] in remark.message


@pytest.mark.parametrize(
    ("recipe", "swizzle", "scale", "sizes", "name"),
    [
        (
            ScalingType.BlockWise1x32,
            SwizzleType.SWIZZLE_32_4_4,
            E8M0,
            ((128 * 4,), (256 * 4,)),
            "MXFP8 scales",
        ),
        (
            ScalingType.BlockWise1x128,
            SwizzleType.NO_SWIZZLE,
            torch.float32,
            ((128, 1), (256, 1)),
            "block-wise scales",
        ),
    ],
)
def test_recipes_of_blocks_are_refused_by_name(gathered, recipe, swizzle, scale, sizes, name):
    result, (remark,) = remarks_of(
        lambda x, w, s, t: recipes(gathered(x), w, s, t, recipe, swizzle),
        ((64, 128), FP8),
        ((256, 128), FP8),
        *((size, scale) for size in sizes),
    )
    assert not result.is_changed
    assert name in remark.message and "_scaled_mm_v2" in remark.message


@pytest.mark.parametrize(
    ("recipe", "sizes"),
    [(ScalingType.TensorWise, ((1,), (1,))), (ScalingType.RowWise, ((64, 1), (1, 256)))],
)
def test_recipes_of_tensors_and_rows_are_fused(gathered, recipe, sizes):
    """In PyTorch's newer operator as in the older one."""

    def function(x, w, x_scale, w_scale):
        scale = gathered(x_scale) if recipe == ScalingType.RowWise else x_scale
        return recipes(gathered(x), w, scale, w_scale, recipe, SwizzleType.NO_SWIZZLE)

    result, _ = remarks_of(
        function, ((64, 128), FP8), ((256, 128), FP8), *((size, torch.float32) for size in sizes)
    )
    assert result.verdict == "equivalent"
    assert "fused_all_gather_scaled_matmul" in str(result.program.graph_module.graph)
