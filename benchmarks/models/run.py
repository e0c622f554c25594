# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models of `transformers`, from the configuration to the estimate.

Small random models are captured for several ranks. A table says for each whether

    capture   the ranks' programs return what the model returns on one device (lockstep, by
              PyTorch's kernels)
    opt       every legal rewrite is applied; collectives before and after
    proof     the result is proven; seconds and peak memory of `commute opt`
    gloo      so many ranks in PyTorch, under gloo, return what the model does after opt
    refines   `commute verify --reference` proves the ranks' programs against the model on
              one device; seconds
    run       `commute run` runs rank 0's program on all ranks
    estimate  `commute estimate` prices it without guessing at an operator

and below it, for each "no", the message that explains it.

    benchmarks/models/run.py --build build/release --models llama,mixtral --modes prefill
"""

import argparse
import copy
import dataclasses
import json
import logging
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from claims import Claim  # noqa: E402

MODES = ("prefill", "dynamic", "decode", "backward", "experts")


@dataclasses.dataclass
class Row:
    model: str
    mode: str
    ranks: int
    cells: dict
    reasons: list


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--models", help="names, by commas (default: all)")
    parser.add_argument("--modes", default=",".join(MODES), help="default: all")
    parser.add_argument("--ranks", default="2,4", help="default: 2,4")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the rows here too")
    return parser.parse_args()


def peak_of(pid):
    """The most memory that a process has held, in bytes. What wait4 says includes that of
    the process which started it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


