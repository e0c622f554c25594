# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Runs an exported archive on several gloo ranks, each a process of its own.

    outputs = run_on_ranks("model.pt2", world_size=2, seed=0)
    outputs[rank][index]   # a tensor

    results = call_on_ranks(function, 2, *arguments)     # function(rank, *arguments) on each

Inputs and weights are drawn from `seed` so that they respect the placements
in the archive's sidecar (`extra/commute.json`): two archives with the same
inputs get the same values, and can be compared bit by bit.

A rank that fails ends all and raises RankError with its traceback; ranks that
hang are ended after `timeout` seconds, and the error shows where each stood.
"""

import datetime
import faulthandler
import io
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import tempfile
import time
import traceback
import zlib
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

# Forked from a server that has imported torch already: a rank starts in
# milliseconds. The server itself never computes, so that no thread pool of it
# is lost in the fork.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    ["torch.export", "torch._export.serde.serialize", "torch._dynamo"]
)


class RankError(RuntimeError):
    """A rank failed; the message holds its traceback."""

    def __init__(self, message, rank=None):
        super().__init__(message)
        self.rank = rank


def run_on_ranks(
    archive, world_size, seed=0, *, weights="seeded", inputs=None, prepare=None, timeout=120
):
    """The outputs of the archive on every rank, as a list of tensors a rank.

    archive: a path, or one path per rank (archives with each rank's weights).
    weights: "seeded" replaces what the sidecar does not call replicated by
        random values of each rank's own; "archive" takes what is stored; "given"
        takes them from `inputs`, which then holds all inputs of the graph in order.
    inputs: a list of tensors per rank, in place of the seeded user inputs.
    prepare: a function of a module, which each rank calls first.
    """
    if isinstance(archive, (str, os.PathLike)):
        archives = [os.fspath(archive)] * world_size
    else:
        archives = [os.fspath(path) for path in archive]
    if len(archives) != world_size:
        raise ValueError(f"{len(archives)} archives for {world_size} ranks")
    if weights not in ("seeded", "archive", "given"):
        raise ValueError(f"weights is {weights!r}; it is 'seeded', 'archive' or 'given'")
    givens = [None if inputs is None else _to_bytes(inputs[rank]) for rank in range(world_size)]
    acts = [
        partial(_run, archives[rank], seed=seed, weights=weights, given=givens[rank])
        for rank in range(world_size)
    ]
    return _on_ranks(acts, archives, timeout, prepare)


def call_on_ranks(function, world_size, *arguments, timeout=120):
    """What `function(rank, *arguments)` returns on every rank of a gloo group of all.

    Functions are those of modules; results are tensors, numbers and text, in lists and
    dicts.
    """
    acts = [partial(_call, function, arguments)] * world_size
    return _on_ranks(acts, [function.__name__] * world_size, timeout, None)


def _on_ranks(acts, names, timeout, prepare):
    """The results of one function a rank, which gets the rank and the number of ranks."""
    with tempfile.TemporaryDirectory(prefix="commute-ranks-") as folder:
        ranks = []
        try:
            for rank, act in enumerate(acts):
                ours, theirs = _processes.Pipe(duplex=False)
                process = _processes.Process(
                    target=_rank_main,
                    args=(theirs, act, rank, len(acts), folder, timeout, prepare),
                    daemon=True,
                )
                process.start()
                theirs.close()
                ranks.append((process, ours))
            return _collect(ranks, folder, names, timeout)
        finally:
            for process, connection in ranks:
                process.kill()
                process.join()
                connection.close()


def _collect(ranks, folder, names, timeout):
    """The ranks' answers; raises at the first failure, or when time is up."""
    results = [None] * len(ranks)
    waiting = {connection: rank for rank, (_, connection) in enumerate(ranks)}
    deadline = time.monotonic() + timeout
    while waiting:
        left = max(0, deadline - time.monotonic())
        ready = multiprocessing.connection.wait(list(waiting), left)
        if not ready:
            stacks = _stacks(ranks, folder, waiting.values())
            message = f"{names[0]}: no answer from ranks {sorted(waiting.values())}"
            raise RankError(f"{message} within {timeout} s\n{stacks}")
        for connection in ready:
            rank = waiting.pop(connection)
            try:
                outcome, payload = connection.recv()
            except EOFError:
                ranks[rank][0].join(5)
                code = ranks[rank][0].exitcode
                message = f"{names[rank]}: rank {rank} died with exit code {code}"
                raise RankError(message, rank) from None
            if outcome == "error":
                raise RankError(f"{names[rank]}: rank {rank} failed\n{payload}", rank)
            results[rank] = torch.load(io.BytesIO(payload))
    return results


def _stacks(ranks, folder, hanging):
    """Where the hanging ranks stand, from their own fault handlers."""
    text = []
    for rank in sorted(hanging):
        process, _ = ranks[rank]
        if process.is_alive():
            os.kill(process.pid, signal.SIGUSR1)
    time.sleep(0.5)
    for rank in sorted(hanging):
        log = Path(folder) / f"stack-{rank}"
        text.append(f"rank {rank}:\n{log.read_text() if log.exists() else 'not started'}")
    return "\n".join(text)


def _to_bytes(tensors):
    buffer = io.BytesIO()
    torch.save(tensors, buffer)
    return buffer.getvalue()


def _rank_main(answer, act, rank, world_size, folder, timeout, prepare):
    """The life of one rank."""
    with open(Path(folder) / f"stack-{rank}", "w") as log:
        faulthandler.register(signal.SIGUSR1, file=log)
        try:
            # One thread a rank: results do not depend on how many cores there are.
            torch.set_num_threads(1)
            if prepare:
                prepare()
            # The group is made first: a rank that cannot load its archive must not
            # leave the others waiting for it before they report the same.
            _join(rank, world_size, folder, timeout)
            answer.send(("outputs", _to_bytes(act(rank, world_size))))
        except BaseException:
            answer.send(("error", traceback.format_exc()))
        answer.close()
        # Wait to be killed: leaving would break the connections of slower
        # ranks, whose error could then hide ours.
        signal.pause()


def _join(rank, world_size, folder, timeout):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=world_size,
        # Ours ends first, and says more.
        timeout=datetime.timedelta(seconds=2 * timeout + 60),
    )


