# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The collectives of torch.distributed, as operators that a trace records.

Models that are written by hand call `dist.all_reduce(x)` and `dist.isend(x, 1)`, which write
into tensors and return handles. PyTorch's tracing replaces some of them and refuses
`async_op=True`. Inside `TracedCollectives`, each becomes its functional operator, whose
result is copied into the tensor of the caller.

Two properties of the originals are kept:

- A collective with `async_op=True` writes its result before it has arrived; `wait` of its
  handle writes the result that has. So a program that reads the tensor too early reads the
  result without `wait_tensor`, which verification finds.
- Autograd does not see what the originals write. Only an autograd function gives a
  collective a gradient.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode

from commute.capture.errors import CaptureError

_ops = torch.ops._c10d_functional


class Handle:
    """The handle of a collective or transfer with `async_op=True`."""

    def __init__(self, arrive: Callable[[], None]) -> None:
        self._arrive: Callable[[], None] | None = arrive

    def wait(self, timeout: Any = None) -> bool:
        if self._arrive is not None:
            self._arrive()
            self._arrive = None
        return True

    def is_completed(self) -> bool:
        """True: a loop that polls ends when the result has arrived."""
        return self.wait()

    def __getattr__(self, name: str) -> Any:
        raise CaptureError(
            f"the handle of an asynchronous collective is asked for {name!r}; only wait() and"
            " is_completed() can be traced"
        )


def _reduction(op: Any) -> str:
    names = {
        dist.ReduceOp.SUM: "sum",
        dist.ReduceOp.AVG: "avg",
        dist.ReduceOp.PRODUCT: "product",
        dist.ReduceOp.MIN: "min",
        dist.ReduceOp.MAX: "max",
        dist.ReduceOp.BAND: "band",
        dist.ReduceOp.BOR: "bor",
        dist.ReduceOp.BXOR: "bxor",
    }
    for known, name in names.items():
        if op == known:
            return name
    raise CaptureError(f"the reduction {op} of a collective cannot be traced")


def _check_same_sizes(tensors: Sequence[torch.Tensor], what: str) -> None:
    if any(tensor.shape != tensors[0].shape for tensor in tensors):
        shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors)
        raise CaptureError(f"{what} of tensors with different shapes ({shapes}) cannot be traced")


