# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The command: torchrun --nproc-per-node=8 -m commute.calibrate."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.distributed as dist

from commute.calibrate.check import Check, check_target
from commute.calibrate.machine import Machine
from commute.calibrate.target import calibrate, local_target_path
from commute.errors import CommuteError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchrun --nproc-per-node=N -m commute.calibrate",
        description="Measure the machine that PyTorch's ranks run on, and write it as a target.",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.json", type=Path,
        help="where to write (default: the file of the target 'local')",
    )  # fmt: skip
    parser.add_argument(
        "--check", metavar="TARGET",
        help="write nothing: compare this target's predictions with new measurements",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true",
        help="measure tiny sizes once, only to check that calibration works",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    return parser


def _print(checks: Sequence[Check], as_json: bool) -> None:
    if as_json:
        rows = [{**vars(check), "ratio": check.ratio} for check in checks]
        print(json.dumps({"checks": rows}, indent=2))
        return
    print(f"{'':<16}{'':<38}{'measured':>12}{'predicted':>12}{'ratio':>8}")
    for check in checks:
        print(
            f"{check.what:<16}{check.sizes:<38}{check.measured * 1e6:>9.1f} us"
            f"{check.predicted * 1e6:>9.1f} us{check.ratio:>8.2f}"
        )
    near = sum(abs(check.ratio - 1) <= 0.25 for check in checks)
    print(f"{near} of {len(checks)} predictions are within 25 %")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        print(
            "commute.calibrate: error: needs at least two ranks: torchrun --nproc-per-node=2"
            " -m commute.calibrate",
            file=sys.stderr,
        )
        return 2
    if options.output and options.output.suffix != ".json":
        print(
            f"commute.calibrate: error: -o {options.output}: the name of a target file must end"
            " with .json",
            file=sys.stderr,
        )
        return 2
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        dist.init_process_group("nccl")
    else:
        dist.init_process_group("gloo")
    machine = Machine(is_quick=options.quick)
    is_first = machine.rank == 0
    try:
        if options.check:
            checks = check_target(machine, options.check)
        else:
            output = options.output or local_target_path()
            checks = calibrate(machine, output)
        if is_first:
            _print(checks, options.json)
            if not options.check and not options.json:
                name = options.output or "local"
                print(f"wrote {output}; use it with --target={name}")
    except (CommuteError, OSError) as error:
        print(f"commute.calibrate: error: {error}", file=sys.stderr)
        return 2
    finally:
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
