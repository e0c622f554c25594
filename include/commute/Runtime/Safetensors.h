//===- Safetensors.h - tensors in .safetensors files ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A header of JSON that names tensors, and behind it their bytes:
// https://huggingface.co/docs/safetensors.
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

/// An open file, mapped. The header has been checked: every tensor lies within
/// the file and has as many bytes as its sizes say.
class SafetensorsFile {
public:
  struct Entry {
    ElementKind kind;
    std::vector<int64_t> sizes;
    std::shared_ptr<const std::byte> data;
  };

  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);
  /// The same for bytes in memory; `origin` stands in front of messages.
  static llvm::Expected<SafetensorsFile>
  parse(const std::shared_ptr<llvm::MemoryBuffer> &buffer,
        llvm::StringRef origin);

  llvm::StringRef getPath() const { return path; }
  /// nullptr where there is none of this name.
  const Entry *find(llvm::StringRef name) const;
  const std::map<std::string, Entry, std::less<>> &getEntries() const {
    return entries;
  }

private:
  std::string path;
  std::map<std::string, Entry, std::less<>> entries;
};

struct NamedTensor {
  std::string name;
  TensorValue tensor;
};
/// Writes a file, complete or not at all.
llvm::Error writeSafetensors(llvm::StringRef path,
                             llvm::ArrayRef<NamedTensor> tensors);

/// "F32", "BF16", ...
llvm::StringRef getSafetensorsName(ElementKind kind);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_SAFETENSORS_H
