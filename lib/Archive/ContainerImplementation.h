//===- ContainerImplementation.h - an open zip file -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What the reader and the writer of containers share: the libzip handle.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_CONTAINERIMPLEMENTATION_H
#define COMMUTE_LIB_ARCHIVE_CONTAINERIMPLEMENTATION_H

#include "commute/Archive/Container.h"

#include "llvm/ADT/StringMap.h"

#include <zip.h>

namespace commute::archive {

struct Container::Implementation {
  ~Implementation();

  /// "PATH: MESSAGE", and with the record where one is given.
  llvm::Error error(const llvm::Twine &message) const;
  llvm::Error recordError(llvm::StringRef record,
                          const llvm::Twine &message) const;

  /// Takes over `source`, which holds a whole archive.
  llvm::Error openSource(zip_source_t *source, const ContainerLimits &limits);
  llvm::Error checkStatedEntryCount(zip_source_t *source,
                                    const ContainerLimits &limits);
  llvm::Error addRecord(uint64_t index, const ContainerLimits &limits);
  llvm::Error checkName(llvm::StringRef name,
                        const ContainerLimits &limits) const;

  std::string path;
  std::string root;
  /// Size of the whole file.
  uint64_t archiveBytes = 0;
  /// What the deflated records seen so far grow to.
  uint64_t inflatedBytes = 0;
  std::vector<Record> records;
  /// Record name to its index, which is the zip entry's index as well.
  llvm::StringMap<uint64_t> indices;
  zip_t *archive = nullptr;
};

/// libzip's error as text, for reuse after its object is gone.
std::string takeMessage(zip_error_t &error);

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_CONTAINERIMPLEMENTATION_H
