//===- InputFile.h - reading of input files ---------------------*- C++ -*-===//
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

/// Reads a file or a pipe, or standard input if `path` is "-". Returns an
/// error, which names the path, for a folder and for content of more than
/// `maxBytes` (a device may be endless).
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInputFile(llvm::StringRef path, uint64_t maxBytes);

/// Maps a regular file into memory, so that a large file is not copied. Returns
/// an error for any other kind of file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapInputFile(llvm::StringRef path);

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_INPUTFILE_H
