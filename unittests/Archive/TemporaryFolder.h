//===- TemporaryFolder.h - a folder for one test ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_ARCHIVE_TEMPORARYFOLDER_H
#define COMMUTE_UNITTESTS_ARCHIVE_TEMPORARYFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <string>
#include <vector>

/// A folder of its own, removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("commute-test", folder));
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(folder); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> result = folder;
    llvm::sys::path::append(result, name);
    return std::string(result);
  }
  std::string write(llvm::StringRef name, llvm::StringRef content) const {
    std::string file = path(name);
    std::error_code code;
    llvm::raw_fd_ostream out(file, code);
    EXPECT_FALSE(code) << code.message();
    out << content;
    return file;
  }
  std::string read(llvm::StringRef name) const {
    auto buffer = llvm::MemoryBuffer::getFile(path(name), /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer) {
      ADD_FAILURE() << name.str() << ": " << buffer.getError().message();
      return "";
    }
    return (*buffer)->getBuffer().str();
  }
  /// The names of all files, sorted.
  std::vector<std::string> list() const {
    std::vector<std::string> result;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator file(folder, code), end;
         file != end && !code; file.increment(code))
      result.push_back(llvm::sys::path::filename(file->path()).str());
    std::sort(result.begin(), result.end());
    return result;
  }

private:
  llvm::SmallString<128> folder;
};

#endif // COMMUTE_UNITTESTS_ARCHIVE_TEMPORARYFOLDER_H
