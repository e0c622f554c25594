# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fused collectives in `commute run`: how much of the communication is hidden.

Two ranks, in network namespaces of their own, are joined by a link of limited
rate. For sizes around the point where matrix product and communication take
equally long, four programs are measured in turns: the fused op, the product
alone, the collective alone, and both one behind the other. Bars: the fused op
takes at most 1.15 times the longer of product and collective, and is at least
1.6 times as fast as both one behind the other where the two are in balance. The
same over threads, where nothing is moved; there the collective alone is a copy.

    benchmarks/overlap/run.py --build build/release --plot docs/overlap.svg

Needs root, for the namespaces.
"""

import argparse
import contextlib
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

from network_namespaces import network_of_hosts, reason_against  # noqa: E402

RANKS = 2
# Rows and columns of what is moved. What is read again for every piece, a few
# times 10 MiB with the result, has to stay in the cache that the two ranks share
# on one machine, and would not have to share on two.
GATHERED = (2048, 1024)
SCATTERED = (4096, 512)
REPETITIONS = 3
FACTORS = [0.25, 0.5, 0.71, 1, 1.41, 2]

HEADER = '#all = #tp.group<"0", [0, 1]>\nmodule attributes {tp.groups = [#all]} {\n'


def function(arguments, lines, result):
    """The text of a module; `arguments` are sizes in f32."""
    listed = ", ".join(f"%{name}: {of(*sizes)}" for name, sizes in arguments.items())
    body = "\n".join(f"    {line}" for line in lines)
    return f"{HEADER}  func.func @main({listed}) -> {of(*result)} {{\n{body}\n  }}\n}}\n"


def of(*sizes):
    return f"tensor<{''.join(f'{size}x' for size in sizes)}f32>"


def gather_programs(columns):
    """All-gather of GATHERED along rows, times a matrix of `columns`."""
    rows, side = GATHERED
    shard, whole, rhs = (rows // RANKS, side), (rows, side), (side, columns)
    result = (rows, columns)
    gather = f"%g = tp.all_gather %x gather_axis 0 group #all : {of(*shard)} -> {of(*whole)}"
    product = f"tp.matmul %g, %w : ({of(*whole)}, {of(*rhs)}) -> {of(*result)}"
    fused = "tp.all_gather_matmul %x, rhs(%w) gather_axis 0 group #all"
    fused += f" : ({of(*shard)}, {of(*rhs)}) -> {of(*result)}"
    end = f"return %r : {of(*result)}"
    return {
        "fused": function({"x": shard, "w": rhs}, [f"%r = {fused}", end], result),
        "product": function({"g": whole, "w": rhs}, [f"%r = {product}", end], result),
        "collective": function({"x": shard}, [gather, f"return %g : {of(*whole)}"], whole),
        "unfused": function({"x": shard, "w": rhs}, [gather, f"%r = {product}", end], result),
    }


def scatter_programs(inner):
    """A product over `inner` of sizes SCATTERED, reduce-scatter along rows."""
    rows, side = SCATTERED
    lhs, rhs, whole = (rows, inner), (inner, side), (rows, side)
    result = (rows // RANKS, side)
    product = f"%p = tp.matmul %x, %w : ({of(*lhs)}, {of(*rhs)}) -> {of(*whole)}"
    scatter = f"tp.reduce_scatter sum %p scatter_axis 0 group #all : {of(*whole)} -> {of(*result)}"
    fused = "tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 group #all"
    fused += f" : ({of(*lhs)}, {of(*rhs)}) -> {of(*result)}"
    end = f"return %r : {of(*result)}"
    return {
        "fused": function({"x": lhs, "w": rhs}, [f"%r = {fused}", end], result),
        "product": function({"x": lhs, "w": rhs}, [product, f"return %p : {of(*whole)}"], whole),
        "collective": function({"p": whole}, [f"%r = {scatter}", end], result),
        "unfused": function({"x": lhs, "w": rhs}, [product, f"%r = {scatter}", end], result),
    }


PROGRAMS = {
    "all-gather + matmul": gather_programs,
    "matmul + reduce-scatter": scatter_programs,
}


class Runner:
    def __init__(self, tool, folder, options, rounds):
        self.command = [*options, tool, "run"]
        self.folder = folder
        self.rounds = rounds

    def seconds(self, text):
        path = self.folder / "program.mlir"
        path.write_text(text)
        command = [*self.command, path, "--ranks=2", "--threads=1"]
        command += [f"--repeat={REPETITIONS}", "--json"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return json.loads(done.stdout)["seconds"]

    def measure(self, programs):
        """The shortest times of all programs, taken in turns."""
        best = dict.fromkeys(programs, math.inf)
        for _ in range(self.rounds):
            for name, text in programs.items():
                best[name] = min(best[name], self.seconds(text))
        return best


def find_balance(runner, make):
    """The size at which product and collective take equally long."""
    size = 512
    # Products of some size are faster than small ones.
    for _ in range(2):
        programs = {k: v for k, v in make(size).items() if k in ("product", "collective")}
        best = runner.measure(programs)
        size = round(size * best["collective"] / best["product"])
    return size


def report(runner, make, balance, factors):
    points = []
    print("   size  product [ms]  collective [ms]  fused [ms]  unfused [ms]"
          "  fused / longer  unfused / fused  ideal")  # fmt: skip
    for factor in factors:
        size = max(16, round(balance * factor / 16) * 16)
        best = runner.measure(make(size))
        product, collective, fused = best["product"], best["collective"], best["fused"]
        longer = max(product, collective)
        ideal = (product + collective) / longer
        points.append((product / collective, best["unfused"] / fused, ideal))
        print(
            f"{size:7}  {product * 1e3:12.1f}  {collective * 1e3:15.1f}  {fused * 1e3:10.1f}"
            f"  {best['unfused'] * 1e3:12.1f}  {fused / longer:14.2f}"
            f"  {best['unfused'] / fused:15.2f}  {ideal:5.2f}",
            flush=True,
        )
    return points


def plot(series, path):
    """Speed-up over product / collective, with the ideal line, as SVG."""
    width, height, margin = 640, 400, 50
    ratios = [point[0] for points in series.values() for point in points]
    low, high = math.log2(min(ratios)) - 0.2, math.log2(max(ratios)) + 0.2

    def x(ratio):
        return margin + (math.log2(ratio) - low) / (high - low) * (width - 2 * margin)

    def y(speed):
        return height - margin - (speed - 0.9) / 1.2 * (height - 2 * margin)

    def line(points, style):
        places = " ".join(f"{x(ratio):.1f},{y(speed):.1f}" for ratio, speed in points)
        return f'<polyline points="{places}" fill="none" {style}/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for speed in (1, 1.2, 1.4, 1.6, 1.8, 2):
        level = f'x1="{margin}" x2="{width - margin}" y1="{y(speed):.1f}" y2="{y(speed):.1f}"'
        parts.append(f'<line {level} stroke="#ddd"/>')
        parts.append(f'<text x="{margin - 28}" y="{y(speed) + 4:.1f}">{speed:.1f}</text>')
    for power in range(math.ceil(low), math.floor(high) + 1):
        label = f"{2.0**power:g}"
        parts.append(f'<text x="{x(2.0**power) - 8:.1f}" y="{height - 32}">{label}</text>')
    ratios = [2 ** (low + (high - low) * step / 100) for step in range(101)]
    ideal = [(ratio, (1 + ratio) / max(1, ratio)) for ratio in ratios]
    parts.append(line(ideal, 'stroke="#888" stroke-dasharray="5 4"'))
    names = [("ideal", "#888")]
    for (name, points), color in zip(series.items(), ("#1f77b4", "#d62728")):
        parts.append(line([point[:2] for point in points], f'stroke="{color}" stroke-width="2"'))
        for ratio, speed, _ in points:
            parts.append(f'<circle cx="{x(ratio):.1f}" cy="{y(speed):.1f}" r="3" fill="{color}"/>')
        names.append((name, color))
    for index, (name, color) in enumerate(names):
        place = f'x="{margin + 10}" y="{margin + 16 * index}"'
        parts.append(f'<text {place} fill="{color}">{name}</text>')
    place = f'x="{width / 2 - 100}" y="{height - 10}"'
    parts.append(f"<text {place}>time of product / collective</text>")
    parts.append(f'<text x="{margin - 28}" y="20">unfused / fused</text></svg>')
    path.write_text("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--rate", default="250m", help="of the link, in bits a second, as for tc")
    parser.add_argument("--plot", type=Path, help="write the speed-ups as SVG")
    parser.add_argument("--rounds", type=int, default=3, help="more where other work goes on")
    parser.add_argument("--only", choices=PROGRAMS, help="one of the two collectives")
    parser.add_argument(
        "--factors", type=float, nargs="+", default=FACTORS, help="sizes, as multiples of balance"
    )
    parser.add_argument("--balance", type=float, help="the size, where it is known")
    parser.add_argument("--transport", choices=["link", "threads"], help="one of the two")
    arguments = parser.parse_args()
    programs = {arguments.only: PROGRAMS[arguments.only]} if arguments.only else PROGRAMS
    tool = arguments.build.resolve() / "bin" / "commute"
    reason = reason_against()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        series = {}
        balance = dict.fromkeys(programs, arguments.balance)
        if arguments.transport == "threads":
            pass
        elif reason:
            print(f"no link of limited rate: {reason}")
        else:
            options = stack.enter_context(network_of_hosts(RANKS, folder, arguments.rate))
            mpirun = ["mpirun", "--allow-run-as-root", *options, "-n", RANKS]
            processes = Runner(tool, folder, mpirun, arguments.rounds)
            for name, make in programs.items():
                print(f"{name}, 2 processes joined by {arguments.rate}bit/s")
                balance[name] = balance[name] or find_balance(processes, make)
                series[name] = report(processes, make, balance[name], arguments.factors)
        if arguments.transport != "link":
            threads = Runner(tool, folder, [], arguments.rounds)
            for name, make in programs.items():
                print(f"{name}, 2 threads")
                report(threads, make, balance[name] or 512, arguments.factors)
    if arguments.plot and series:
        plot(series, arguments.plot)


if __name__ == "__main__":
    main()
