# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The kinds of faults that are planted into programs: which ops each fits, and what it does."""

import operator

import torch

aten = torch.ops.aten
c10d = torch.ops._c10d_functional

COLLECTIVES = {
    c10d.all_reduce.default,
    c10d.all_gather_into_tensor.default,
    c10d.reduce_scatter_tensor.default,
    c10d.all_to_all_single.default,
    c10d.broadcast.default,
}
FAMILIES = [
    [aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor],
    [aten.silu.default, aten.relu.default, aten.tanh.default, aten.sigmoid.default],
    [aten.gelu.default, aten.relu.default, aten.sigmoid.default],
    [aten.exp.default, aten.tanh.default],
    [aten.lt.Scalar, aten.le.Scalar, aten.gt.Scalar, aten.ge.Scalar],
    [aten.le.Tensor, aten.lt.Tensor, aten.ge.Tensor],
    [aten.tril.default, aten.triu.default],
    [aten._softmax.default, aten._log_softmax.default],
    [aten.rsqrt.default, aten.sqrt.default, aten.reciprocal.default],
]
# Numbers of these say how large or of what type a tensor is, not what is in it.
SHAPES = {
    aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.expand.default,
    aten.unsqueeze.default, aten.squeeze.dim, aten.clone.default, aten._to_copy.default,
    aten.empty.memory_format, aten.ones.default, aten.zeros.default, aten.new_zeros.default,
    aten.unbind.int, aten.empty_like.default, aten.arange.default, aten.detach.default,
}  # fmt: skip


class UnfitError(Exception):
    """A fault does not fit at this place."""


def _is_tensor(node):
    return isinstance(node, torch.fx.Node) and isinstance(node.meta.get("val"), torch.Tensor)


# What these give is not there before somebody waits for it.
UNFINISHED = {*COLLECTIVES, c10d.isend.default, c10d.irecv.default, c10d.batch_p2p_ops.default}
UNWRITTEN = {aten.empty.memory_format, aten.empty_like.default, aten.new_empty.default}


def _can_be_read(node):
    """True of tensors that hold what was computed."""
    while node.target in (operator.getitem, c10d.wait_tensor.default):
        if node.target is operator.getitem and node.args[0].target in UNFINISHED:
            return False
        node = node.args[0]
        if node.target is c10d.isend.default:
            return False
        if node.target in UNFINISHED:
            return True
    return _is_tensor(node) and node.target not in UNFINISHED | UNWRITTEN


def value_of(node):
    return node.meta["val"]


def _waiter(node):
    """The wait after a collective."""
    (wait,) = [user for user in node.users if user.target is c10d.wait_tensor.default] or [None]
    if wait is None:
        raise UnfitError("nobody waits")
    return wait