class Tool:
    """The commute tool, and what a command of it took."""

    def __init__(self, build):
        self.path = build / "bin" / "commute"

    def __call__(self, *arguments):
        """Exit code, output, last line of the errors, seconds and peak bytes."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            start = time.perf_counter()
            process = subprocess.Popen(
                [str(self.path), *map(str, arguments)], stdout=out, stderr=err
            )
            peak = 0
            while process.poll() is None:
                peak = max(peak, peak_of(process.pid))
                time.sleep(0.01)
            seconds = time.perf_counter() - start
            out.seek(0)
            err.seek(0)
            lines = [line for line in err.read().splitlines() if line.strip()]
            message = lines[-1] if lines else ""
            return process.returncode, out.read(), message, seconds, peak


def counted(collectives):
    kinds = Counter(collective["kind"] for collective in collectives)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"


def case_of(small, mode, ranks, layers):
    """A model, the arguments of a rank, options of capture, and what is to be returned."""
    import torch

    model = small.make(layers=layers)
    mesh = {"ep" if mode == "experts" else "tp": ranks}
    options = {"mesh": mesh, "plan": None if mode == "experts" else small.plan}
    whole = given = small.prefill()
    expected = outputs = gradients = None
    if mode == "dynamic":
        sizes = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
        options["dynamic_shapes"] = {name: sizes if name == "input_ids" else None for name in given}
    elif mode == "decode":
        whole, given, options["input_placements"] = small.decode(model, ranks)
        with torch.no_grad():
            returned = model(**copy.deepcopy(whole))
        layers = returned.past_key_values.layers
        expected = [returned.logits, *(layer.keys for layer in layers)]
        expected += [layer.values for layer in layers]
        # The caches that ranks return hold their own heads, if heads are sharded.
        relation = "shard(1, tp)" if small.shards_heads(model) else "replicated"
        outputs = {str(1 + index): relation for index in range(2 * len(layers))}
    elif mode == "backward":
        given["labels"] = given["input_ids"].clone()
        options["backward"] = True
        loss = model(**given).loss
        names, parameters = zip(*model.named_parameters())
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        known = {name: value for name, value in zip(names, found) if value is not None}
        expected = [loss.detach(), *known.values()]
        gradients = dict(enumerate(known, start=1))
    judged = {"expected": expected, "outputs": outputs, "gradients": gradients}
    return model, whole, given, options, judged


def skips(small, mode):
    if mode == "experts":
        return not small.has_experts
    return mode == "decode" and not small.has_cache


def first_line(error):
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def judge(tool, name, small, mode, ranks, layers, folder):
    import torch.distributed as dist

    from captured_models import check
    from commute.torch import capture

    row = Row(name, mode, ranks, {}, [])
    try:
        model, whole, given, options, judged = case_of(small, mode, ranks, layers)
        captured = capture(model, given, folder=folder, **options)
        check(captured, model, whole, **judged)
        row.cells["capture"] = "yes"
        if captured.reference_refusal:
            row.reasons.append(f"reference: {captured.reference_refusal}")
    except Exception as error:
        row.cells["capture"] = "no"
        row.reasons.append(f"capture: {first_line(error)}")
        return row
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    judge_archives(tool, captured.folder, ranks, row)
    if not captured.reference_refusal:
        judge_refinement(tool, captured.folder, row)
    judge_processes(captured, model, whole, judged, row)
    return row


def judge_processes(captured, model, whole, judged, row):
    """The optimized programs, as PyTorch runs them."""
    from captured_models import check, in_folder, run_ranks_in_processes

    folder = captured.folder / "optimized"
    if not folder.exists():
        return
    optimized = dataclasses.replace(in_folder(captured, folder), reference=None)
    try:
        check(optimized, model, whole, run=run_ranks_in_processes, **judged)
        row.cells["gloo"] = "yes"
    except Exception as error:
        row.cells["gloo"] = "no"
        row.reasons.append(f"gloo: {first_line(error)}")


def judge_refinement(tool, folder, row):
    code, said, message, seconds, _ = tool(
        "verify",
        f"--reference={folder / 'reference.pt2'}",
        f"--relations={folder / 'relations.json'}",
        *sorted(folder.glob("rank*.pt2")),
    )
    row.cells["refines"] = "no" if code else f"{seconds:.1f}"
    if code:
        row.reasons.append(f"refines: exit code {code}: {message or first_line(said)}")


def judge_archives(tool, archive, ranks, row):
    """Of all ranks: `archive` is their folder."""
    code, shown, message, *_ = tool("show", archive, "--json")
    if code:
        row.cells["show"] = "no"
        row.reasons.append(f"show: {message}")
        return
    before = json.loads(shown)
    row.cells["opaque"] = sum(before["opaque"].values())
    if before["opaque"]:
        names = ", ".join(f"{count} {name}" for name, count in before["opaque"].items())
        row.reasons.append(f"opaque: {names}")
    target = archive / "optimized"
    code, _, message, seconds, peak = tool(
        "opt", archive, "-o", target, "--policy=always", "--quiet", "--allow-unproven"
    )
    row.cells["opt"] = "yes" if code in (0, 4) else "no"
    row.cells["proof"] = "yes" if code == 0 else "no"
    row.cells["seconds"], row.cells["MiB"] = round(seconds, 1), round(peak / 2**20)
    if code:
        row.reasons.append(f"opt: exit code {code}: {message}")
    if target.exists():
        after = json.loads(tool("show", target, "--json")[1])
        row.cells["collectives"] = (
            f"{counted(before['collectives'])} -> {counted(after['collectives'])}"
        )
    code, _, message, *_ = tool("run", archive, f"--ranks={ranks}")
    row.cells["run"] = "no" if code else "yes"
    if code:
        row.reasons.append(f"run: {message}")
    code, estimated, message, *_ = tool("estimate", archive, "--json")
    if code:
        row.reasons.append(f"estimate: {message}")
        row.cells["estimate"] = "no"
    else:
        guesses = [op["op"] for op in json.loads(estimated)["ops"] if op["is_guess"]]
        row.cells["estimate"] = f"{len(guesses)} guesses" if guesses else "yes"


COLUMNS = ("capture", "opaque", "opt", "proof", "gloo", "seconds", "MiB", "refines", "run",
           "estimate", "collectives")  # fmt: skip


def print_row(row):
    cells = [row.model, row.mode, row.ranks, *(row.cells.get(name, "") for name in COLUMNS)]
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def main():
    arguments = parse_arguments()
    sys.path[:0] = [str(REPOSITORY / "python" / "tests"), str(arguments.build / "python")]
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    from small_models import MODELS

    names = arguments.models.split(",") if arguments.models else list(MODELS)
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        print(
            f"unknown models: {', '.join(unknown)}; there are {', '.join(MODELS)}", file=sys.stderr
        )
        return 2
    tool = Tool(arguments.build)
    print("| " + " | ".join(("model", "mode", "ranks", *COLUMNS)) + " |")
    print("|" + "---|" * (3 + len(COLUMNS)))
    rows = []
    for name in names:
        for mode in arguments.modes.split(","):
            for ranks in map(int, arguments.ranks.split(",")):
                if skips(MODELS[name], mode):
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    row = judge(
                        tool, name, MODELS[name], mode, ranks, arguments.layers, Path(folder)
                    )
                rows.append(row)
                print_row(row)
    print()
    for row in rows:
        for reason in row.reasons:
            print(f"- {row.model}, {row.mode}, {row.ranks} ranks: {reason}")
    if len(names) == len(MODELS) and arguments.modes == ",".join(MODES):
        claim = Claim("models")
        failing = sum(bool(row.reasons) for row in rows)
        value = f"{len(rows) - failing} of {len(rows)}"
        claim.record("rows in which all of this holds", value, "all")
        claim.save()
    if arguments.json:
        arguments.json.write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
