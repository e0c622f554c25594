//===- ProofDump.h - the stages of a proof as files -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOL_PROOFDUMP_H
#define COMMUTE_TOOL_PROOFDUMP_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace commute::tool {

/// Files of the stages of a proof, numbered in their order.
class ProofDump {
public:
  explicit ProofDump(std::string folder) : folder(std::move(folder)) {}

  llvm::Error create() const;
  /// Appends text to the file of a stage. What cannot be written is left out: a
  /// verdict does not depend on it.
  void add(llvm::StringRef stage, llvm::StringRef text);

private:
  std::string folder;
  /// By stage, the path of its file.
  llvm::StringMap<std::string> paths;
};

} // namespace commute::tool

#endif // COMMUTE_TOOL_PROOFDUMP_H
