# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs that use the corners of torch.export, each a small export of its own.

    export_program("cond", path)

They hold what models of the fixtures do not: higher-order operators, mutation,
odd element types, symbolic numbers, operators nobody knows.
"""

import torch
from torch import nn
from torch.export import Dim, export
from torch.export.graph_signature import OutputKind

PROGRAMS = {}


def program(function):
    """Registers a function that exports a program."""
    PROGRAMS[function.__name__] = function
    return function


def export_program(name, path):
    exported = PROGRAMS[name]()
    torch.export.save(exported, path)
    return exported


def define_library(namespace, definitions):
    """Operators of a library of our own, as {schema: function}.

    The function also stands for the operator when it is traced.
    """
    library = torch.library.Library(namespace, "FRAGMENT")
    for schema, function in definitions.items():
        library.define(schema)
        library.impl(schema.split("(")[0], function, "CompositeExplicitAutograd")
    return library


def mylib_rms_norm(x, weight, epsilon):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, epsilon)


def mylib_split_heads(x, sizes):
    return [part.contiguous() for part in x.split(sizes, -1)]


def mylib_lists(x, flags, numbers, names, pairs, tensors):
    return x + len(names), len(flags)


def mylib_scale_(x, factor):
    x.mul_(factor)


# A library unregisters its operators when it goes.
MYLIB = define_library(
    "mylib",
    {
        "rms_norm(Tensor input, Tensor gamma, float epsilon) -> Tensor": mylib_rms_norm,
        "split_heads(Tensor x, SymInt[] sizes) -> Tensor[]": mylib_split_heads,
        "lists(Tensor x, bool[] flags, float[] numbers, str[] names, float[][] pairs, "
        "Tensor[][] tensors) -> (Tensor, int)": mylib_lists,
        "scale_(Tensor(a!) x, float factor) -> ()": mylib_scale_,
    },
)


def define_mylib():
    """For processes that have to know the operators: to import this defines them."""


class Model(nn.Module):
    """A module whose forward is a function of it and the inputs."""

    def __init__(self, function, **members):
        super().__init__()
        self.function = function
        for name, member in members.items():
            if isinstance(member, torch.Tensor) and not isinstance(member, nn.Parameter):
                self.register_buffer(name, member)
            else:
                setattr(self, name, member)

    def forward(self, *arguments):
        return self.function(self, *arguments)


def export_function(function, *arguments, dynamic_shapes=None, **members):
    if dynamic_shapes is not None:
        # The arguments are one *arguments parameter of forward.
        dynamic_shapes = (tuple(dynamic_shapes),)
    return export(Model(function, **members), arguments, dynamic_shapes=dynamic_shapes)


# ----------------------------------------------------------------------------
# Sizes
# ----------------------------------------------------------------------------


@program
def dynamic_shapes():
    """Sums, products and quotients of symbols as sizes."""
    rows, columns = Dim("rows", min=4, max=512), Dim("columns", min=4, max=64)

    def forward(self, x, y):
        joined = torch.cat([x, y], 1)
        return joined.t(), x[1:], y.reshape(-1, 2), torch.zeros(x.shape[0] * 3 + 1)

    shapes = [{0: rows, 1: 2 * columns}, {0: rows}]
    return export_function(forward, torch.ones(6, 8), torch.ones(6, 4), dynamic_shapes=shapes)


@program
def symbolic_numbers():
    """Symbolic integers as an input and as outputs, floats and booleans of them."""

    def forward(self, x, count):
        half = x.shape[0] * 0.5
        return x * count + half, x.shape[0], count + 1, x.expand(x.shape[0], -1).reshape(-1)

    shapes = [{0: Dim.DYNAMIC}, Dim.DYNAMIC]
    return export_function(forward, torch.ones(5, 3), 7, dynamic_shapes=shapes)


@program
def sizes_from_data():
    """Sizes that only the run knows, and what is asserted of them."""

    def forward(self, x, n):
        count = n.item()
        torch._check(count >= 2)
        torch._check(count <= 16)
        return x.nonzero(), torch.ones(count, 2) * 3

    return export_function(forward, torch.tensor([1.0, 0.0, 2.0]), torch.tensor(4))


@program
def empty_and_one():
    """Sizes 0 and 1, whose strides say nothing."""

    def forward(self, x, y):
        return x.t() + 1, y.transpose(0, 1).reshape(1, 4), x.sum()

    return export_function(forward, torch.ones(0, 3), torch.ones(4, 1, 1))


# ----------------------------------------------------------------------------
# Results of operators
# ----------------------------------------------------------------------------


@program
def several_results():
    """Lists, tuples, results that nobody reads, results among None."""

    def forward(self, x):
        first, _, third = x.split([1, 2, 3], 0)
        values, _ = torch.topk(x, 2)
        _, indices = x.max(1)
        normalized = torch.ops.aten.native_layer_norm(x, [4], None, None, 1e-5)
        return first, third, values, indices, normalized[0], torch.unbind(x)[2]

    return export_function(forward, torch.randn(6, 4))


@program
def none_and_constants():
    """Outputs and inputs that are no tensors."""

    def forward(self, x, nothing, flag, name):
        # A string among the outputs is written by PyTorch 2.13, but not read.
        return x + len(name), None, {"number": 3, "flag": flag, "float": 0.5}, [None, x * 2]

    return export_function(forward, torch.ones(2), None, True, "name")


@program
def input_as_output():
    """An input, a parameter and one value twice among the outputs."""

    def forward(self, x):
        y = x * self.weight
        return x, self.weight, y, y

    return export_function(forward, torch.ones(3), weight=nn.Parameter(torch.rand(3)))


# ----------------------------------------------------------------------------
# Arguments of operators
# ----------------------------------------------------------------------------


@program
def element_types():
    """Every element type that can be stored, as weight, input and result."""
    names = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 bool float16 bfloat16 float32 "
    names += "float64 complex64 complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
    names += "float8_e5m2fnuz float8_e8m0fnu"
    types = {name: getattr(torch, name) for name in names.split()}

    def forward(self, x):
        buffers = [self.get_buffer(f"as_{name}") for name in types]
        flat = [buffer.reshape(-1) for buffer in buffers]
        return [x.to(kind) for kind in types.values()], flat

    buffers = {f"as_{name}": torch.ones(2, 3).to(kind) for name, kind in types.items()}
    return export_function(forward, torch.rand(4), **buffers)


@program
def odd_arguments():
    """Infinities, complex numbers, memory formats, devices, optional tensors, strings."""

    def forward(self, x, index):
        y = x.masked_fill(x > 0.5, float("-inf")).nan_to_num(neginf=-1e300)
        z = x.to(memory_format=torch.channels_last).clone(memory_format=torch.preserve_format)
        empty = torch.full(z.shape, float("nan"), dtype=torch.float64, device="cpu")
        complex_sum = torch.ops.aten.add.Tensor(x, x, alpha=2) + 1j
        gathered = x[:, index, :, index]
        rounded = torch.div(x, 3, rounding_mode="floor")
        return y, z, empty, complex_sum, gathered, rounded, torch.einsum("abcd,dc->ab", x, x[0, 0])

    return export_function(forward, torch.rand(2, 3, 4, 4), torch.tensor([0, 2]))


def use_unknown_library(self, x):
    left, right = torch.ops.mylib.split_heads(x, [2, 6])
    numbers, names = [0.5, float("inf")], ["a", '"\\\u00e9\n']
    lists = torch.ops.mylib.lists(
        x, [True, False], numbers, names, [[0.5, -1e-9], []], [[x], [x, x]]
    )
    scaled = x * 2
    torch.ops.mylib.scale_(scaled, 0.5)
    return torch.ops.mylib.rms_norm(x, self.weight, 1e-5), left, right, lists[0], scaled


@program
def unknown_library():
    """Operators of a library that Commute has never heard of."""
    weight = nn.Parameter(torch.rand(8))
    return export_function(use_unknown_library, torch.randn(3, 8), weight=weight)


@program
def unknown_library_functionalized():
    """The same with operators as arguments of other operators."""
    return unknown_library().run_decompositions()


# ----------------------------------------------------------------------------
# Graphs in graphs
# ----------------------------------------------------------------------------


@program
def cond():
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: y @ self.weight, lambda y: y - 1, (x,))

    return export_function(forward, torch.randn(4, 4), weight=nn.Parameter(torch.rand(4, 4)))


@program
def while_loop():
    def forward(self, x):
        start = (torch.tensor(0), x)
        operator = torch.ops.higher_order.while_loop
        return operator(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), start, ())[1]

    return export_function(forward, torch.randn(3))


@program
def autograd_and_autocast_regions():
    def forward(self, x):
        with torch.no_grad():
            y = x.t() @ x
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = y @ y
        return y + z.float()

    return export_function(forward, torch.randn(4, 4, requires_grad=True))


# ----------------------------------------------------------------------------
# Mutation
# ----------------------------------------------------------------------------


def count_and_store(self, x):
    self.count.add_(1)
    self.memory[1:3].copy_(x)
    view = self.memory.t()
    return view * self.count, x.add_(1)


def export_mutation():
    members = {"count": torch.zeros(()), "memory": torch.zeros(4, 2)}
    return export_function(count_and_store, torch.ones(2, 2), **members)


@program
def mutation_in_the_graph():
    """As exported: copy_ and add_ on buffers, inputs and views of them."""
    exported = export_mutation()
    assert any(str(node.target).endswith("_.default") for node in exported.graph.nodes)
    return exported


@program
def mutation_in_the_signature():
    """The same in functional form: new values are outputs of the graph."""
    exported = export_mutation().run_decompositions()
    kinds = {spec.kind for spec in exported.graph_signature.output_specs}
    assert {OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION} <= kinds
    return exported


# ----------------------------------------------------------------------------
# State
# ----------------------------------------------------------------------------


class TiedWeights(nn.Module):
    """One weight under two names, one storage under two strides, constants."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(8, 4)
        self.head = nn.Linear(4, 8, bias=False)
        self.head.weight = self.embedding.weight
        storage = torch.rand(6, 4)
        self.register_buffer("rows", storage[2:])
        self.register_buffer("columns", storage.t())
        self.register_buffer("scratch", torch.rand(4), persistent=False)
        self.constant = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, tokens):
        x = self.embedding(tokens) * self.constant + self.scratch
        return self.head(x), x @ self.columns, self.rows.sum()


@program
def tied_weights():
    return export(TiedWeights(), (torch.tensor([[1, 2, 3]]),))


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x, *, scale, others):
        return {"y": self.inner(x["a"]) * scale, "z": (others[0] + x["b"], [others[1]])}


@program
def nested_structures():
    """Dictionaries, keyword arguments and the signature of a submodule."""
    x = torch.rand(2, 4)
    kwargs = {"scale": torch.tensor(2.0), "others": [x, x + 1]}
    return export(Nested(), ({"a": x, "b": x},), kwargs, preserve_module_call_signature=("inner",))