def _call(function, arguments, rank, world_size):
    return function(rank, *arguments)


def _run(archive, rank, world_size, *, seed, weights, given):
    inputs = None if given is None else torch.load(io.BytesIO(given))
    program, sidecar = load(archive)
    groups = _register_groups(sidecar, rank, world_size)
    values = _Values(sidecar, groups, rank, seed)
    if weights == "seeded":
        values.replace_weights(program)
    if inputs is None:
        inputs = values.user_inputs(program)
    run = program.graph_module if weights == "given" else program.module()
    with torch.no_grad():
        outputs = run(*inputs)
    flat, _ = torch.utils._pytree.tree_flatten(outputs)
    return [output.detach().clone() for output in flat]


def load(archive):
    """The exported program and its sidecar ({} if it has none)."""
    content = Path(archive).read_bytes()
    if b"torch.ops.transformers." in content:
        # Defines these operators.
        import transformers.integrations.moe
    if b"transformers.cache_utils." in content:
        import transformers.cache_utils  # noqa: F401 (what is registered)

        from commute.capture.transformers_models import register_caches

        register_caches()
    extra = {"commute.json": ""}
    program = torch.export.load(archive, extra_files=extra)
    text = extra["commute.json"]
    return program, json.loads(text) if text else {}


def _register_groups(sidecar, rank, world_size):
    """Makes the groups under the names the graph calls them by.

    Returns {name: ranks of this rank's group}.
    """
    groups = {dist.group.WORLD.group_name: list(range(world_size))}
    for name, group in sorted(sidecar.get("groups", {}).items()):
        lists = group["ranks"]
        if lists and isinstance(lists[0], int):
            lists = [lists]
        for ranks in lists:
            if any(member >= world_size for member in ranks):
                raise ValueError(f"group {name} has ranks {ranks}, there are {world_size}")
        mine = next((ranks for ranks in lists if rank in ranks), None)
        if mine is None or groups.get(name) == mine:
            continue
        if name in groups:
            raise ValueError(f"group {name} is the world, {mine} in the sidecar")
        # Made by its members only, this group gets a name of its own kind
        # that cannot clash with the graph's.
        process_group = dist.new_group(mine, use_local_synchronization=True)
        torch._C._distributed_c10d._register_process_group(name, process_group)
        groups[name] = mine
    return groups


