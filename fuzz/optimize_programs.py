# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Judges what `commute opt --no-verify` writes with PyTorch's kernels.

    fuzz/optimize_programs.py --programs 1000
    fuzz/optimize_programs.py --first-seed 1234 --programs 1 --show

Random programs with collectives go through all passes under --policy=always. The
results must compute what the programs did, on all ranks, by the judge of
verify_pairs.py; their archives must state the shapes and types that their operators
give, and a second run of the passes must change nothing. Failures are written to
build/fuzz-optimize.
"""

import argparse
import collections
import json
import subprocess
import sys
import time
from pathlib import Path

from verify_pairs import BUILD, REPOSITORY

TIMEOUT_SECONDS = 60


def optimize(source, target, *options):
    command = [str(BUILD / "bin" / "commute"), "opt", str(source), "-o", str(target), "--json"]
    return subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )


def check(seed, folder, options):
    """What is wrong with the passes' result, or None; and whether they did something."""
    from pairs import campaign, export_schema, import_schema
    from pairs.generator import generate
    from pairs.judge import KERNEL_ERRORS, judge

    first = generate(seed, collectives=True)
    if len(first.pool.symbol_values) > 1:
        return None, "symbolic"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{seed}.{name}.pt2" for name in ("A", "B", "C")]
    export_schema.save(paths[0], export_schema.to_text(first))

    def finish(problem, did):
        if problem:
            (folder / f"{seed}.txt").write_text(f"{problem}\n\n{campaign.describe(first)}\n")
        else:
            for path in paths:
                path.unlink(missing_ok=True)
        return problem, did

    process = optimize(*paths[:2], "--no-verify", f"--policy={options.policy}", *options.passes)
    if process.returncode != 0:
        return finish(f"exit code {process.returncode}: {process.stderr[-400:]}", "failed")
    remarks = json.loads(process.stdout)
    document = import_schema.read_archive(paths[1])
    is_same = (
        document["graph_module"]["graph"]
        == import_schema.read_archive(paths[0])["graph_module"]["graph"]
    )
    if is_same:
        return finish(None, "unchanged")
    try:
        second, wrong = import_schema.read_program(first.pool, document)
    except KERNEL_ERRORS as error:
        return finish(f"PyTorch refuses the result: {error}", "changed")
    if wrong:
        return finish(f"the archive is wrong: {wrong}", "changed")
    for name in ("parameters", "buffers", "mutations", "constants"):
        setattr(second, name, getattr(first, name))
    first.pool.draw.learn([first, second])
    found = judge(first, second)
    if not found.is_equal:
        return finish(f"another value: {found.reason}", "changed")
    again = optimize(
        paths[1], paths[2], "--no-verify", f"--policy={options.policy}", *options.passes
    )
    if again.returncode != 0:
        return finish(
            f"the second run: exit code {again.returncode}: {again.stderr[-400:]}", "changed"
        )
    if (
        import_schema.read_archive(paths[2])["graph_module"]["graph"]
        != document["graph_module"]["graph"]
    ):
        return finish("the second run changes the result of the first", "changed")
    return finish(
        None,
        f"changed, {len(remarks.get('remarks', remarks))} remarks" if options.show else "changed",
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--policy", default="always")
    parser.add_argument(
        "--passes", action="append", default=[], type=lambda text: f"--passes={text}"
    )
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "fuzz-optimize")
    parser.add_argument("--show", action="store_true", help="tell of every program")
    options = parser.parse_args()
    from pairs import campaign

    campaign.prepare()
    counts, failures, end = collections.Counter(), 0, time.monotonic() + options.seconds
    for seed in range(options.first_seed, options.first_seed + options.programs):
        if time.monotonic() > end:
            break
        problem, did = check(seed, options.folder, options)
        counts[did] += 1
        failures += problem is not None
        if problem or options.show:
            print(f"seed {seed}: {problem or did}", flush=True)
    print(f"[fuzz] {sum(counts.values())} programs, {failures} failures; {dict(counts)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
