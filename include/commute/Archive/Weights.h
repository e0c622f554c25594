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

/// A parameter, buffer or constant as its archive describes it.
struct StoredTensor {
  /// The record that holds the storage, which several tensors may share.
  std::string record;
  /// False for a torch.save file, which only PyTorch can read.
  bool isRaw = true;
  ScalarType dtype = ScalarType::Unknown;
  std::vector<int64_t> sizes;
  /// In elements, like the offset.
  std::vector<int64_t> strides;
  int64_t storageOffset = 0;
};

/// The weights and constants of an archive. Opening reads only their
/// descriptions; stored records are mapped, hence not checked by their
/// checksums, compressed ones are decompressed.
class Weights {
public:
  /// An archive that describes no weights, as older ones do, has none.
  static llvm::Expected<Weights> open(const ProgramArchive &archive);
  /// Fails for an archive without the records that hold its program's weights.
  static llvm::Error checkRecords(const ProgramArchive &archive);

  /// The tensor of this name in the module; nullptr where there is none.
  const StoredTensor *find(llvm::StringRef name) const;
  /// False for an archive that was exported without weights.
  bool hasBytes(const StoredTensor &tensor) const;
  /// The bytes of a record, aligned to 8 bytes; they live as long as what is
  /// returned.
  struct Bytes {
    std::shared_ptr<const std::byte> data;
    uint64_t size = 0;
  };
  llvm::Expected<Bytes> load(const StoredTensor &tensor) const;

private:
  /// All but the payloads.
  static llvm::Expected<Weights> describe(const ProgramArchive &archive);
  llvm::Error readConfig(llvm::StringRef folder, llvm::StringRef suffix);
  llvm::Error mapFile();
  llvm::Error error(llvm::StringRef record, const llvm::Twine &message) const;

  const ProgramArchive *archive = nullptr;
  llvm::StringMap<StoredTensor> tensors;
  /// False where an older release has pickled the tensors.
  bool isDescribed = true;
  /// The whole file, and where in it the payloads of stored records begin.
  std::shared_ptr<llvm::MemoryBuffer> file;
  llvm::StringMap<uint64_t> payloads;
};

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_WEIGHTS_H
