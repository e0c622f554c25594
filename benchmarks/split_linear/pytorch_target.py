# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A target for PyTorch's own kernels on this CPU.

`commute calibrate` measures the kernels of `commute run`, and PyTorch has others: on
AMD its f32 products run at half the rate, and each op takes several times as long to
start. So the same programs that calibrate runs (chains of elementwise ops, sums of
large tensors, square products) are run by PyTorch here, and what they give replaces
calibrate's numbers. Everything else, and the form, is that of its file.
"""

import datetime
import json
import math
import time

import torch
import torch.nn.functional as F

SIZES = (16, 32, 64, 128, 256, 512, 1024)
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def _shortest(function, repetitions):
    """The least processor time of several runs of one thread."""
    function()
    best = math.inf
    for _ in range(repetitions):
        begin = time.thread_time()
        function()
        best = min(best, time.thread_time() - begin)
    return best


def _overhead():
    value = torch.ones(8)

    def chain():
        result = value
        for _ in range(200):
            result = torch.neg(result)

    return _shortest(chain, 50) / 200


def _memory_rate():
    value = torch.ones(1 << 22)

    def chain():
        result = value
        for _ in range(8):
            result = result + value

    return 8 * 3 * value.nbytes / _shortest(chain, 9)


def _matmul_seconds(dtype, size, overhead):
    left, right = (torch.ones(size, size, dtype=dtype) for _ in range(2))
    # Clocks are too coarse for a small product by itself.
    count = max(1, (1 << 21) // size**2 // 16)

    def products():
        for _ in range(count):
            F.linear(left, right)

    return max(_shortest(products, 9) / count - overhead, 1e-9)


def _ascending(values):
    for index in range(1, len(values)):
        values[index] = max(values[index], values[index - 1])
    return values


def write_target(calibrated, path):
    """`calibrated`, as commute calibrate wrote it, with PyTorch's numbers."""
    target = json.loads(calibrated.read_text())
    source = f"measured with PyTorch {torch.__version__}, one thread, {datetime.date.today()}: "
    overhead = _overhead()
    target["kernel_overhead_seconds"] = {
        "value": overhead,
        "source": source + "one op of a chain of elementwise ops on 8 elements",
    }
    target["transfer_overhead_seconds"] = {
        "value": overhead,
        "source": "assumed equal to that of a kernel",
    }
    target["memory_bytes_per_second"] = {
        "value": _memory_rate(),
        "source": source + "sums of two f32 tensors of 4194304 elements, read and written",
    }
    logs = []
    for name, dtype in DTYPES.items():
        seconds = [_matmul_seconds(dtype, size, overhead) for size in SIZES]
        rates = [2 * size**3 / time_taken for size, time_taken in zip(SIZES, seconds)]
        target["matmul_flops_per_second"][name] = {
            "value": max(rates),
            "source": source + "best of square products of 16 to 1024",
        }
        at_peak = [2 * size**3 / max(rates) for size in SIZES]
        logs.append([(math.log(a), math.log(s)) for a, s in zip(at_peak, seconds)])
    mean = [
        [math.exp(sum(log[index][part] for log in logs) / len(logs)) for index in range(len(SIZES))]
        for part in (0, 1)
    ]
    at_peak, seconds = _ascending(mean[0]), _ascending(mean[1])
    target["matmul_efficiency"] = {
        "points": [[a, min(a / s, 1.0)] for a, s in zip(at_peak, seconds)],
        "source": source + "square products, geometric mean over f32 and bf16",
    }
    target["description"] = f"{target['description']}; products and memory as PyTorch has them"
    path.write_text(json.dumps(target, indent=2))
