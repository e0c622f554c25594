# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute run` gives what PyTorch gives, on random small programs.

The tests run a slice. The campaign goes on for as long as it is told, which
`make fuzz` does; a seed that it prints makes the same program again:

    python/tests/test_random_programs.py --seconds 600
    python/tests/test_random_programs.py --first-seed 1234 --programs 1 --ranks 2
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest
import torch

from commute_tool import BUILD, TIMEOUT_SECONDS, commute
from random_operators import OPERATORS
from random_programs import Program
from ranks import run_on_ranks
from safetensors_files import read_safetensors, write_safetensors

OPERATORS_PER_PROGRAM = 8
# Each operator about three times.
PROGRAMS = 45
PROGRAMS_ON_RANKS = 15

# Operators that are read, and why none of the programs has them.
EXCUSED = {
    "aten._scaled_dot_product_flash_attention.default": "has no CPU kernel",
    "aten._fused_rms_norm_backward.default": "has no CPU kernel; see test_gradients.py",
    "_c10d_functional_autograd.": "the same readers as _c10d_functional",
    "symm_mem.": "has no CPU kernel",
    "tensor_cast.": "no operators of PyTorch",
    "commute.": "no operators of PyTorch; see test_serving_kernels.py",
}


def read_operators():
    """The operators that the vocabulary reads, but for those excused."""
    command = [str(BUILD / "unittests" / "respell"), "--operators"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, process.stderr
    names = [line.removeprefix("torch.ops.") for line in process.stdout.splitlines()]
    return {name for name in names if not name.startswith(tuple(EXCUSED))}


def operators_of(seed, world_size):
    """Those that the program of a seed has: consecutive seeds go through all."""
    # PyTorch's ranks do not import what defines the operators of transformers.
    others = "_c10d" if world_size == 1 else "transformers."
    names = [name for name in OPERATORS if not name.startswith(others)]
    if world_size > 1:
        # Of the others each program has but a few.
        collectives = [name for name in names if name.startswith("_c10d")]
        chosen = random.Random(seed).sample(names, OPERATORS_PER_PROGRAM - 3)
        return chosen + [collectives[(3 * seed + i) % len(collectives)] for i in range(3)]
    start = seed * OPERATORS_PER_PROGRAM
    deck, chosen = None, []
    for position in range(start, start + OPERATORS_PER_PROGRAM):
        deal, index = divmod(position, len(names))
        if deck is None or deck[0] != deal:
            deck = deal, random.Random(deal).sample(names, len(names))
        chosen.append(deck[1][index])
    return chosen


def build(seed, world_size):
    program = Program(seed, world_size)
    with torch.no_grad():
        for name in operators_of(seed, world_size):
            OPERATORS[name](program)
    return program


def describe(program, seed):
    lines = [f"seed {seed}, {program.world_size} ranks"]
    for value in program.inputs:
        lines.append(f"  v{value.index} = input {value.dtype} {list(value.shape)}")
    for step in program.steps:
        shown = [name_of(argument) for argument in step.arguments]
        shown += [f"{key}={name_of(argument)}" for key, argument in step.keywords.items()]
        results = ", ".join("_" if v is None else f"v{v.index}" for v in step.results)
        lines.append(f"  {results} = {step.target}({', '.join(shown)})")
    return "\n".join(lines)


def name_of(argument):
    if hasattr(argument, "tensors"):
        return f"v{argument.index}"
    if isinstance(argument, (list, tuple)):
        return f"[{', '.join(map(name_of, argument))}]"
    return repr(argument)


def difference(ours, theirs, tolerance):
    """What is wrong with our output, if anything."""
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"is {ours.dtype} {list(ours.shape)} and not {theirs.dtype} {list(theirs.shape)}"
    if tolerance == 0:
        same = torch.equal(ours, theirs) or torch.allclose(
            ours.double(), theirs.double(), rtol=0, atol=0, equal_nan=True
        )
        return None if same else f"differs:\n{ours}\nand not\n{theirs}"
    error = (ours.double() - theirs.double()).nan_to_num(0, float("inf"), float("inf"))
    both = torch.isfinite(ours) & torch.isfinite(theirs)
    same = both | (ours == theirs) | (ours.isnan() & theirs.isnan())
    if not same.all() or (error[both].abs() > tolerance).any():
        return f"differs by more than {tolerance}:\n{ours}\nand not\n{theirs}"
    return None


def check(seed, world_size, folder):
    """Runs the program of a seed both ways."""
    check_program(build(seed, world_size), seed, folder)


def check_program(program, seed, folder):
    world_size = program.world_size
    archive, given, outputs = (folder / name for name in ("p.pt2", "in.st", "out.st"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = program.export(archive)
    names = exported.graph_signature.user_inputs
    write_safetensors(
        given,
        {
            f"rank{rank}.{name}": value.tensors[rank]
            for name, value in zip(names, program.inputs, strict=True)
            for rank in range(world_size)
        },
    )
    process = commute("run", archive, f"--inputs={given}", f"--outputs={outputs}")
    assert process.returncode == 0, f"{process.stderr}\n{describe(program, seed)}"
    ours = read_safetensors(outputs)
    if world_size == 1:
        theirs = [[value.tensors[0] for value in program.outputs]]
    else:
        inputs = [[v.tensors[rank] for v in program.inputs] for rank in range(world_size)]
        theirs = run_on_ranks(archive, world_size, inputs=inputs)
    tolerances = program.tolerances()
    for rank in range(world_size):
        for index, (value, tolerance) in enumerate(zip(program.outputs, tolerances, strict=True)):
            output = ours[f"rank{rank}.output{index}"]
            problem = difference(output, theirs[rank][index], tolerance)
            if problem:
                where = f"v{value.index} on rank {rank}"
                pytest.fail(f"{where} {problem}\n{describe(program, seed)}", pytrace=False)


def test_every_operator_that_is_read_is_called():
    assert read_operators() == set(OPERATORS)
    called = {name for seed in range(PROGRAMS) for name in operators_of(seed, 1)}
    called |= {name for seed in range(PROGRAMS_ON_RANKS) for name in operators_of(seed, 2)}
    assert called == set(OPERATORS)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_program(seed, tmp_path):
    check(seed, 1, tmp_path)


@pytest.mark.parametrize("seed", range(PROGRAMS_ON_RANKS))
def test_program_on_ranks(seed, tmp_path):
    check(seed, 2, tmp_path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-seed", type=int, default=PROGRAMS)
    parser.add_argument("--programs", type=int, help="how many; else until time is up")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--ranks", type=int, help="of every program; else 1, and 2 now and then")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    seed, failures = options.first_seed, 0
    while time.monotonic() < end:
        if options.programs is not None and seed - options.first_seed >= options.programs:
            break
        world_size = options.ranks or (2 if seed % 4 == 0 else 1)
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(seed, world_size, Path(folder))
            except (Exception, pytest.fail.Exception) as error:
                failures += 1
                print(f"seed {seed}, {world_size} ranks: {error}", flush=True)
        seed += 1
    print(
        f"{seed - options.first_seed} programs from seed {options.first_seed}: {failures} failures"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