class _Call:
    """One call of a function of torch.distributed."""

    def __init__(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self._name = function.__name__
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        self._arguments = bound.arguments
        self._group: Any = self._arguments.get("group") or dist.group.WORLD
        self._written: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._sent: list[torch.Tensor] = []

    def __getitem__(self, name: str) -> Any:
        return self._arguments[name]

    @property
    def size(self) -> int:
        return dist.get_world_size(self._group)

    @property
    def group(self) -> str:
        return str(self._group.group_name)

    @property
    def place(self) -> int:
        """This rank's position in the group."""
        return dist.get_rank(self._group)

    def peer(self, name: str) -> int:
        """Returns the position in the group of the rank that arguments such as `dst` and
        `group_dst` name."""
        in_group, in_world = self._arguments.get(f"group_{name}"), self._arguments.get(name)
        if in_group is not None:
            return int(in_group)
        if in_world is None:
            if name != "src" or self._name != "broadcast":
                raise CaptureError(f"{self._name} from any rank cannot be traced; name the rank")
            return 0
        return dist.get_group_rank(self._group, int(in_world))

    def write(self, target: torch.Tensor, value: torch.Tensor) -> None:
        """Writes what has not arrived yet over a tensor of the caller."""
        self._written.append((target, value))
        target.copy_(self._fitted(value, target))

    def note_sent(self, value: torch.Tensor) -> None:
        """Notes what `wait` waits for, and writes nowhere."""
        self._sent.append(value)

    @staticmethod
    def _fitted(value: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return value if value.shape == target.shape else value.reshape(target.shape)

    def _arrive(self) -> None:
        # Autograd does not see what collectives write.
        with torch.no_grad():
            for target, value in self._written:
                target.copy_(self._fitted(_ops.wait_tensor(value), target))
            for value in self._sent:
                _ops.wait_tensor(value)

    def finish(self, is_async: bool) -> Handle | None:
        handle = Handle(self._arrive)
        if is_async:
            return handle
        handle.wait()
        return None


def _all_reduce(call: _Call) -> None:
    tensor = call["tensor"]
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    call.write(tensor, _ops.all_reduce(tensor, _reduction(call["op"]), call.group))


def _all_reduce_coalesced(call: _Call) -> None:
    for tensor in call["tensors"]:
        call.write(tensor, _ops.all_reduce(tensor, _reduction(call["op"]), call.group))


def _reduce(call: _Call) -> None:
    # All ranks call it, and one of them gets the result.
    tensor = call["tensor"]
    result = _ops.all_reduce(tensor, _reduction(call["op"]), call.group)
    if call.place == call.peer("dst"):
        call.write(tensor, result)
    else:
        _ops.wait_tensor(result)


def _broadcast(call: _Call) -> None:
    call.write(call["tensor"], _ops.broadcast(call["tensor"], call.peer("src"), call.group))


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


def _gathered(call: _Call, tensor: torch.Tensor) -> torch.Tensor:
    return _ops.all_gather_into_tensor(_rows(tensor).contiguous(), call.size, call.group)


def _all_gather(call: _Call) -> None:
    parts = call["tensor_list"]
    _check_same_sizes([call["tensor"], *parts], "all_gather")
    for part, value in zip(parts, _gathered(call, call["tensor"]).chunk(call.size)):
        call.write(part, value)


def _all_gather_single(call: _Call) -> None:
    call.write(call["output_tensor"], _gathered(call, call["input_tensor"]))


def _gather(call: _Call) -> None:
    whole = _gathered(call, call["tensor"])
    if call.place != call.peer("dst"):
        _ops.wait_tensor(whole)
        return
    for part, value in zip(call["gather_list"], whole.chunk(call.size)):
        call.write(part, value)


def _scatter(call: _Call) -> None:
    tensor, source = call["tensor"], call.peer("src")
    if call.place == source:
        whole = torch.stack(list(call["scatter_list"]))
    else:
        whole = tensor.new_zeros((call.size, *tensor.shape))
    call.write(tensor, _ops.broadcast(whole, source, call.group)[call.place])


def _scattered(call: _Call, whole: torch.Tensor) -> torch.Tensor:
    reduction = _reduction(call["op"])
    return _ops.reduce_scatter_tensor(whole.contiguous(), reduction, call.size, call.group)


def _reduce_scatter(call: _Call) -> None:
    parts = call["input_list"]
    _check_same_sizes(parts, "reduce_scatter")
    call.write(call["output"], _scattered(call, torch.stack(list(parts))))


def _reduce_scatter_single(call: _Call) -> None:
    call.write(call["output"], _scattered(call, call["input"]))


def _split_sizes(sizes: Any, rows: int, count: int) -> list[Any]:
    if sizes is None or len(sizes) == 0:
        return [rows // count] * count
    if isinstance(sizes, torch.Tensor):
        return sizes.tolist()
    return [size.item() if isinstance(size, torch.Tensor) else size for size in sizes]


def _all_to_all_single(call: _Call) -> None:
    output, given = call["output"], call["input"]
    sizes = (
        _split_sizes(call["output_split_sizes"], output.shape[0], call.size),
        _split_sizes(call["input_split_sizes"], given.shape[0], call.size),
    )
    call.write(output, _ops.all_to_all_single(given.contiguous(), *sizes, call.group))


def _all_to_all(call: _Call) -> None:
    outputs, inputs = call["output_tensor_list"], call["input_tensor_list"]
    lengths = [[tensor.numel() for tensor in tensors] for tensors in (outputs, inputs)]
    whole = torch.cat([tensor.reshape(-1) for tensor in inputs])
    result = _ops.all_to_all_single(whole, *lengths, call.group)
    for output, value in zip(outputs, result.split(lengths[0])):
        call.write(output, value)


def _send(call: _Call) -> None:
    sent = _ops.isend(call["tensor"], call.peer("dst"), call["tag"], call.group)
    call.note_sent(sent)


def _receive(call: _Call) -> None:
    tensor = call["tensor"]
    call.write(tensor, _ops.irecv(tensor, call.peer("src"), call["tag"], call.group))


_TRACED: dict[Any, Callable[[_Call], None]] = {
    dist.all_gather: _all_gather,
    dist.all_gather_into_tensor: _all_gather_single,
    dist.all_reduce: _all_reduce,
    dist.all_reduce_coalesced: _all_reduce_coalesced,
    dist.all_to_all: _all_to_all,
    dist.all_to_all_single: _all_to_all_single,
    dist.broadcast: _broadcast,
    dist.gather: _gather,
    dist.irecv: _receive,
    dist.isend: _send,
    dist.recv: _receive,
    dist.reduce: _reduce,
    dist.reduce_scatter: _reduce_scatter,
    dist.reduce_scatter_tensor: _reduce_scatter_single,
    dist.scatter: _scatter,
    dist.send: _send,
}
# Names of newer versions, and older names of the same functions.
for _name, _traced in {
    "all_gather_single": _all_gather_single,
    "_all_gather_base": _all_gather_single,
    "reduce_scatter_single": _reduce_scatter_single,
    "_reduce_scatter_base": _reduce_scatter_single,
}.items():
    if hasattr(dist.distributed_c10d, _name):
        _TRACED[getattr(dist.distributed_c10d, _name)] = _traced

_STARTED = (dist.isend, dist.irecv)


class TracedCollectives(TorchFunctionMode):
    """A context in which the collectives of torch.distributed can be traced."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        traced = _TRACED.get(func)
        if traced is None:
            return func(*args, **kwargs)
        call = _Call(func, args, kwargs)
        if call.place < 0:
            return None  # This rank is not a member, so it does not take part.
        with torch.no_grad():
            traced(call)
            return call.finish(func in _STARTED or bool(call._arguments.get("async_op")))
