//===- JsonOutput.cpp - the output of --json --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "JsonOutput.h"

#include "SafeOutput.h"

#include "llvm/Support/FormatVariadic.h"

using namespace commute;

void tool::printJson(llvm::json::Object object, llvm::raw_ostream &os) {
  object["version"] = jsonVersion;
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << '\n';
}

void tool::printJson(llvm::json::Object object) {
  printJson(std::move(object), dataOuts());
}
