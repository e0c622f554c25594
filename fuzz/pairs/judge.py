# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Whether two programs compute the same: PyTorch's kernels say, in float64.

Both programs run on all ranks, on one sample of inputs after the other. A
difference of outputs counts where rounding does not explain it: what rounding may
do is found by moving the result of every operator by a few ulps, and the operands of sums
as well, because numbers that cancel leave the rounding of the large ones behind.
"""

from dataclasses import dataclass

import torch

from pairs.collectives import COLLECTIVES, c10d
from pairs.samples import LARGE_KINDS, SAMPLES, get_kind

ULPS = 8 * torch.finfo(torch.float64).eps
PERTURBED_RUNS = 3
# Relative to the largest number of a tensor: what hides more hides too much.
HIDDEN = 1e-7
SMALLEST = 1e-280
# Operators that add many numbers, in an order of their own.
SUMS = {
    "sum",
    "mean",
    "cumsum",
    "var",
    "var_mean",
    "mm",
    "bmm",
    "matmul",
    "linear",
    "addmm",
    "baddbmm",
    "_scaled_mm",
    "_grouped_mm",
    "layer_norm",
    "native_layer_norm",
    "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "all_reduce",
    "all_reduce_",
    "all_reduce_coalesced",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced",
}
# Of collectives, these choose one of the numbers.
CHOSEN = {"max", "min"}
# Collectives that take their operand as it lies.
ANY_STRIDES = {c10d.all_reduce.default, c10d.all_reduce_coalesced.default, c10d.broadcast.default}
# Beyond what perturbed runs show, which are few.
MARGIN = 30
KERNEL_ERRORS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)


@dataclass
class Judgement:
    is_equal: bool
    # What was seen, for reports.
    reason: str
    # Rounding may hide a difference.
    is_noisy: bool = False


def judge(
    first, second, samples=range(SAMPLES), kernels=None, suspects_ties=False, second_is_finite=False
):
    """Compares two programs of one pool; `kernels` stand in for operators.

    With `suspects_ties` no difference is so large that rounding is not asked about: where
    a value is compared with one that is equal but for rounding, it decides what is chosen.
    With `second_is_finite`, only inputs count for which the second program computes nothing
    infinite, as only those do anyway for which the first one does not.
    """
    reason = signature_difference(first, second)
    if reason:
        return Judgement(False, reason)
    is_noisy, ran = False, 0
    for sample in samples:
        if sample > SAMPLES:
            # There are many of these, and each is asked for once.
            first.pool.forget(sample - 1)
        runs = [Run(program, sample, kernels, suspects_ties) for program in (first, second)]
        try:
            expected = runs[0].outputs()
        except KERNEL_ERRORS:
            continue  # Outside of what the first program is for.
        ran += 1
        try:
            found = runs[1].outputs()
        except KERNEL_ERRORS as error:
            return Judgement(False, f"sample {sample}: the second fails: {str(error)[:200]}")
        for index, (a, b) in enumerate(zip(expected, found, strict=True)):
            if a is b:
                continue
            seen = compare(runs, index, a, b, suspects_ties)
            if seen and (runs[0].overflows() or (second_is_finite and runs[1].overflows())):
                break  # The prover's premise: what the programs compute is finite.
            if seen == "noise":
                is_noisy = True
            elif seen:
                kind = get_kind(first.pool.draw.seed, sample)
                return Judgement(False, f"sample {sample} ({kind}), output {index}: {seen}")
    if not ran:
        return Judgement(True, "no sample is one of the first program", True)
    return Judgement(True, f"equal on {ran} samples", is_noisy)


def signature_difference(first, second):
    for name in ("parameters", "buffers", "mutations", "constants"):
        if repr(getattr(first, name)) != repr(getattr(second, name)):
            return f"the signatures differ: {name}"
    if len(first.outputs) != len(second.outputs):
        return "the signatures differ: number of outputs"
    for index, (a, b) in enumerate(zip(first.outputs, second.outputs)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {index} is {b.dtype} {b.shape} instead of {a.dtype} {a.shape}"
    if [n.target for n in first.live_nodes() if n.counter is not None] != [
        n.target for n in second.live_nodes() if n.counter is not None
    ]:
        return "other random operators, which leave the generator in another state"
    if _count_not_dense(second) > _count_not_dense(first):
        return "a collective gets an input that is not dense"
    return None


def _count_not_dense(program):
    """Inputs of collectives that PyTorch's kernels may not read as they lie."""
    return sum(
        not tensor.is_contiguous()
        for node in program.live_nodes()
        if node.target in COLLECTIVES - ANY_STRIDES
        for value in node.operands
        for tensor in value.tensors[:1]
    )


