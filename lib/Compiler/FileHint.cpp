//===- FileHint.cpp - what a file is that is no program ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FileHint.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace commute;
using llvm::StringRef;

/// How much is read of the start and the end of a file. The directory of a zip
/// file is at its end.
static constexpr uint64_t largestSlice = 256 << 10;

static std::string readSlice(StringRef path, uint64_t size, uint64_t offset) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> slice =
      llvm::MemoryBuffer::getFileSlice(path, size, offset);
  return slice ? (*slice)->getBuffer().str() : "";
}

/// Returns a noun and what such a file holds; empty for other files.
static StringRef describeContent(StringRef path) {
  uint64_t size = 0;
  if (!llvm::sys::fs::is_regular_file(path) ||
      llvm::sys::fs::file_size(path, size) || size < 16)
    return "";
  std::string start = readSlice(path, 16, 0);
  if (start.size() < 16)
    return "";
  constexpr StringRef checkpoint =
      "a checkpoint of torch.save, which holds tensors but no graph";
  if (StringRef(start).starts_with("PK\x03\x04")) {
    uint64_t length = std::min(size, largestSlice);
    std::string end = readSlice(path, length, size - length);
    StringRef directory = end;
    if (directory.contains("/models/") && directory.contains("/archive_format"))
      return "";
    if (directory.contains("/constants.pkl"))
      return "a TorchScript archive of torch.jit.save, which holds code "
             "instead of a graph";
    if (directory.contains("/data.pkl"))
      return checkpoint;
    return "";
  }
  // Pickle protocol 2, as torch.save wrote before it used zip files.
  if (StringRef(start).starts_with("\x80\x02"))
    return checkpoint;
  uint64_t header = llvm::support::endian::read64le(start.data());
  if (start[8] == '{' && header > 1 && header <= size - 8)
    return "a safetensors file, which holds tensors but no graph";
  return "";
}

llvm::Error compiler::addFileHint(llvm::Error error, StringRef path) {
  StringRef content = path == "-" ? "" : describeContent(path);
  if (content.empty())
    return error;
  return llvm::createStringError(
      llvm::toString(std::move(error)) + "; the file seems to be " + content +
      ": export the model with torch.export.save, or capture it with python -m "
      "commute.capture");
}
