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
  /// Size in bytes after decompression, as stated in the central directory.
  uint64_t size = 0;
  bool isCompressed = false;
};

/// Resource limits for containers from untrusted sources.
struct ContainerLimits {
  uint64_t maxRecords = 1u << 20;
  uint64_t maxNameBytes = 4096;
  /// Limits on decompression: the total size of all deflated records, and the
  /// factor by which one record may grow. PyTorch does not compress records,
  /// and text shrinks to about a tenth. Small records are exempt from the
  /// factor.
  uint64_t maxInflatedBytes = uint64_t(16) << 30;
  uint64_t maxInflation = 200;
  static constexpr uint64_t smallRecordBytes = 1 << 20;
};

/// An open archive. Opening reads only the directory; records are read on
/// request. Every error names the file, and the record if there is one.
class Container {
public:
  /// Opens the archive at `path`, which must be a regular file. Returns an
  /// error if it is not a zip file, exceeds the limits, or has unsafe names.
  static llvm::Expected<std::unique_ptr<Container>>
  open(llvm::StringRef path, const ContainerLimits &limits = {});
  /// Opens an archive in memory. `bytes` must outlive the container.
  static llvm::Expected<std::unique_ptr<Container>>
  openBytes(llvm::StringRef bytes, llvm::StringRef displayName,
            const ContainerLimits &limits = {});
  ~Container();
  Container(const Container &) = delete;
  Container &operator=(const Container &) = delete;

  llvm::StringRef path() const;
  /// The folder that contains all entries, without a trailing slash.
  llvm::StringRef root() const;
  /// All records, in the order of the file.
  llvm::ArrayRef<Record> records() const;
  /// Returns nullptr if there is no such record.
  const Record *find(llvm::StringRef name) const;

  /// Reads a whole record. Returns an error before any allocation if the
  /// record's stated size exceeds `maxBytes`, and if the data do not match the
  /// size or the checksum in the directory. Thread-safe.
  llvm::Expected<std::string> read(llvm::StringRef name,
                                   uint64_t maxBytes) const;

  /// Passes the record's bytes to `consume` in order, in chunks of bounded
  /// size.
  llvm::Error
  stream(llvm::StringRef name,
         llvm::function_ref<llvm::Error(llvm::StringRef)> consume) const;

private:
  friend class ContainerWriter;
  struct Implementation;
  explicit Container(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

/// Writes an archive to a temporary file beside `path`, which `commit` renames
/// to `path`. If `commit` is not called, no file remains. Records are stored
/// uncompressed, with payloads aligned to 64 bytes as in PyTorch's own writer,
/// so that readers can map them.
class ContainerWriter {
public:
  /// `root` is the folder that will contain all records.
  static llvm::Expected<std::unique_ptr<ContainerWriter>>
  create(llvm::StringRef path, llvm::StringRef root);
  ~ContainerWriter();
  ContainerWriter(const ContainerWriter &) = delete;
  ContainerWriter &operator=(const ContainerWriter &) = delete;

  /// Adds a record with these bytes, which are held in memory until `commit`.
  llvm::Error add(llvm::StringRef name, std::string bytes);
  /// Adds a record of `source` under the same name. `commit` copies its bytes
  /// through a buffer of fixed size, so `source` must live until then.
  llvm::Error copy(const Container &source, llvm::StringRef name);
  /// Writes the file and renames it. On failure, such as a full disk or a
  /// damaged source record, `path` is unchanged.
  llvm::Error commit();

private:
  struct Implementation;
  explicit ContainerWriter(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_CONTAINER_H
