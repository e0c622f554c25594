# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Captures a model.

From the command line:

    python -m commute.capture transformers:config.json --tp 8 --seq 4096 -o DIR
    python -m commute.capture package.module:build --world 8 -o DIR
"""

import argparse
import json
import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from commute.capture import transformers_models
from commute.capture.errors import CaptureError
from commute.capture.model import capture
from commute.capture.results import Capture
from commute.errors import CommuteError
from commute.estimation import estimate

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _ranks(text: str) -> Any:
    if text == "all":
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither 'all' nor ranks such as 0,1"
        ) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m commute.capture",
        description="Write the programs of all ranks of a parallel model, and the program of a"
        " single device, as archives. Needs no weights, no GPU and no other process.",
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="transformers:NAME, a model of transformers by its config.json, a folder with one, or"
        " its id on the Hugging Face hub if it is in the local cache; or PACKAGE.MODULE:FUNCTION,"
        " a function of a rank and the number of ranks that returns (module, arguments)",
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True)
    axis = parser.add_mutually_exclusive_group(required=True)
    axis.add_argument(
        "--tp", type=_positive, metavar="N", help="tensor parallelism, by the model's tp_plan"
    )
    axis.add_argument(
        "--ep", type=_positive, metavar="N", help="expert parallelism, by the model's ep_plan"
    )
    axis.add_argument(
        "--world", type=_positive, metavar="N", help="ranks, for which the function is called"
    )
    parser.add_argument(
        "--plan",
        metavar="FILE.json",
        type=Path,
        help="rules of a tensor-parallel plan that replace or complete the model's:"
        ' {"model.layers.*.mlp.up_proj": "colwise", ...}',
    )
    parser.add_argument(
        "--seq", type=_positive, default=128, metavar="N", help="tokens (default 128)"
    )
    parser.add_argument(
        "--batch", type=_positive, default=1, metavar="N", help="sequences (default 1)"
    )
    parser.add_argument(
        "--layers", type=_positive, metavar="N", help="keep only the first N layers"
    )
    parser.add_argument(
        "--head", metavar="CLASS", help="class of transformers to build (default: as configured)"
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, help="element type of the parameters (default: as configured)"
    )
    parser.add_argument(
        "--backward", action="store_true", help="capture loss and gradients in one program"
    )
    parser.add_argument(
        "--dynamic", action="store_true", help="make batch and sequence sizes symbolic"
    )
    parser.add_argument(
        "--ranks", type=_ranks, default="all", metavar="R,...", help="ranks to write (default: all)"
    )
    return parser


def _arguments(options: argparse.Namespace) -> tuple[dict[str, Any], Any]:
    """Returns example arguments and their dynamic sizes."""
    tokens = torch.zeros(options.batch, options.seq, dtype=torch.long)
    given: dict[str, Any] = {"input_ids": tokens}
    if options.backward:
        given["labels"] = tokens.clone()
    shapes = None
    if options.dynamic:
        dim = torch.export.Dim.AUTO
        shapes = {name: {0: dim, 1: dim} for name in given}
    return given, shapes


def _read_plan(path: Path) -> dict[str, str]:
    """Reads a plan of transformers: rules by the names of modules or parameters."""
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path}: {error}") from None
    known = transformers_models.rules()
    if not isinstance(plan, dict) or not plan:
        raise CaptureError(
            f"{path}: expected an object of rules by module, such as"
            ' {"model.layers.*.mlp.up_proj": "colwise"}'
        )
    for name, rule in plan.items():
        if rule not in known:
            raise CaptureError(
                f"{path}: the rule of {name!r} is {rule!r}; the rules of transformers are"
                f" {', '.join(known)}"
            )
    return plan


def _run(options: argparse.Namespace) -> Capture:
    if options.world:
        return capture(
            options.model,
            world=options.world,
            backward=options.backward,
            ranks=options.ranks,
            folder=options.output,
        )
    name = options.model.removeprefix("transformers:")
    plan = _read_plan(options.plan) if options.plan else None
    config = transformers_models.read_configuration(transformers_models.find_configuration(name))
    if options.layers:
        transformers_models.set_layers(config, options.layers)
    model = transformers_models.from_configuration(config, options.head, DTYPES.get(options.dtype))
    given, shapes = _arguments(options)
    given.update(transformers_models.without_cache(model))
    axis = "tp" if options.tp else "ep"
    return capture(
        model,
        given,
        mesh={axis: options.tp or options.ep},
        plan=plan,
        backward=options.backward,
        dynamic_shapes=shapes,
        ranks=options.ranks,
        folder=options.output,
    )


def _describe_replicated_work(result: Capture) -> str | None:
    """Returns a sentence about what all ranks compute alike, if that is most of the step."""
    try:
        report = estimate([program.path for program in result.ranks]).report
    except CommuteError:
        # Only the compiled module knows it, and only of sizes that are numbers.
        return None
    work = report["replicated"]
    if work is None or 2 * work["replicated_seconds"] <= work["seconds"]:
        return None
    return (
        f"{work['replicated_ops']} of {work['ops']} ops compute the same on all"
        f" {work['ranks']} ranks ({1e3 * work['replicated_seconds']:.1f} of"
        f" {1e3 * work['seconds']:.1f} ms on {report['target']})"
    )


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    start = time.perf_counter()
    try:
        result = _run(options)
    except CommuteError as error:
        print(f"commute.capture: error: {error}", file=sys.stderr)
        return 2
    for program in [*result.ranks, *filter(None, [result.reference])]:
        print(f"{program.path}  {program.nodes} nodes, {program.seconds:.1f} s")
    print(result.relations)
    for constant in result.constants_of_rank[:8]:
        print(f"depends on the rank: {constant}")
    for text in result.ambiguities:
        print(f"not stated: {text}")
    if result.reference_refusal:
        print(f"no reference.pt2: {result.reference_refusal}")
    if sentence := _describe_replicated_work(result):
        print(sentence)
    for note in result.notes:
        print(note)
    print(f"captured in {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
