//===- InputFile.cpp - reading of input files -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/InputFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <fcntl.h>
#include <unistd.h>

using namespace commute;
using llvm::createStringError;
using llvm::sys::RetryAfterSignal;

/// Reads until the end of the file, or until there are more than `maxBytes`.
static llvm::Error readAll(int file, uint64_t maxBytes,
                           llvm::SmallVectorImpl<char> &content) {
  constexpr size_t blockBytes = 1 << 16;
  while (content.size() <= maxBytes) {
    size_t before = content.size();
    content.resize_for_overwrite(before + blockBytes);
    ssize_t count =
        RetryAfterSignal(-1, read, file, content.data() + before, blockBytes);
    if (count < 0)
      return createStringError(llvm::sys::StrError(errno));
    content.truncate(before + count);
    if (count == 0)
      return llvm::Error::success();
  }
  return createStringError("has more than " + llvm::Twine(maxBytes) +
                           " bytes, the limit for files of this kind");
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
archive::readInputFile(llvm::StringRef path, uint64_t maxBytes) {
  auto fail = [&](const llvm::Twine &message) {
    return createStringError((path == "-" ? "standard input" : path) + ": " +
                             message);
  };
  int file = STDIN_FILENO;
  if (path != "-") {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    file = RetryAfterSignal(-1, open, path.str().c_str(),
                            O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
      return fail(llvm::sys::StrError(errno));
  }
  llvm::scope_exit close([&] {
    if (path != "-")
      ::close(file);
  });
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(file, status))
    return fail(error.message());
  if (llvm::sys::fs::is_directory(status))
    return fail("is a folder, not a file");
  if (status.getSize() > maxBytes)
    return fail("has " + llvm::Twine(status.getSize()) +
                " bytes, more than the limit of " + llvm::Twine(maxBytes) +
                " for files of this kind");
  // Reads of a pipe that has a writer may block.
  if (path != "-")
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  llvm::SmallVector<char, 0> content;
  content.reserve(status.getSize() + 1);
  if (llvm::Error error = readAll(file, maxBytes, content))
    return fail(llvm::toString(std::move(error)));
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(content), path, /*RequiresNullTerminator=*/true);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
archive::mapInputFile(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return createStringError(path + ": " + error.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return createStringError(path + ": not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  return std::move(*buffer);
}
