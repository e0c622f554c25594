# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Evaluates relations.json in PyTorch: the inputs of ranks, and what outputs should be.

An implementation of its own, of the language that `commute verify --relations` reads.
"""

import re
import zlib

import torch

_TOKEN = re.compile(r"\s*(?:(-?\d+(?![\w.]))|([A-Za-z_@][\w.]*)|([\[\](),]))")


class RelationError(ValueError):
    """A relation cannot be read or evaluated."""


def _tokens(text):
    place, found = 0, []
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if not match:
            raise RelationError(f"{text!r}, column {place}: not understood")
        number, name, sign = match.groups()
        found.append(int(number) if number is not None else (name or sign))
        place = match.end()
    return found


class _Parser:
    def __init__(self, text):
        self.text = text
        self.tokens = _tokens(text)

    def take(self, expected=None):
        token = self.tokens.pop(0) if self.tokens else None
        if token is None or (expected is not None and token != expected):
            raise RelationError(f"{self.text!r}: {expected or 'more'} expected, not {token!r}")
        return token

    def expression(self):
        token = self.take()
        if token == "[":
            return self.list("]")
        if isinstance(token, int):
            return token
        result = ("name", token)
        if self.tokens and self.tokens[0] == "(":
            self.take()
            result = ("call", token, self.list(")"))
        while self.tokens and self.tokens[0] == "[":
            self.take()
            result = ("item", result, self.take())
            self.take("]")
        return result

    def list(self, end):
        found = []
        while self.tokens and self.tokens[0] != end:
            found.append(self.expression())
            if self.tokens and self.tokens[0] == ",":
                self.take()
        self.take(end)
        return found


def parse(text):
    parser = _Parser(text)
    result = parser.expression()
    if parser.tokens:
        raise RelationError(f"{text!r}: {parser.tokens[0]!r} is too much")
    return result


def chunk(x, count, index, dim):
    """As torch.chunk cuts; empty where it gives fewer chunks."""
    chunks = x.chunk(count, dim)
    return chunks[index] if index < len(chunks) else x.narrow(dim, 0, 0)


class _Evaluator:
    def __init__(self, values, mesh, like=None):
        self.values = values
        self.mesh = mesh
        # For zeros: element types come from the tensors around.
        self.dtype = like

    def axis(self, arguments):
        if arguments:
            return self.mesh.axes[arguments[0][1]]
        if len(self.mesh.axes) != 1:
            raise RelationError("several axes: name one")
        return next(iter(self.mesh.axes.values()))

    def evaluate(self, tree):
        if isinstance(tree, int):
            return tree
        if isinstance(tree, list):
            return [self.evaluate(part) for part in tree]
        if tree[0] == "name":
            if tree[1] not in self.values:
                raise RelationError(f"the reference has no {tree[1]!r}")
            return self.values[tree[1]]
        if tree[0] == "item":
            return self.evaluate(tree[1])[tree[2]]
        function = getattr(self, f"_{tree[1]}", None)
        if function is None:
            raise RelationError(f"no function {tree[1]!r}")
        return function(*tree[2])

    def _shard(self, x, dim, *axis):
        axis = self.axis(axis)
        return chunk(self.evaluate(x), axis.size, axis.index, dim)

    def _partial(self, x, *axis):
        axis = self.axis(axis)
        whole = self.evaluate(x)
        generator = torch.Generator().manual_seed(
            zlib.crc32(repr((x, self.mesh.groups[axis.name])).encode())
        )
        parts = [
            torch.randn(whole.shape, generator=generator, dtype=torch.float64).to(whole.dtype)
            for _ in range(axis.size - 1)
        ]
        parts.append(whole - sum(parts, torch.zeros_like(whole)))
        return parts[axis.index]

    def _cat(self, parts, dim):
        return torch.cat(self.evaluate(parts), dim)

    def _permute(self, x, dims):
        return self.evaluate(x).permute(dims)

    def _reshape(self, x, sizes):
        return self.evaluate(x).reshape(sizes)

    def _slice(self, x, dim, start, end):
        x = self.evaluate(x)
        return x.narrow(dim, start, end - start)

    def _split(self, x, sizes, dim=0):
        return self.evaluate(x).split(sizes if isinstance(sizes, int) else list(sizes), dim)

    def _zeros(self, sizes):
        return torch.zeros(sizes, dtype=self.dtype or torch.float32)


def evaluate(text, values, mesh, dtype=None):
    return _Evaluator(values, mesh, dtype).evaluate(parse(text))


def rank_inputs(names, reference_inputs, relations, mesh):
    """The inputs of one rank, by name; what is not stated is the reference's of that name."""
    stated = dict(relations.get("inputs", {}))
    of_rank = relations.get("inputs_of_rank")
    if of_rank:
        stated.update(of_rank[mesh.rank])
    dtype = next((t.dtype for t in reference_inputs.values() if t.is_floating_point()), None)
    return {
        name: evaluate(stated.get(name, name), reference_inputs, mesh, dtype).contiguous()
        for name in names
    }


def output_relation(relations, index):
    """The relation of a reference output as text, and the place among the ranks' outputs."""
    stated = relations.get("outputs", {}).get(str(index), "replicated")
    if isinstance(stated, str):
        return stated, index
    place = stated.get("output", index)
    return stated.get("relation", "replicated"), int(place)


def _output_tree(relation):
    """Of "shard(1, tp)", "partial", or an expression in which "output" is the output."""
    tree = parse("output" if relation == "replicated" else relation)
    if tree == ("name", "partial"):
        return ("call", "partial", [("name", "output")])
    if tree[0] == "call" and tree[1] in ("shard", "partial"):
        arguments = tree[2]
        operand = arguments[0] if arguments else None
        axes_only = tree[1] == "partial" and operand is not None and operand[1] != "output"
        if operand is None or isinstance(operand, int) or (axes_only and operand[0] == "name"):
            return ("call", tree[1], [("name", "output"), *arguments])
    return tree


def compare_output(relation, expected, found, meshes):
    """The largest difference between the ranks' tensors and what the relation says of the
    reference's, relative to its largest number; infinite where shapes differ.

    found: for each rank its tensor, or None where it has no such output.
    """
    scale = max(float(expected.abs().max()) if expected.numel() else 0.0, 1e-30)
    tree = _output_tree(relation)
    worst = 0.0
    if all(tensor is None for tensor in found):
        return float("inf")
    for mesh, tensor in zip(meshes, found, strict=True):
        if tensor is None:
            continue
        evaluator = _Evaluator({"output": expected}, mesh)
        if tree[0] == "call" and tree[1] == "partial":
            wanted = evaluator.evaluate(tree[2][0])
            tensor = sum(found[rank] for rank in mesh.groups[evaluator.axis(tree[2][1:]).name])
        else:
            wanted = evaluator.evaluate(tree)
        worst = max(worst, _distance(wanted, tensor, scale))
    return worst


def _distance(wanted, tensor, scale):
    if wanted.shape != tensor.shape:
        return float("inf")
    if not tensor.numel():
        return 0.0
    if not tensor.is_floating_point() or not wanted.is_floating_point():
        return 0.0 if torch.equal(wanted, tensor) else float("inf")
    distance = float((wanted - tensor).abs().max()) / scale
    return distance if distance == distance else float("inf")