class Planter:
    """Plants one kind of fault at one node of one rank's graph."""

    def __init__(self, graph, node, choice, context):
        self.graph = graph
        self.node = node
        # Numbers drawn once for all ranks, so that all get the same fault.
        self.choice = choice
        self.context = context
        self.sites = []

    def pick(self, options):
        options = list(options)
        if not options:
            raise UnfitError("no choice")
        return options[self.choice % len(options)]

    def insert(self, target, *args, after=None):
        with self.graph.inserting_after(after or self.node):
            new = self.graph.call_function(target, args)
        if "stack_trace" in self.node.meta:
            new.meta["stack_trace"] = self.node.meta["stack_trace"]
        self.sites.append(new)
        return new

    def insert_after_wait(self, wait, target, *make_args):
        """Inserts an op that reads the wait, and is read in its place."""
        users = list(wait.users)
        new = self.insert(target, *make_args, after=wait)
        for user in users:
            user.replace_input_with(wait, new)
        return new

    # Collectives.

    def fits_drop_collective(self):
        return self.node.target in COLLECTIVES

    def drop_collective(self):
        node, wait = self.node, _waiter(self.node)
        operand = node.args[0]
        size, target = self.context.sizes[node.args[-1]], node.target
        if target is c10d.all_gather_into_tensor.default:
            stand_in = self.insert(aten.cat.default, [operand] * size, after=wait)
        elif target is c10d.reduce_scatter_tensor.default:
            rows = value_of(node).shape[0]
            stand_in = self.insert(aten.slice.Tensor, operand, 0, 0, rows, after=wait)
        else:
            stand_in = operand
            self.sites.append(operand)
        self.sites += list(wait.users)
        wait.replace_all_uses_with(stand_in)
        self.graph.erase_node(wait)
        self.graph.erase_node(node)
        return "no longer there"

    def fits_repeat_collective(self):
        return self.node.target is c10d.all_reduce.default

    def repeat_collective(self):
        wait = _waiter(self.node)
        users = list(wait.users)
        again = self.insert(self.node.target, wait, *self.node.args[1:], after=wait)
        waited = self.insert(c10d.wait_tensor.default, again, after=again)
        for user in users:
            user.replace_input_with(wait, waited)
        return "twice"

    def fits_other_reduction(self):
        return self.node.target in (c10d.all_reduce.default, c10d.reduce_scatter_tensor.default)

    def other_reduction(self):
        old = self.node.args[1]
        new = self.pick(kind for kind in ("sum", "avg", "max") if kind != old)
        self.node.update_arg(1, new)
        return f"{new} in place of {old}"

    def fits_other_group(self):
        return self.node.target in COLLECTIVES and len(self.context.sizes) > 1

    def other_group(self):
        sizes, old = self.context.sizes, self.node.args[-1]
        new = self.pick(name for name in sizes if name != old and sizes[name] == sizes[old])
        self.node.update_arg(len(self.node.args) - 1, new)
        return f"group {new} in place of {old}"

    def fits_blocks_in_other_order(self):
        return self.node.target in COLLECTIVES - {c10d.all_reduce.default, c10d.broadcast.default}

    def blocks_in_other_order(self):
        """What a gather gives, or a scatter takes, is turned by one block."""
        node, size = self.node, self.context.sizes[self.node.args[-1]]
        if node.target is c10d.all_gather_into_tensor.default:
            wait = _waiter(node)
            users, rows = list(wait.users), value_of(wait).shape[0]
            cut = rows // size
            last = self.insert(aten.slice.Tensor, wait, 0, cut, rows, after=wait)
            first = self.insert(aten.slice.Tensor, wait, 0, 0, cut, after=last)
            turned = self.insert(aten.cat.default, [last, first], after=first)
            for user in users:
                user.replace_input_with(wait, turned)
            return "blocks turned by one"
        operand = node.args[0]
        rows = value_of(operand).shape[0]
        cut = rows // size
        last = self.insert(aten.slice.Tensor, operand, 0, cut, rows, after=operand)
        first = self.insert(aten.slice.Tensor, operand, 0, 0, cut, after=last)
        turned = self.insert(aten.cat.default, [last, first], after=first)
        node.replace_input_with(operand, turned)
        self.sites.append(node)
        return "blocks turned by one before it"

    def fits_other_peer(self):
        return self.node.target in (c10d.isend.default, c10d.irecv.default)

    def other_peer(self):
        new = (self.node.args[1] + 1) % self.context.sizes[self.node.args[-1]]
        self.node.update_arg(1, new)
        return f"peer {new}"

    # Order of reduction and of other ops.

    def fits_added_before_the_sum(self):
        if self.node.target is not c10d.all_reduce.default or self.node.args[1] != "sum":
            return False
        return any(
            user.target is aten.add.Tensor for wait in self.node.users for user in wait.users
        )

    def added_before_the_sum(self):
        """all_reduce(a) + b becomes all_reduce(a + b), where b is there already."""
        node, wait = self.node, _waiter(self.node)
        add = self.pick(user for user in wait.users if user.target is aten.add.Tensor)
        other = next((a for a in add.args if a is not wait and _is_tensor(a)), None)
        operand = node.args[0]
        if other is None or value_of(other).shape != value_of(operand).shape:
            raise UnfitError("no operand")
        if list(self.graph.nodes).index(other) > list(self.graph.nodes).index(node):
            raise UnfitError("comes later")
        with self.graph.inserting_before(node):
            moved = self.graph.call_function(aten.add.Tensor, (operand, other))
        moved.meta.update({k: v for k, v in add.meta.items() if k == "stack_trace"})
        node.replace_input_with(operand, moved)
        add.replace_all_uses_with(wait)
        self.graph.erase_node(add)
        self.sites += [moved, node]
        return f"{other.name} added before it"

    # Values.

    def fits_counted_more(self):
        return _can_be_read(self.node) and value_of(self.node).is_floating_point()

    def counted_more(self):
        factor = self.pick([2, self.context.world, 0.5])
        users = list(self.node.users)
        scaled = self.insert(aten.mul.Tensor, self.node, factor)
        for user in users:
            user.replace_input_with(self.node, scaled)
        self.sites.append(self.node)
        return f"times {factor}"

    def fits_lost_term(self):
        return self.node.target in (aten.add.Tensor, aten.sub.Tensor) and all(
            _is_tensor(a) for a in self.node.args[:2]
        )

    def lost_term(self):
        kept = self.pick(self.node.args[:2])
        if value_of(kept).shape != value_of(self.node).shape:
            raise UnfitError("broadcast")
        users = list(self.node.users)
        self.sites += [kept, *users]
        self.node.replace_all_uses_with(kept)
        self.graph.erase_node(self.node)
        return f"only {kept.name}"

    def fits_stale_operand(self):
        return any(_is_tensor(a) for a in self.node.args)

    def stale_operand(self):
        places = [i for i, a in enumerate(self.node.args) if _is_tensor(a) and _can_be_read(a)]
        place = self.pick(places)
        old, earlier = self.node.args[place], []
        for node in self.graph.nodes:
            if node is self.node:
                break
            same = (
                _can_be_read(node)
                and node is not old
                and value_of(node).dtype == value_of(old).dtype
            )
            if same and value_of(node).shape == value_of(old).shape and node.users:
                earlier.append(node)
        new = earlier[(self.choice // 7) % len(earlier)] if earlier else None
        if new is None:
            raise UnfitError("no other value")
        self.node.update_arg(place, new)
        return f"{new.name} in place of {old.name}"

    def fits_other_function(self):
        return any(self.node.target in family for family in FAMILIES)

    def other_function(self):
        family = next(family for family in FAMILIES if self.node.target in family)
        old = self.node.target
        self.node.target = self.pick(other for other in family if other is not old)
        return f"{self.node.target} in place of {old}"

    def fits_swapped_operands(self):
        swappable = (aten.sub.Tensor, aten.div.Tensor, aten.mm.default, aten.bmm.default)
        return self.node.target in swappable and all(_is_tensor(a) for a in self.node.args[:2])

    def swapped_operands(self):
        first, second = self.node.args[:2]
        self.node.update_arg(0, second)
        self.node.update_arg(1, first)
        return "operands swapped"

    def fits_other_number(self):
        return self.node.target not in SHAPES | COLLECTIVES and bool(self.numbers())

    def numbers(self):
        """Places of floats, and of integers that are added or compared."""
        inexact = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor,
                   aten.lt.Scalar, aten.le.Scalar, aten.gt.Scalar, aten.ge.Scalar,
                   aten.eq.Scalar, aten.slice.Tensor, aten.split.Tensor, aten.cat.default,
                   aten._softmax.default, aten.sum.dim_IntList, aten.mean.dim,
                   aten.select.int, operator.getitem)  # fmt: skip
        found = []
        for place, argument in enumerate(self.node.args):
            if isinstance(argument, bool):
                continue
            is_number = isinstance(argument, (int, float)) and self.node.target in inexact
            if is_number or isinstance(argument, float):
                found.append(place)
        return found

    def other_number(self):
        place = self.pick(self.numbers())
        old = self.node.args[place]
        options = [old + 1, old - 1] if isinstance(old, int) else [old * 2, old + 0.5, -old]
        new = options[(self.choice // 5) % len(options)]
        if self.node.target is operator.getitem:
            new %= len(self.node.args[0].meta["val"])
        self.node.update_arg(place, new)
        return f"{new} in place of {old}"

    def fits_other_order(self):
        return self.node.target is aten.cat.default and len(self.node.args[0]) > 1

    def other_order(self):
        parts = list(self.node.args[0])
        self.node.update_arg(0, parts[1:] + parts[:1])
        return "parts turned by one"

    def fits_sum_for_mean(self):
        return self.node.target in (aten.mean.dim, aten.sum.dim_IntList, aten.mean.default,
                                    aten.sum.default)  # fmt: skip

    def sum_for_mean(self):
        others = {aten.mean.dim: aten.sum.dim_IntList, aten.sum.dim_IntList: aten.mean.dim,
                  aten.mean.default: aten.sum.default, aten.sum.default: aten.mean.default}  # fmt: skip
        old = self.node.target
        self.node.target = others[old]
        return f"{self.node.target} in place of {old}"

    def fits_other_rank(self):
        return self.context.other_arguments(self.node) is not None

    def other_rank(self):
        """The numbers that the program of another rank has here."""
        args, kwargs = self.context.other_arguments(self.node)
        names = {node.name: node for node in self.graph.nodes}

        def own(argument):
            return torch.fx.map_arg(argument, lambda node: names[node.name])

        self.node.args, self.node.kwargs = own(args), own(kwargs)
        return "as on another rank"


KINDS = {
    "drop_collective": 6, "repeat_collective": 3, "other_reduction": 3, "other_group": 3,
    "blocks_in_other_order": 4, "other_peer": 1, "added_before_the_sum": 3,
    "counted_more": 2, "lost_term": 2, "stale_operand": 4, "other_function": 2,
    "swapped_operands": 1, "other_number": 2, "other_order": 3, "sum_for_mean": 2,
    "other_rank": 5,
}  # fmt: skip
# Faults that make sense, or run at all, on all ranks only.
ON_ALL_RANKS = {"other_group"}


class Context:
    def __init__(self, captured, rank):
        mesh = captured.case.meshes[rank]
        self.sizes = {name: axis.size for name, axis in mesh.axes.items()}
        self.world = captured.case.world_size
        self.modules = captured.modules
        self.rank = rank

    def other_arguments(self, node):
        """The arguments of the next rank's node of this name, if they differ."""
        other = self.modules[(self.rank + 1) % len(self.modules)]
        for candidate in other.graph.nodes:
            if candidate.name == node.name and candidate.target == node.target:
                mine = (repr(node.args), repr(node.kwargs))
                if mine == (repr(candidate.args), repr(candidate.kwargs)):
                    return None
                return candidate.args, candidate.kwargs
        return None
