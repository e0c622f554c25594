//===- InputFile.h - files that users name ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ARCHIVE_INPUTFILE_H
#define COMMUTE_ARCHIVE_INPUTFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace commute::archive {

/// The content of a file, a pipe or, as "-", standard input. Refuses folders,
/// and what has more than `maxBytes`: a device may have no end. The error names
/// the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInputFile(llvm::StringRef path, uint64_t maxBytes);

/// The same for a regular file, which is mapped rather than read, so that large
/// files take no memory.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapInputFile(llvm::StringRef path);

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_INPUTFILE_H
