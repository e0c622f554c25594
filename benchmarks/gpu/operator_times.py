# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Times of the operators that Commute's price model knows, on one device.

    python benchmarks/gpu/operator_times.py OUT.json [SECTION...]

Every row has the seconds of one call, and what the price model counts: "flops" and "bytes"
(read and written once). Operands exceed the device's caches, as they do in a model.
"""

import functools
import math
import sys

import torch
import torch._dynamo.config
import torch.nn.functional as F
from measuring import DEVICE, IS_GPU, Results, attempt, copies_for, median_seconds

# What a CPU can do in a few seconds, to try the script.
LARGEST = 1 << 40 if IS_GPU else 1 << 20
# (in, out) of Llama 8B's and 70B's products, whole and on one of 8 ranks.
PRODUCTS = ((4096, 4096), (4096, 14336), (14336, 4096), (4096, 1792), (1792, 4096),
            (8192, 8192), (8192, 3584), (3584, 8192), (1024, 8192))  # fmt: skip
TOKENS = (1, 16, 128, 512, 2048, 8192)
SQUARES = (256, 512, 1024, 2048, 4096, 8192)


def _randn(*sizes, dtype=torch.bfloat16):
    return torch.randn(*sizes, device=DEVICE, dtype=dtype)


def _row(make, num_bytes, flops=0, **what):
    """`make()` returns a call without arguments, with operands of its own."""

    def measure():
        with torch.no_grad():
            times = median_seconds([make() for _ in range(copies_for(num_bytes))])
        row = {"bytes": num_bytes, **times, "gbps": num_bytes / times["seconds"] / 1e9}
        if flops:
            row |= {"flops": flops, "tflops": flops / times["seconds"] / 1e12}
        return row

    result = attempt(measure)
    if IS_GPU:
        torch.cuda.empty_cache()
    return {**what, **result}


def launches():
    """One small kernel after another: the time of a kernel that does nothing, as part of a
    CUDA graph ("seconds") and called from Python ("queued_seconds")."""
    x = _randn(1024, dtype=torch.float32)
    y = _randn(1024, 16, dtype=torch.float32)

    def chain(call):
        return lambda: [call() for _ in range(64)]

    def per_call(times):
        return {key: value / 64 if key != "spread" else value for key, value in times.items()}

    yield attempt(lambda: {"op": "add", **per_call(median_seconds([chain(lambda: x.add_(1))]))})
    yield attempt(lambda: {"op": "sum", **per_call(median_seconds([chain(lambda: y.sum(1))]))})


def copies():
    for kibibytes in (64, 1024, 16384, 262144, 1048576):
        elements = (kibibytes << 10) // 2
        if elements > LARGEST:
            continue
        side = 1 << (int(math.log2(elements)) // 2)
        what = {"bytes_of_operand": elements * 2}

        def contiguous(elements=elements):
            x, y = _randn(elements), _randn(elements)
            return lambda: y.copy_(x)

        def transposed(side=side, elements=elements):
            x = _randn(side, elements // side)
            return lambda: x.t().contiguous()

        def gathered(side=side, elements=elements):
            # What rearranges the result of a gather along the last dim.
            x = _randn(8, side, elements // side // 8)
            return lambda: torch.cat(x.unbind(), 1)

        for make in (contiguous, transposed, gathered):
            yield _row(make, elements * 4, kind=make.__name__, **what)


def _product(m, n, k, dtype):
    size = 4 if dtype == torch.float32 else 2

    def make():
        x, w = _randn(m, k, dtype=dtype), _randn(n, k, dtype=dtype).t()
        return lambda: x @ w

    return _row(make, size * (m * k + k * n + m * n), 2 * m * n * k, m=m, n=n, k=k,
                dtype=str(dtype).removeprefix("torch."))  # fmt: skip


def _sizes():
    for side in SQUARES:
        yield side, side, side
    for inputs, outputs in PRODUCTS:
        for tokens in TOKENS:
            yield tokens, outputs, inputs


def products():
    for m, n, k in _sizes():
        if m * n * k <= LARGEST * 64:
            yield _product(m, n, k, torch.bfloat16)
    for side in SQUARES:
        if side**3 <= LARGEST * 64:
            yield _product(side, side, side, torch.float32)


def products_with_summand():
    """`addmm` with a matrix: PyTorch copies it into the result first."""
    for tokens, inputs, outputs in ((512, 4096, 4096), (2048, 4096, 4096), (8192, 8192, 8192)):
        if tokens * inputs * outputs > LARGEST * 64:
            continue

        def make(tokens=tokens, inputs=inputs, outputs=outputs):
            a, x, w = _randn(tokens, outputs), _randn(tokens, inputs), _randn(inputs, outputs)
            return lambda: torch.addmm(a, x, w)

        num_bytes = 2 * (tokens * inputs + inputs * outputs + 2 * tokens * outputs)
        yield _row(make, num_bytes, 2 * tokens * inputs * outputs, m=tokens, n=outputs, k=inputs)


def products_fp8():
    for m, n, k in _sizes():
        if m < 16 or m * n * k > LARGEST * 64:
            continue

        def make(m=m, n=n, k=k):
            x = _randn(m, k).to(torch.float8_e4m3fn)
            w = _randn(n, k).to(torch.float8_e4m3fn).t()
            one = torch.ones((), device=DEVICE)
            return lambda: torch._scaled_mm(
                x, w, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
            )

        yield _row(make, m * k + k * n + 2 * m * n, 2 * m * n * k, m=m, n=n, k=k)


def casts_to_fp8():
    for elements in (1 << 20, 1 << 26):
        if elements > LARGEST:
            continue

        def make(elements=elements):
            x, scale = _randn(elements), torch.ones((), device=DEVICE, dtype=torch.bfloat16)
            return lambda: (x * scale).clamp(-448, 448).to(torch.float8_e4m3fn)

        yield _row(make, elements * 3, elements=elements)


def attention():
    # batch, heads, heads of keys, queries, keys, width of a head
    for sizes in ((1, 32, 8, 512, 512, 128), (1, 32, 8, 2048, 2048, 128),
                  (1, 32, 8, 8192, 8192, 128), (1, 4, 1, 8192, 8192, 128),
                  (32, 32, 8, 1, 4096, 128), (1, 4, 2, 128, 128, 32)):  # fmt: skip
        batch, heads, kv_heads, queries, keys, width = sizes
        if batch * heads * queries * keys > LARGEST:
            continue

        def make(sizes=sizes):
            batch, heads, kv_heads, queries, keys, width = sizes
            q = _randn(batch, heads, queries, width)
            k, v = (_randn(batch, kv_heads, keys, width) for _ in range(2))
            return lambda: F.scaled_dot_product_attention(
                q, k, v, is_causal=queries > 1, enable_gqa=True
            )

        num_bytes = 4 * batch * width * (heads * queries + kv_heads * keys)
        # All products, of which a causal kernel does half.
        flops = 4 * batch * heads * queries * keys * width
        names = ("batch", "heads", "kv_heads", "queries", "keys", "width")
        yield _row(make, num_bytes, flops, is_causal=queries > 1,
                   **dict(zip(names, sizes, strict=True)))  # fmt: skip


def chain_of(length, x, y):
    for _ in range(length):
        x = F.silu(x) * y
    return x


def _swiglu(gate, up):
    return F.silu(gate) * up


def _residual_norm(x, y, weight):
    x = x + y
    return x, F.rms_norm(x, weight.shape, weight)


def _memory_bound(compiled):
    """Chains and norms: `bytes` are those that one fused kernel reads and writes."""

    def way(function):
        return torch.compile(function, dynamic=False) if compiled else function

    for elements in (1 << 16, 1 << 20, 1 << 24, 1 << 26):
        for length in (1, 2, 4, 8):
            if elements > LARGEST or (length != 4 and elements not in (1 << 16, 1 << 24)):
                continue
            function = way(functools.partial(chain_of, length))

            def make(function=function, elements=elements):
                x, y = _randn(elements), _randn(elements)
                return lambda: function(x, y)

            yield _row(make, 6 * elements, kind="chain", operators=2 * length, elements=elements)
    for tokens, width in ((16, 4096), (512, 4096), (2048, 4096), (8192, 8192), (64, 128)):
        if tokens * width > LARGEST:
            continue
        elements = tokens * width
        sizes = {"tokens": tokens, "width": width}

        def with_operands(function, count, weights=0, width=width, tokens=tokens):
            def own_operands():
                operands = [_randn(tokens, width) for _ in range(count)]
                operands += [_randn(width) for _ in range(weights)]
                return lambda: function(*operands)

            return own_operands

        def rms_norm(x, weight):
            return F.rms_norm(x, weight.shape, weight)

        def layer_norm(x, weight, bias):
            return F.layer_norm(x, weight.shape, weight, bias)

        def softmax(x):
            return x.softmax(-1)

        for function, count, weights, passes in (
            (_swiglu, 2, 0, 3),
            (_residual_norm, 2, 1, 4),
            (rms_norm, 1, 1, 2),
            (layer_norm, 1, 2, 2),
            (softmax, 1, 0, 2),
        ):
            make = with_operands(way(function), count, weights)
            yield _row(make, 2 * passes * elements, kind=function.__name__.strip("_"), **sizes)


def memory_bound():
    return _memory_bound(compiled=False)


def memory_bound_compiled():
    return _memory_bound(compiled=True)


# The slow ones, and those that the model needs least, come last.
SECTIONS = (launches, copies, products, products_fp8, products_with_summand, attention,
            casts_to_fp8, memory_bound, memory_bound_compiled)  # fmt: skip


def main():
    results = Results(sys.argv[1])
    names = sys.argv[2:]
    sections = [section for section in SECTIONS if not names or section.__name__ in names]
    torch.backends.cuda.matmul.allow_tf32 = False
    # Every size of a function is compiled by itself.
    torch._dynamo.config.recompile_limit = 256
    for section in sections:
        rows = []
        for row in section():
            rows.append(row)
            results[section.__name__] = rows
        print(f"{section.__name__}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main()
