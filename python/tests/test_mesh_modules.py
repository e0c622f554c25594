# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models on a mesh of two axes in torch.compile on four gloo ranks: outputs and gradients are
those without Commute, collectives become others, and nothing is compiled more often.

fuzz/live_modules.py tries every model with every pass, alone and together.
"""

import pytest

from live_modules import Case, run_cases
from ranks import call_on_ranks

pytestmark = pytest.mark.in_process

# One case of each kind: 2-D mesh with FSDP, several groups in one graph, dynamic sizes.
CASES = [
    Case("fsdp_llama"),
    Case("two_axes", is_dynamic=True),
    Case("two_axes", passes="micro-pipeline"),
    Case("two_axes", passes="sequence-parallel"),
]
FORWARD = {
    "fsdp_llama": {"fused_all_gather_matmul": 2, "fused_matmul_reduce_scatter": 2},
    "two_axes": {
        "fused_all_gather_matmul": 2,
        "fused_matmul_reduce_scatter": 1,
        "all_gather_into_tensor": 1,
    },
}
UNFUSED = {"all_gather_into_tensor": 3, "reduce_scatter_tensor": 1}


@pytest.fixture(scope="module")
def results():
    return call_on_ranks(run_cases, 4, (2, 2), CASES, timeout=500)


@pytest.mark.parametrize("index", range(len(CASES)), ids=map(str, CASES))
def test_values_and_recompilations_are_those_without_commute(results, index):
    for of_rank in results:
        assert of_rank[index]["worst"] < 1e-10
        assert of_rank[index]["compiled"] == of_rank[index]["compiled_without"]


@pytest.mark.parametrize("index", range(len(CASES)), ids=map(str, CASES))
def test_collectives_of_the_forward_graph(results, index):
    case = CASES[index]
    expected = UNFUSED if case.passes == "sequence-parallel" else FORWARD[case.name]
    for of_rank in results:
        assert of_rank[index]["communication"][0] == expected
