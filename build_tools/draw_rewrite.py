#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Draws a rewrite of a report, before and after, as an SVG for the documentation.

Usage:

    commute opt model -o better --report=report.html
    draw_rewrite.py report.html docs/images/example.svg [--rewrite 0] [--lanes]
"""

import argparse
import json
import re
from html import escape
from pathlib import Path

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y = 196, 44, 18, 30
LANE_HEIGHT, LANES_WIDTH, MARGIN = 22, 760, 16
FILL = {"op": "#fbe6d6", "shape": "#ffffff", "none": "#ffffff"}
STROKE = {"collective": "#c7621b", "product": "#2f6fbf"}
LANE_COLOUR = {"compute": "#2f6fbf", "memory": "#5c8f7b", "overhead": "#9aa3ae"}
TEXT, FAINT = "#1c2430", "#5b6675"


def seconds_text(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def text(x, y, words, size=13, colour=TEXT, anchor="middle", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


def shorten(words, length):
    return words if len(words) <= length else words[: length - 1] + "…"


def depth_of(boxes):
    """Each box below the boxes that it uses, and inputs right above their first user."""
    depth = [0] * len(boxes)
    for _ in boxes:
        for index, box in enumerate(boxes):
            for operand in box["operands"]:
                depth[index] = max(depth[index], depth[operand] + 1)
    for index, box in enumerate(boxes):
        users = [depth[user] for user, other in enumerate(boxes) if index in other["operands"]]
        if not box["operands"] and users:
            depth[index] = min(users) - 1
    return depth


def draw_graph(boxes, left, top):
    """The elements, the width and the height of one graph."""
    depth = depth_of(boxes)
    rows = [[i for i in range(len(boxes)) if depth[i] == d] for d in range(max(depth) + 1)]
    width = max(map(len, rows)) * (BOX_WIDTH + GAP_X) - GAP_X
    place = {}
    for level, row in enumerate(rows):
        start = left + (width - len(row) * (BOX_WIDTH + GAP_X) + GAP_X) / 2
        for index, number in enumerate(row):
            place[number] = (
                start + index * (BOX_WIDTH + GAP_X),
                top + level * (BOX_HEIGHT + GAP_Y),
            )
    parts = []
    for number, box in enumerate(boxes):
        x2, y2 = place[number][0] + BOX_WIDTH / 2, place[number][1]
        for operand in box["operands"]:
            x1, y1 = place[operand][0] + BOX_WIDTH / 2, place[operand][1] + BOX_HEIGHT
            bend = (y2 - y1) / 2
            parts.append(
                f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{y1 + bend:.1f} {x2:.1f},{y2 - bend:.1f} '
                f'{x2:.1f},{y2 - 3:.1f}" fill="none" stroke="{FAINT}"/>'
                f'<path d="M{x2 - 3.5:.1f},{y2 - 6:.1f} l3.5,6 l3.5,-6 z" fill="{FAINT}"/>'
            )
    for number, box in enumerate(boxes):
        x, y = place[number]
        is_input = box["kind"] == "input"
        name = (box["nodes"] or ["input"])[0] if is_input else box["label"]
        time = f" · {seconds_text(box['seconds'])}" if box["seconds"] > 0 else ""
        dash = ' stroke-dasharray="5 3"' if box["change"] == "shape" else ""
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
            f'rx="{22 if is_input else 6}" fill="{FILL[box["change"]]}" '
            f'stroke="{STROKE.get(box["kind"], FAINT)}" stroke-width="1.5"{dash}/>'
        )
        parts.append(text(x + BOX_WIDTH / 2, y + 18, shorten(name, 27)))
        shape = box["shape"].replace("x", "\u00d7") + time
        parts.append(text(x + BOX_WIDTH / 2, y + 34, shorten(shape, 36), 11, FAINT))
    return parts, width, len(rows) * (BOX_HEIGHT + GAP_Y) - GAP_Y


def draw_lanes(data, left, top, width):
    parts, y = [], top
    programs = data["programs"]
    longest = max(program["step_seconds"] for program in programs)
    for program in programs:
        ops, events = program["lanes"]["ops"], program["lanes"]["events"]
        exposed = program["exposed_communication_seconds"]
        title = (
            f"{program['role']}: one step {seconds_text(program['step_seconds'])}, "
            f"exposed communication {seconds_text(exposed)}"
        )
        parts.append(text(left, y + 14, title, anchor="start"))
        y += 22
        for lane in (0, 1):
            for op, which, start, time in zip(
                events["op"], events["lane"], events["start"], events["time"], strict=True
            ):
                if which != lane:
                    continue
                bound = data["strings"][ops["bound"][op]]
                colour = "#c7621b" if lane else LANE_COLOUR.get(bound, "#5c8f7b")
                x = left + start / 1e9 / longest * width
                length = max(time / 1e9 / longest * width - 0.4, 0.3)
                parts.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{LANE_HEIGHT}" '
                    f'fill="{colour}"/>'
                )
            y += LANE_HEIGHT + 3
        y += 10
    return parts, y - top


def draw(data, rewrite, with_lanes):
    parts, left, height = [], MARGIN, 0
    for side in ("before", "after"):
        graph, width, graph_height = draw_graph(rewrite[side], left, 40)
        sums = seconds_text(sum(box["seconds"] for box in rewrite[side]))
        parts.append(text(left + width / 2, 24, f"{side}: {sums}", 15, weight="bold"))
        parts += graph
        left += width + 3 * GAP_X
        height = max(height, graph_height)
    width, height = max(left - 3 * GAP_X + MARGIN, LANES_WIDTH), height + 40 + MARGIN
    if with_lanes:
        lanes, lanes_height = draw_lanes(data, MARGIN, height + 10, width - 2 * MARGIN)
        parts += lanes
        height += lanes_height + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="system-ui, sans-serif">'
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#f5f7fa"/>'
        + "\n".join(parts)
        + "</svg>\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rewrite", type=int, default=0, help="index of the rewrite")
    parser.add_argument("--lanes", action="store_true", help="draw both steps below")
    arguments = parser.parse_args()
    page = arguments.report.read_text()
    (block,) = re.findall(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    data = json.loads(block)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(draw(data, data["rewrites"][arguments.rewrite], arguments.lanes))


if __name__ == "__main__":
    main()
