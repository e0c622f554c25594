# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Pairs that PyTorch has judged, and the prover's verdicts of them."""

from dataclasses import dataclass, field

from pairs import campaign


class Skipped(Exception):
    """No pair came of a seed."""


@dataclass
class Pair:
    seed: int
    first: object
    second: object
    # What the programs are, in words.
    changes: list
    # What PyTorch's kernels say, and where they differ.
    is_equal: bool
    difference: str
    # What was planted.
    kind: str
    tags: list = field(default_factory=list)


def get_difference(bench, programs, samples):
    """Where the programs differ, in words; None where they do not.

    Integers and truth values differ where they are not the same, floats where rounding is
    no reason.
    """
    for sample in samples:
        outputs = [bench.outputs(program, sample) for program in programs]
        for index, (a, b) in enumerate(zip(*outputs, strict=True)):
            seen = compare_tensors(a, b)
            if seen:
                return f"sample {sample}, output {index}: {seen}"
    return None


def compare_tensors(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {list(a.shape)} and {b.dtype} {list(b.shape)}"
    if a.is_floating_point():
        if not (a.isfinite().all() and b.isfinite().all()):
            raise Skipped("a number is not finite")
        scale = max(1.0, float(a.abs().max()), float(b.abs().max())) if a.numel() else 1.0
        distance = (a - b).abs()
        differs = distance > 1e-6 * scale
        if not differs.any():
            if (distance > 1e-9 * scale).any():
                raise Skipped("rounding hides what may differ")
            return None
    else:
        differs = a != b
        if not differs.any():
            return None
    where = tuple(differs.nonzero()[0].tolist())
    return f"at {list(where)} {a[where].item()} and {b[where].item()}"


def compare(pair, verdict, said):
    """What came of a pair, given the verdict."""
    kind = campaign.NOT_PROVEN
    if verdict == "error":
        kind = campaign.ERROR
    elif verdict in ("equivalent", "refines"):
        kind = campaign.AGREED_EQUAL if pair.is_equal else campaign.FALSE_EQUIVALENT
    elif verdict in ("different", "does not refine"):
        kind = campaign.FALSE_DIFFERENT if pair.is_equal else campaign.AGREED_DIFFERENT
    return campaign.Outcome(
        pair.seed, kind, pair.difference or said, tuple(pair.changes), f"{verdict}: {said}"
    )
