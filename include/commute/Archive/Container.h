//===- Container.h - the zip container of a .pt2 archive --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ARCHIVE_CONTAINER_H
#define COMMUTE_ARCHIVE_CONTAINER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commute::archive {

/// One entry of the container. `name` is relative to the archive's root folder
/// ("models/model.json").
struct Record {
  std::string name;
  /// Bytes after decompression, as the central directory states them.
  uint64_t size = 0;
  bool isCompressed = false;
};

/// What a container from an untrusted source may cost.
struct ContainerLimits {
  uint64_t maxRecords = 1u << 20;
  uint64_t maxNameBytes = 4096;
  /// What deflated records may grow to: all together, and each by this factor.
  /// PyTorch stores records as they are; text deflates to a tenth. Small ones
  /// may grow by any.
  uint64_t maxInflatedBytes = uint64_t(16) << 30;
  uint64_t maxInflation = 200;
  static constexpr uint64_t smallRecordBytes = 1 << 20;
};

/// An open archive. Records are read on request; opening reads only the
/// directory. Every error names the file, and the record where there is one.
class Container {
public:
  static llvm::Expected<std::unique_ptr<Container>>
  open(llvm::StringRef path, const ContainerLimits &limits = {});
  /// The same over bytes in memory, which must outlive the container.
  static llvm::Expected<std::unique_ptr<Container>>
  openBytes(llvm::StringRef bytes, llvm::StringRef displayName,
            const ContainerLimits &limits = {});
  ~Container();
  Container(const Container &) = delete;
  Container &operator=(const Container &) = delete;

  llvm::StringRef path() const;
  /// The folder all entries lie under, without the slash.
  llvm::StringRef root() const;
  llvm::ArrayRef<Record> records() const;
  /// nullptr when there is no such record.
  const Record *find(llvm::StringRef name) const;

  /// The whole record. Refuses a record that states more than `maxBytes`
  /// before allocating anything, and one whose data differ from what its
  /// directory entry states (size, checksum).
  llvm::Expected<std::string> read(llvm::StringRef name,
                                   uint64_t maxBytes) const;

  /// The record's bytes in pieces of bounded size, in order.
  llvm::Error
  stream(llvm::StringRef name,
         llvm::function_ref<llvm::Error(llvm::StringRef)> consume) const;

private:
  friend class ContainerWriter;
  struct Implementation;
  explicit Container(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

/// Writes an archive: to a temporary file beside `path`, which `commit` renames
/// into place. Without `commit` nothing is left behind. Records are stored
/// uncompressed with their payload aligned to 64 bytes, as PyTorch's own writer
/// does, so that readers can map them.
class ContainerWriter {
public:
  /// `root` is the folder that all records are put under.
  static llvm::Expected<std::unique_ptr<ContainerWriter>>
  create(llvm::StringRef path, llvm::StringRef root);
  ~ContainerWriter();
  ContainerWriter(const ContainerWriter &) = delete;
  ContainerWriter &operator=(const ContainerWriter &) = delete;

  /// Adds a record with these bytes; they are kept until `commit`.
  llvm::Error add(llvm::StringRef name, std::string bytes);
  /// Adds `source`'s record of this name; its bytes are copied at `commit`,
  /// through a buffer of fixed size. `source` must live until then.
  llvm::Error copy(const Container &source, llvm::StringRef name);
  /// Writes everything and renames. Fails, leaving `path` as it was, when the
  /// disk is full, a source record is damaged, ...
  llvm::Error commit();

private:
  struct Implementation;
  explicit ContainerWriter(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_CONTAINER_H
