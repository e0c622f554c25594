# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Notes what benchmarks/live/run.py measured in benchmarks/results/live.json."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from claims import Claim

BAR = "at most PyTorch's time for each"


def record(results, numbers_of_layers):
    """Notes the graphs of each number of layers in one row. `results` are rows by
    "joint, 8 layers"."""
    claim = Claim("live")

    def listed(numbers, digits):
        return ", ".join(f"{number:.{digits}f}" for number in numbers)

    for layers in numbers_of_layers:
        rows = {
            name.partition(",")[0]: row
            for name, row in results.items()
            if name.endswith(f", {layers} layers") and "pytorch_ms" in row
        }
        ours = [row["commute_ms_per_fused"] for row in rows.values()]
        theirs = [row["pytorch_ms_per_fused"] for row in rows.values()]
        ratios = [row["pytorch_ms"] / row["commute_ms"] for row in rows.values()]
        is_met = all(one <= other for one, other in zip(ours, theirs))
        claim.record(
            f"{layers} layers: {', '.join(rows)} graph",
            f"{listed(ours, 2)} ms for each fused collective, PyTorch {listed(theirs, 2)} ms;"
            f" as a whole {listed(ratios, 2)} times as fast;"
            f" proof {listed([row['proof_ms'] for row in rows.values()], 1)} ms",
            BAR if is_met else f"{BAR}: missed",
        )
    claim.save()