class Run:
    """A program on one sample."""

    def __init__(self, program, sample, kernels=None, moves_zeros=False):
        self.program = program
        self.pool = program.pool
        self.sample = sample
        self.kernels = kernels
        self.moves_zeros = moves_zeros

    def outputs(self):
        """For each output the tensors of all ranks."""
        if self.kernels:
            return self.run_anew(None)
        data = [self.pool.compute(value.node, self.sample) for value in self.program.outputs]
        return [results[value.position] for results, value in zip(data, self.program.outputs)]

    def overflows(self):
        """Whether a value is infinite, or no number, here and finite on another sample."""
        if get_kind(self.pool.draw.seed, self.sample) == "missing":
            return False
        always = self._infinite_nodes(0) & self._infinite_nodes(2)
        return bool(self._infinite_nodes(self.sample) - always)

    def _infinite_nodes(self, sample):
        found = set()
        for node in self.program.live_nodes():
            try:
                results = self.pool.compute(node, sample)
            except KERNEL_ERRORS:
                continue
            if any(not tensor.isfinite().all() for ranks in results for tensor in ranks):
                found.add(node)
        return found

    def run_anew(self, generator):
        """Without the pool's results; moved by ulps where a generator is given."""
        data = {}

        def get(value):
            return data[value.node][value.position]

        def get_moved(value):
            return _move(get(value), generator, self.moves_zeros)

        for node in self.program.live_nodes():
            if node.target is None:
                data[node] = self.pool.compute(node, self.sample)
                continue
            for value in node.operands:
                if value.node not in data:
                    data[value.node] = self.pool.compute(value.node, self.sample)
            kernel = (self.kernels or {}).get(node.target)
            moves_operands = generator is not None and _adds_many(node)
            results = self.pool.evaluate(
                node, get_moved if moves_operands else get, self.sample, kernel
            )[0]
            if generator is not None:
                results = [
                    tensors
                    if value.exact or node.target in COLLECTIVES
                    else _move(tensors, generator, self.moves_zeros)
                    for value, tensors in zip(node.values, results)
                ]
            data[node] = results
        for value in self.program.outputs:
            if value.node not in data:
                data[value.node] = self.pool.compute(value.node, self.sample)
        return [data[value.node][value.position] for value in self.program.outputs]

    def noise(self, index):
        """What rounding may do to an output, for each rank."""
        generator = torch.Generator().manual_seed(self.sample)
        known = self.outputs()[index]
        worst = [torch.zeros_like(tensor, dtype=torch.float64) for tensor in known]
        for _ in range(PERTURBED_RUNS):
            try:
                moved = self.run_anew(generator)[index]
            except KERNEL_ERRORS:
                continue
            for rank, (a, b) in enumerate(zip(known, moved)):
                distance = (a.double() - b.double()).abs().nan_to_num(0, 0, 0)
                worst[rank] = torch.maximum(worst[rank], distance)
        return worst


def _adds_many(node):
    return node.target.overloadpacket.__name__ in SUMS and not CHOSEN.intersection(
        argument for argument in node.args if isinstance(argument, str)
    )


def _ulps(tensor, generator):
    drawn = torch.rand(tensor.shape, generator=generator, dtype=torch.float64)
    return drawn.mul_(2 * ULPS).sub_(ULPS)


def _move(tensors, generator, moves_zeros):
    """Equal tensors of several ranks are moved alike; zeros as well, as differences are."""
    moved = {}
    result = []
    for tensor in tensors:
        if not tensor.is_floating_point():
            return tensors
        if id(tensor) not in moved:
            # Views keep their strides, which some operators ask about.
            moved[id(tensor)] = torch.empty_like(tensor).copy_(
                tensor * (1 + _ulps(tensor, generator))
            )
            if moves_zeros and tensor.numel():
                # Of their own: the same ulps would undo those of the largest negative number.
                scale = tensor.abs().max().nan_to_num(0, 0, 0)
                moved[id(tensor)] += _ulps(tensor, generator) * scale
        result.append(moved[id(tensor)])
    return result


def compare(runs, index, first, second, suspects_ties=False):
    """What differs, "noise" where rounding may be the reason, or None."""
    seen = None
    noise = None
    for place, (a, b) in enumerate(zip(first, second)):
        if a is b or (a.shape == b.shape and torch.equal(a, b)):
            continue
        rank = runs[0].pool.world[place]
        if a.shape != b.shape:
            return f"rank {rank} has shape {list(b.shape)} instead of {list(a.shape)}"
        if not a.is_floating_point():
            where = (a != b).nonzero()[0].tolist()
            # An integer or a truth value made of floats may jump by rounding.
            if noise is None:
                noise = [run.noise(index) for run in runs]
            if any((n[place] > 0).any() for n in noise):
                seen = "noise"
                continue
            return f"rank {rank} at {where}: {a[tuple(where)].item()} and {b[tuple(where)].item()}"
        is_defined = a.isfinite()
        if (is_defined & ~b.isfinite()).any():
            return f"rank {rank} is not finite"
        distance = torch.where(is_defined, (a - b).abs(), 0.0)
        scale = torch.where(is_defined, torch.maximum(a.abs(), b.abs()), 0.0)
        if not (distance > 1e-12 * scale).any():
            continue
        # Near the smallest numbers, and where products of many get there on the way, digits are lost.
        is_tiny = scale < SMALLEST
        if (distance > 1e-12 * scale)[is_tiny].any():
            seen = "noise"
            distance = torch.where(is_tiny, 0.0, distance)
            if not distance.any():
                continue
        largest = scale.max()
        is_large = (distance > 1e-3 * largest).any() and 1e-3 < largest < 1e6
        # The inputs themselves may be so large that their rounding is.
        is_large = is_large and get_kind(runs[0].pool.draw.seed, runs[0].sample) not in LARGE_KINDS
        if suspects_ties or not is_large:
            if noise is None:
                noise = [run.noise(index) for run in runs]
            allowed = torch.maximum(noise[0][place], noise[1][place])
            allowed = MARGIN * torch.maximum(allowed, allowed.mean())
            far = distance > allowed + 1e-12 * scale
            if not far.any():
                if (allowed > HIDDEN * largest).any():
                    seen = "noise"
                continue
            distance = torch.where(far, distance, 0.0)
        where = tuple((distance == distance.max()).nonzero()[0].tolist())
        return f"rank {rank} at {list(where)}: {a[where].item()} and {b[where].item()}"
    return seen
