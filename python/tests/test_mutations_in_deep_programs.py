# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The checker sees a fault in one late layer of a deep program.

Layers that repeat are not evaluated again (docs/equivalence.md, "Deep
programs"), so each fault of the suite is planted once more, into one of several
equal rewrites that stand one behind the other.
"""

import json

import pytest
import torch

from spmd_programs import Program
from test_mutations import FAULTS, REWRITES, STRICT_FAULTS, name, verify

LAYERS = 6
FAULTY_LAYER = 4


class DeepProgram(Program):
    """One program many times: a layer's results are inputs of the next one.

    `links` says which input of which layer is which result of the one before;
    the captured program finds them, and its rewritten form takes the same.
    """

    def __init__(self, groups, device, links=None):
        super().__init__(groups, device)
        self.layer = 0
        self.links = links
        self.found = {}
        self.carried = []
        self.outputs = []
        self.types = []

    def input(self, name, shape, placements, dtype=torch.float32, std=1.0, mean=0.0):
        index = self.find_link(name, shape, placements, dtype)
        if index is not None:
            self.found[self.layer, name] = index
            return self.carried[index]
        return super().input(f"layer{self.layer}_{name}", shape, placements, dtype, std, mean)

    def find_link(self, name, shape, placements, dtype):
        if self.links is not None:
            return self.links.get((self.layer, name))
        for index, value in enumerate(self.carried):
            fits = value.shape == list(shape) and value.shards[0].dtype == dtype
            fits = fits and value.shards[0].is_contiguous()
            same = all(torch.equal(shard, value.shards[0]) for shard in value.shards)
            # A result is no shard that an input is stated to be.
            stated = set(placements.values())
            legal = stated == {"varying"} or (stated <= {"replicated", "varying"} and same)
            if fits and legal and index not in self.taken():
                return index
        return None

    def taken(self):
        return {index for (layer, _), index in self.found.items() if layer == self.layer}

    def returns(self, *values):
        # What the next layer does not read is returned.
        self.carried = list(values)
        self.types.append([value.type for value in values])
        return self

    def end_layer(self, before):
        read = self.taken()
        self.outputs += [v for index, v in enumerate(before) if index not in read]
        self.layer += 1


def build(rewrite, links=None, is_rewritten=False, fault=None):
    p = DeepProgram(rewrite.groups, rewrite.device, links)
    for layer in range(LAYERS):
        before = p.carried
        if is_rewritten:
            rewrite.rewritten(p, fault if layer == FAULTY_LAYER else None)
        else:
            rewrite.original(p)
        p.end_layer(before)
    p.results = p.outputs + p.carried
    return p


def differ(first, second):
    """Whether PyTorch sees the fault in what the last layer returns."""
    if first.types != second.types:
        return False
    return not all(
        torch.equal(x, y)
        for a, b in zip(first.results, second.results, strict=True)
        for x, y in zip(a.shards, b.shards, strict=True)
    )


def once_each(cases):
    """Each fault in the first rewrite that it is planted into."""
    first = {}
    for rewrite, fault in cases:
        first.setdefault(fault, (rewrite, fault))
    return list(first.values())


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_correct_layers_pass(rewrite, tmp_path):
    original = build(rewrite)
    code, output = verify(
        tmp_path, original, build(rewrite, original.found, is_rewritten=True), "--json"
    )
    assert code == 0, output
    # Regions were enough, and those that repeat were evaluated once. Integers
    # are no unknowns: each layer's are evaluated, in every round, and lifted programs have
    # more ops.
    result = json.loads(output)
    if rewrite.name == "embedding of a shard":
        assert result["evaluated_ops"] <= 3 * result["rounds"] * result["ops"], output
    else:
        assert result["evaluated_ops"] < result["ops"], output


@pytest.mark.parametrize("case", once_each([*FAULTS, *STRICT_FAULTS]), ids=name)
def test_fault_in_a_late_layer_is_caught(case, tmp_path):
    rewrite, fault = case
    original = build(rewrite)
    faulty = build(rewrite, original.found, is_rewritten=True, fault=fault)
    if rewrite.has_floats and not differ(original, faulty):
        # A layer's fault may be none for the next layer: other strides, or a
        # bound that the layers before have seen to. Then each has its own inputs.
        original = build(rewrite, links={})
        faulty = build(rewrite, links={}, is_rewritten=True, fault=fault)
    options = ["--precision=strict"] if case in STRICT_FAULTS else []
    code, output = verify(tmp_path, original, faulty, *options)
    assert code == (1 if rewrite.is_described else 4), output
