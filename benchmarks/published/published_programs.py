# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The programs whose times were published, as tp text."""

from collections.abc import Sequence


def _type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(str(size) for size in shape)}x{element}>"


def _module(arguments: str, lines: Sequence[str], result: str) -> str:
    body = "\n".join(lines)
    return f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}\n"


def _group(ranks: int) -> str:
    return f'group <"0", {list(range(ranks))}>'


def _result_element(element: str) -> str:
    # Products of eight bits are stored in sixteen.
    return "bf16" if element.startswith("f8") else element


def matmul(m: int, n: int, k: int, element: str) -> str:
    a, b = _type([m, k], element), _type([k, n], element)
    c = _type([m, n], _result_element(element))
    return _module(f"%a: {a}, %b: {b}", [f"%r = tp.matmul %a, %b : ({a}, {b}) -> {c}"], c)


def collective(kind: str, bytes_: int, ranks: int) -> str:
    """A collective in bf16 over a tensor of so many bytes in all."""
    elements = bytes_ // 2
    whole, part = _type([elements], "bf16"), _type([elements // ranks], "bf16")
    before, after, text = {
        "all_reduce": (whole, whole, "tp.all_reduce sum %x"),
        "all_gather": (part, whole, "tp.all_gather %x gather_axis 0"),
        "reduce_scatter": (whole, part, "tp.reduce_scatter sum %x scatter_axis 0"),
    }[kind]
    types = f"{before} -> {after}"
    return _module(f"%x: {before}", [f"%r = {text} {_group(ranks)} : {types}"], after)


def all_gather_matmul(m: int, n: int, k: int, ranks: int, element: str, fused: bool) -> str:
    """Each rank holds m rows."""
    x, w = _type([m, k], element), _type([k, n], element)
    gathered = _type([m * ranks, k], element)
    result = _type([m * ranks, n], _result_element(element))
    group = _group(ranks)
    lines = (
        [f"%r = tp.all_gather_matmul %x, rhs(%w) gather_axis 0 {group} : ({x}, {w}) -> {result}"]
        if fused
        else [
            f"%g = tp.all_gather %x gather_axis 0 {group} : {x} -> {gathered}",
            f"%r = tp.matmul %g, %w : ({gathered}, {w}) -> {result}",
        ]
    )
    return _module(f"%x: {x}, %w: {w}", lines, result)


def matmul_reduce_scatter(m: int, n: int, k: int, ranks: int, element: str, fused: bool) -> str:
    """Each rank multiplies m rows, and keeps m / ranks of the sum."""
    x, w = _type([m, k], element), _type([k, n], element)
    product = _type([m, n], _result_element(element))
    result = _type([m // ranks, n], _result_element(element))
    group = _group(ranks)
    lines = (
        [
            f"%r = tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 {group}"
            f" : ({x}, {w}) -> {result}"
        ]
        if fused
        else [
            f"%p = tp.matmul %x, %w : ({x}, {w}) -> {product}",
            f"%r = tp.reduce_scatter sum %p scatter_axis 0 {group} : {product} -> {result}",
        ]
    )
    return _module(f"%x: {x}, %w: {w}", lines, result)
