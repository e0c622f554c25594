//===- ContainerImplementation.h - an open zip file -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The libzip handle that the reader and the writer of containers share.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_CONTAINERIMPLEMENTATION_H
#define COMMUTE_LIB_ARCHIVE_CONTAINERIMPLEMENTATION_H

#include "commute/Archive/Container.h"

#include "llvm/ADT/StringMap.h"

#include <zip.h>

#include <mutex>

namespace commute::archive {

struct Container::Implementation {
  ~Implementation();

  /// Creates an error "PATH: MESSAGE", or one that also names a record.
  llvm::Error error(const llvm::Twine &message) const;
  llvm::Error recordError(llvm::StringRef record,
                          const llvm::Twine &message) const;

  /// Opens an archive; takes ownership of `source`.
  llvm::Error openSource(zip_source_t *source, const ContainerLimits &limits);
  llvm::Error checkStatedEntryCount(zip_source_t *source,
                                    const ContainerLimits &limits);
  llvm::Error addRecord(uint64_t index, const ContainerLimits &limits);
  llvm::Error checkName(llvm::StringRef name,
                        const ContainerLimits &limits) const;

  std::string path;
  std::string root;
  /// Size of the whole file in bytes.
  uint64_t archiveBytes = 0;
  /// Total decompressed size of the deflated records seen so far.
  uint64_t inflatedBytes = 0;
  std::vector<Record> records;
  /// Maps a record's name to its index, which equals the zip entry's index.
  llvm::StringMap<uint64_t> indices;
  zip_t *archive = nullptr;
  /// Ranks that are threads read at once, and a zip_t has one position.
  std::mutex reading;
};

/// Returns libzip's error as text and releases the error object.
std::string takeMessage(zip_error_t &error);

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_CONTAINERIMPLEMENTATION_H
