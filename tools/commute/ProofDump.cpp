//===- ProofDump.cpp - the stages of a proof as files -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProofDump.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute::tool;

llvm::Error ProofDump::create() const {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("cannot create the folder '" + folder +
                                   "': " + code.message());
  return llvm::Error::success();
}

void ProofDump::add(llvm::StringRef stage, llvm::StringRef text) {
  auto [known, isNew] = paths.try_emplace(stage);
  if (isNew) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, (paths.size() < 10 ? "0" : "") +
                                      std::to_string(paths.size()) + "-" +
                                      stage);
    known->second = path.str().str();
  }
  std::error_code code;
  llvm::raw_fd_ostream os(known->second, code,
                          isNew ? llvm::sys::fs::OF_Text
                                : llvm::sys::fs::OF_Append);
  if (!code)
    os << text;
  // An error that is not looked at ends the process.
  os.clear_error();
}