def values_of_rank(archive, world_size, rank, seed):
    """The weights and user inputs that `run_on_ranks` gives a rank.

    Two dictionaries, the weights by parameter name and the inputs by graph name.
    """
    program, sidecar = load(archive)
    groups = {}
    for name, group in sidecar["groups"].items():
        ranks = group["ranks"]
        lists = [ranks] if isinstance(ranks[0], int) else ranks
        for members in lists:
            if rank in members:
                groups[name] = members
    values = _Values(sidecar, groups, rank, seed)
    values.replace_weights(program)
    tensors = {**program.state_dict, **program.constants}
    weights = {name: value for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    return weights, dict(zip(program.graph_signature.user_inputs, values.user_inputs(program)))


class _Values:
    """Random inputs and weights that respect the sidecar's placements."""

    def __init__(self, sidecar, groups, rank, seed):
        self.placements = sidecar.get("inputs", {})
        self.groups = groups
        self.rank = rank
        self.seed = seed

    def _key(self, name):
        """What a value may depend on: its name, and the rank where it varies.

        A value of which the sidecar says nothing varies.
        """
        placements = self.placements.get(name, {next(iter(self.groups)): "varying"})
        places = [
            f"{group}:{self.groups[group].index(self.rank)}"
            for group, placement in sorted(placements.items())
            if placement != "replicated" and group in self.groups
        ]
        return f"{name}@{','.join(places)}", bool(places)

    def _draw(self, name, like):
        """A tensor laid out as `like`; integers and booleans keep to its values."""
        key, _ = self._key(name)
        generator = torch.Generator().manual_seed(zlib.crc32(key.encode()) + self.seed)
        if like.is_floating_point():
            value = torch.randn(like.shape, generator=generator) * 0.5
        else:
            value = like.flatten()[torch.randint(like.numel(), like.shape, generator=generator)]
        return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype).copy_(value)

    def replace_weights(self, program):
        """Fresh values for what differs between ranks or was not stored.

        Tensors are replaced, not overwritten: weights that were not stored
        may all share one storage.
        """
        for tensors in (program.state_dict, program.constants):
            for name, tensor in tensors.items():
                if name not in self.placements or not isinstance(tensor, torch.Tensor):
                    continue
                _, varies = self._key(name)
                if not tensor.numel() or (not varies and tensor.count_nonzero()):
                    continue
                value = self._draw(name, tensor.detach())
                is_parameter = isinstance(tensor, torch.nn.Parameter)
                tensors[name] = torch.nn.Parameter(value) if is_parameter else value

    def user_inputs(self, program):
        names = [spec.arg.name for spec in program.graph_signature.input_specs]
        users = set(program.graph_signature.user_inputs)
        if program.example_inputs is not None:
            examples, _ = torch.utils._pytree.tree_flatten(program.example_inputs)
        else:
            examples = [
                torch.zeros([int(s) for s in node.meta["val"].shape], dtype=node.meta["val"].dtype)
                for node in program.graph.find_nodes(op="placeholder")
                if node.name in users
            ]
        names = [name for name in names if name in users]
        return [self._draw(name, example) for name, example in zip(names, examples, strict=True)]
