//===- Safetensors.h - tensors in .safetensors files ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A safetensors file is a JSON header that names tensors, followed by their
// data: https://huggingface.co/docs/safetensors.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_SAFETENSORS_H
#define COMMUTE_RUNTIME_SAFETENSORS_H

#include "commute/Runtime/Tensor.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

namespace commute::runtime {

/// A memory-mapped file with a valid header: all tensors are within the file,
/// and their sizes match their data.
class SafetensorsFile {
public:
  /// A tensor of the file. Its data keep the mapping alive.
  struct Entry {
    ElementKind kind;
    std::vector<int64_t> sizes;
    std::shared_ptr<const std::byte> data;
  };

  /// Maps the file at `path`. Returns an error if the header is invalid.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);
  /// Parses a file in memory. Error messages start with `origin`.
  static llvm::Expected<SafetensorsFile>
  parse(const std::shared_ptr<llvm::MemoryBuffer> &buffer,
        llvm::StringRef origin);

  llvm::StringRef getPath() const { return path; }
  /// Returns nullptr if there is no tensor of this name.
  const Entry *find(llvm::StringRef name) const;
  const std::map<std::string, Entry, std::less<>> &getEntries() const {
    return entries;
  }

private:
  std::string path;
  std::map<std::string, Entry, std::less<>> entries;
};

/// A tensor to write.
struct NamedTensor {
  std::string name;
  TensorValue tensor;
};
/// Writes a file atomically.
llvm::Error writeSafetensors(llvm::StringRef path,
                             llvm::ArrayRef<NamedTensor> tensors);

/// Returns the dtype in the file format: "F32", "BF16" and so on.
llvm::StringRef getSafetensorsName(ElementKind kind);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_SAFETENSORS_H
