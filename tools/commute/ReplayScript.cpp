//===- ReplayScript.cpp - a difference, shown by PyTorch --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ReplayScript.h"

#include "commute/Analysis/Placements/InputPlacements.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

using namespace commute;
using namespace commute::tool;

/// Everything besides the programs, the ranks and the groups.
static constexpr llvm::StringLiteral body = R"python(

def read(path):
    """The tensors of a safetensors file, by name."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    begin = 8 + size
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name == "__metadata__":
            continue
        first, last = (begin + offset for offset in entry["data_offsets"])
        dtype = DTYPES[entry["dtype"]]
        empty = torch.empty(entry["shape"], dtype=dtype)
        content = bytearray(data[first:last])
        tensors[name] = torch.frombuffer(content, dtype=dtype).view(empty.shape) if content else empty
    return tensors


def run(paths, rank):
    path = paths[0] if len(paths) == 1 else paths[RANKS.index(rank)]
    program = torch.export.load(path)
    inputs = read(FOLDER / "inputs.safetensors")
    values = []
    for node in program.graph.nodes:
        if node.op == "placeholder":
            example = node.meta.get("val")
            value = inputs.get(f"rank{rank}.{node.name}")
            # Of inputs that are not used, nothing is given.
            if value is None and isinstance(example, torch.Tensor):
                value = torch.zeros(example.shape, dtype=example.dtype)
            elif value is not None and isinstance(example, torch.Tensor):
                value = value.clone().as_strided(value.shape, value.stride())
            values.append(example if value is None else value)
    with torch.no_grad():
        outputs = torch.fx.Interpreter(program.graph_module).run(*values)
    return [one for one in outputs if isinstance(one, torch.Tensor)]


def work(index, port):
    if len(RANKS) > 1:
        dist.init_process_group(
            "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=index, world_size=len(RANKS)
        )
        for name, groups in GROUPS.items():
            for members in groups:
                group = dist.new_group([RANKS.index(member) for member in members])
                if RANKS[index] in members:
                    try:
                        torch._C._distributed_c10d._register_process_group(name, group)
                    except RuntimeError:
                        pass  # The default group has this name.
    rank = RANKS[index]
    pairs = zip(run(FIRST, rank), run(SECOND, rank))
    for number, (first, second) in enumerate(pairs):
        distance = (first.double() - second.double()).abs()
        print(
            f"rank {rank}, output {number}: largest difference"
            f" {distance.max().item() if distance.numel() else 0:.6g}"
            f" of values up to {first.double().abs().max().item() if first.numel() else 0:.6g}",
            flush=True,
        )
    if len(RANKS) > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    if len(RANKS) == 1:
        work(0, 0)
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        torch.multiprocessing.spawn(work, args=(port,), nprocs=len(RANKS))
)python";

static std::string quote(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream(result) << llvm::json::Value(text);
  return result;
}

/// Returns a Python list of the archives that a program was read from; empty if
/// they are no archives.
static std::string formatPaths(llvm::ArrayRef<std::string> paths,
                               size_t numRanks) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    llvm::SmallString<128> absolute(path);
    if (llvm::sys::fs::make_absolute(absolute))
      return {};
    if (!llvm::sys::fs::is_directory(absolute)) {
      files.push_back(absolute.str().str());
      continue;
    }
    for (size_t rank = 0; rank < numRanks; ++rank) {
      llvm::SmallString<128> file(absolute);
      llvm::sys::path::append(file, "rank" + std::to_string(rank) + ".pt2");
      files.push_back(file.str().str());
    }
  }
  bool areArchives =
      !files.empty() && llvm::all_of(files, [](llvm::StringRef file) {
        return file.ends_with(".pt2") && llvm::sys::fs::exists(file);
      });
  if (!areArchives || (files.size() != 1 && files.size() != numRanks))
    return {};
  std::string text = "[";
  for (const std::string &file : files)
    text += (text.size() > 1 ? ", " : "") + quote(file);
  return text + "]";
}

static std::string formatGroups(mlir::ModuleOp module) {
  std::string text = "{";
  for (tp::GroupAttr group : analysis::getGroups(module)) {
    text += (text.size() > 1 ? ", " : "") + quote(group.getKey()) + ": [";
    for (int64_t index = 0; index < group.getNumGroups(); ++index) {
      text += index > 0 ? ", [" : "[";
      for (auto [position, member] : llvm::enumerate(group.getMembers(index)))
        text += (position > 0 ? ", " : "") + std::to_string(member);
      text += "]";
    }
    text += "]";
  }
  return text + "}";
}

llvm::Expected<bool> tool::writeReplayScript(const ComparedPrograms &programs,
                                             llvm::StringRef difference,
                                             llvm::ArrayRef<int64_t> world,
                                             llvm::StringRef path) {
  std::string first = formatPaths(programs.firstPaths, world.size());
  std::string second = formatPaths(programs.secondPaths, world.size());
  if (first.empty() || second.empty())
    return false;
  std::string ranks = "[";
  for (int64_t rank : world)
    ranks += (ranks.size() > 1 ? ", " : "") + std::to_string(rank);
  ranks += "]";
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << "\"\"\"Runs two programs in PyTorch on inputs for which they differ "
          "(commute verify --witness).\n\nIn real numbers, "
       << difference
       << ".\nPyTorch computes in the programs' own types, and rounds.\n"
          "\"\"\"\n\n"
          "import json\nimport pathlib\nimport socket\nimport struct\n\n"
          "import torch\nimport torch.distributed as dist\n"
          "import torch.distributed._functional_collectives  # noqa: F401\n\n"
          "FOLDER = pathlib.Path(__file__).parent\n"
          "FIRST = "
       << first << "\nSECOND = " << second << "\nRANKS = " << ranks
       << "\nGROUPS = " << formatGroups(programs.first.getModule())
       << "\nDTYPES = {\n"
          "    \"BOOL\": torch.bool, \"U8\": torch.uint8, \"I8\": torch.int8,\n"
          "    \"I16\": torch.int16, \"I32\": torch.int32, \"I64\": "
          "torch.int64,\n"
          "    \"F16\": torch.float16, \"BF16\": torch.bfloat16,\n"
          "    \"F32\": torch.float32, \"F64\": torch.float64,\n"
          "    \"F8_E4M3\": torch.float8_e4m3fn, \"F8_E5M2\": "
          "torch.float8_e5m2,\n"
          "}\n"
       << body;
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return true;
}
