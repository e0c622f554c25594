#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Exports tensor-parallel models to .pt2 archives. See README.md beside it."""

import argparse
import sys
from pathlib import Path

import torch

from fixtures import FIXTURES
from tensor_parallel.archive import export_archive, export_folder
from tensor_parallel.config import SHAPES, Config
from tensor_parallel.models import DESCRIPTIONS

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

SIZES = ["hidden", "heads", "kv_heads", "ffn", "layers", "batch", "sequence", "vocabulary"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", choices=DESCRIPTIONS, help="the model to export")
    what.add_argument("--list", action="store_true", help="list the models")
    what.add_argument("--fixtures", metavar="FOLDER", type=Path, help="make all test archives")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-o", "--output", metavar="FILE.pt2", type=Path)
    where.add_argument(
        "--folder", type=Path, help="all ranks' archives, and the model on one device"
    )
    parser.add_argument("--tp", type=int, default=2, help="tensor-parallel size (default 2)")
    parser.add_argument("--rank", type=int, default=0, help="whose weights to store (default 0)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and example inputs")
    parser.add_argument("--shape", choices=SHAPES, help="published sizes; the others override")
    for size in [*SIZES, "positions"]:
        parser.add_argument(f"--{size.replace('_', '-')}", type=int)
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--norm", choices=["fused", "decomposed"], default="fused")
    layouts = ["batch_first", "sequence_first"]
    parser.add_argument("--layout", choices=layouts, default=layouts[0])
    parser.add_argument(
        "--aten",
        choices=["default", "whole-attention"],
        help="run_decompositions before saving; whole-attention keeps attention one op",
    )
    parser.add_argument("--dynamic", action="store_true", help="symbolic batch and sequence")
    parser.add_argument(
        "--last-logits", action="store_true", help="llama_model: of the last token alone"
    )
    parser.add_argument("--no-weights", action="store_true", help="store no weights")
    arguments = parser.parse_args()
    if arguments.model and not arguments.output and not arguments.folder:
        parser.error("--model needs -o FILE.pt2 or --folder FOLDER")
    return arguments


def config_of(arguments):
    given = {"dtype": DTYPES[arguments.dtype], "fused_norm": arguments.norm == "fused"}
    given["layout"] = arguments.layout
    given["last_logits"] = arguments.last_logits
    given.update(SHAPES.get(arguments.shape, {}))
    for name in SIZES:
        if getattr(arguments, name) is not None:
            given[name] = getattr(arguments, name)
    sequence = given.get("sequence", Config.sequence)
    given["positions"] = arguments.positions or max(sequence, Config.positions)
    return Config(**given)


def main():
    arguments = parse_arguments()
    if arguments.list:
        for name, description in DESCRIPTIONS.items():
            print(f"{name:26}{description}")
        return 0
    if arguments.fixtures:
        arguments.fixtures.mkdir(parents=True, exist_ok=True)
        for name, fixture in FIXTURES.items():
            path = arguments.fixtures / f"{name}.pt2"
            fixture.export(path)
            print(f"{path}  {path.stat().st_size} bytes")
        return 0
    options = dict(
        aten=arguments.aten,
        dynamic=arguments.dynamic,
        weights=not arguments.no_weights,
        seed=arguments.seed,
    )
    what = arguments.model, config_of(arguments), arguments.tp
    try:
        if arguments.folder:
            export_folder(arguments.folder, *what, **options)
            written = sorted(arguments.folder.iterdir())
        else:
            export_archive(arguments.output, *what, arguments.rank, **options)
            written = [arguments.output]
    except ValueError as error:
        print(f"export.py: {error}", file=sys.stderr)
        return 2
    for path in written:
        print(f"{path}  {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
