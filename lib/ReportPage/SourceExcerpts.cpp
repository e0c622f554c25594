//===- SourceExcerpts.cpp - Python lines that a report refers to ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/ReportPage/SourceExcerpts.h"

#include "commute/Report/RemarkCollector.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

using namespace commute::report;
namespace json = llvm::json;

static constexpr uint64_t maxFileBytes = 4 << 20;
static constexpr size_t maxFiles = 50;
static constexpr size_t maxLinesOfFile = 400;
static constexpr size_t maxColumns = 300;
/// Lines before and after a marked one.
static constexpr unsigned numContextLines = 3;

static std::unique_ptr<llvm::MemoryBuffer> read(const std::string &path) {
  llvm::sys::fs::file_status status;
  if (!llvm::StringRef(path).ends_with(".py") ||
      llvm::sys::fs::status(path, status) ||
      status.type() != llvm::sys::fs::file_type::regular_file ||
      status.getSize() > maxFileBytes)
    return nullptr;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? std::move(*buffer) : nullptr;
}

static json::Array getExcerpts(llvm::StringRef text,
                               const std::set<unsigned> &marked) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  json::Array excerpts;
  size_t numLines = 0;
  unsigned last = 0;
  json::Array current;
  unsigned first = 0;
  auto finish = [&] {
    if (!current.empty())
      excerpts.push_back(json::Object{
          {"first", first}, {"lines", std::exchange(current, json::Array())}});
  };
  for (unsigned line : marked) {
    if (line > lines.size() || numLines >= maxLinesOfFile)
      break;
    unsigned begin = line > numContextLines ? line - numContextLines : 1;
    unsigned end = std::min<unsigned>(line + numContextLines, lines.size());
    // Join excerpts that touch.
    if (current.empty() || begin > last + 1) {
      finish();
      first = begin;
      last = begin - 1;
    }
    for (unsigned number = last + 1; number <= end; ++number, ++numLines)
      current.push_back(
          json::fixUTF8(lines[number - 1].rtrim("\r").take_front(maxColumns)));
    last = std::max(last, end);
  }
  finish();
  return excerpts;
}

void SourceLines::add(mlir::Location location) {
  std::string node, file;
  unsigned line = 0;
  describeLocation(location, node, file, line);
  add(file, line);
}

json::Array SourceLines::readExcerpts() const {
  json::Array result;
  for (const auto &[file, marked] : lines) {
    if (result.size() == maxFiles)
      break;
    std::unique_ptr<llvm::MemoryBuffer> buffer = read(file);
    if (!buffer)
      continue;
    json::Array excerpts = getExcerpts(buffer->getBuffer(), marked);
    if (!excerpts.empty())
      result.push_back(json::Object{{"file", json::fixUTF8(file)},
                                    {"excerpts", std::move(excerpts)}});
  }
  return result;
}
