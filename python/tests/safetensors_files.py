# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Reads and writes .safetensors files, independently of Commute's own code."""

import json
import struct

import torch

_NAMES = {
    torch.bool: "BOOL",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.uint8: "U8",
    torch.uint64: "U64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def write_safetensors(path, tensors):
    """tensors: a dictionary from name to tensor."""
    header, data = {}, bytearray()
    for name, tensor in tensors.items():
        tensor = tensor.detach().contiguous()
        content = tensor.flatten().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = _DTYPES[entry["dtype"]]
        if begin == end:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
        else:
            flat = torch.frombuffer(bytearray(content[begin:end]), dtype=dtype)
            tensors[name] = flat.reshape(entry["shape"])
    return tensors
