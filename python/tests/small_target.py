# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A target for tests with small tensors."""

import json
from pathlib import Path


def target_of_small_tensors(folder):
    """A machine on which rewrites pay for tensors of any size: nothing has a fixed cost."""
    source = Path(__file__).parents[2] / "lib" / "Target" / "targets" / "h100x8.json"
    target = json.loads(source.read_text())

    def without_fixed_costs(value):
        if isinstance(value, dict):
            for key, part in value.items():
                if key in ("kernel_overhead_seconds", "transfer_overhead_seconds"):
                    part["value"] = 1e-12
                elif key == "latency_seconds":
                    value[key] = {**part, "value": 1e-12} if isinstance(part, dict) else 1e-12
                else:
                    without_fixed_costs(part)
            if "latency_seconds" in value:
                value.pop("points", None)
        elif isinstance(value, list):
            for part in value:
                without_fixed_costs(part)

    without_fixed_costs(target)
    path = Path(folder) / "small.json"
    path.write_text(json.dumps(target))
    return str(path)
