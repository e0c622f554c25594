//===- Weights.h - the tensors stored in an archive -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ARCHIVE_WEIGHTS_H
#define COMMUTE_ARCHIVE_WEIGHTS_H

#include "commute/Archive/Program.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace commute::archive {

/// A parameter, buffer or constant, as described in the archive.
struct StoredTensor {
  /// The record of the storage, which several tensors may share.
  std::string record;
  /// False for a torch.save file, which only PyTorch can read.
  bool isRaw = true;
  ScalarType dtype = ScalarType::Unknown;
  std::vector<int64_t> sizes;
  /// Strides and offset are in elements.
  std::vector<int64_t> strides;
  int64_t storageOffset = 0;
};

/// The weights and constants of an archive. `open` reads only their
/// descriptions. Uncompressed records are mapped into memory without
/// verification of their checksums; compressed ones are decompressed.
class Weights {
public:
  /// Opens the weights of an archive. Archives of older releases describe no
  /// weights, and the result is then empty.
  static llvm::Expected<Weights> open(const ProgramArchive &archive);
  /// Returns an error if the archive lacks records with weights of its program.
  static llvm::Error checkRecords(const ProgramArchive &archive);

  /// Returns the tensor of this name in the module, or nullptr.
  const StoredTensor *find(llvm::StringRef name) const;
  /// Returns false if the archive was exported without weights.
  bool hasBytes(const StoredTensor &tensor) const;
  /// The bytes of a record, aligned to 8 bytes. They are valid as long as this
  /// object.
  struct Bytes {
    std::shared_ptr<const std::byte> data;
    uint64_t size = 0;
  };
  /// Returns the whole record of a tensor. Fails if the archive lacks it, or if
  /// it cannot be decompressed.
  llvm::Expected<Bytes> load(const StoredTensor &tensor) const;

private:
  /// Reads the descriptions only.
  static llvm::Expected<Weights> describe(const ProgramArchive &archive);
  llvm::Error readConfig(llvm::StringRef folder, llvm::StringRef suffix);
  llvm::Error mapFile();
  llvm::Error error(llvm::StringRef record, const llvm::Twine &message) const;

  const ProgramArchive *archive = nullptr;
  llvm::StringMap<StoredTensor> tensors;
  /// False if the tensors are pickled, as in older releases.
  bool isDescribed = true;
  /// The mapped file, and the offsets of the payloads of uncompressed records.
  std::shared_ptr<llvm::MemoryBuffer> file;
  llvm::StringMap<uint64_t> payloads;
};

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_WEIGHTS_H
