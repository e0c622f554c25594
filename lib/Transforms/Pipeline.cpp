//===- Pipeline.cpp - passes by name and in their order ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/Pipeline.h"

#include "commute/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;

ArrayRef<StringRef> commute::getPipelinePasses() {
  static constexpr StringRef passes[] = {"contiguous-collectives"};
  return passes;
}

void commute::registerPipelinePasses() {
  static bool isRegistered = [] {
    registerCommutePasses();
    return true;
  }();
  (void)isRegistered;
}

/// The names in "a,b{x=1,y=2},c".
static SmallVector<StringRef> getNames(StringRef text) {
  SmallVector<StringRef> names;
  size_t begin = 0;
  unsigned depth = 0;
  for (size_t index = 0; index <= text.size(); ++index) {
    char c = index < text.size() ? text[index] : ',';
    depth += c == '{';
    if (c == ',' && depth == 0) {
      names.push_back(text.slice(begin, index).split('{').first.trim());
      begin = index + 1;
    }
    depth -= c == '}' && depth > 0;
  }
  return names;
}

llvm::Error commute::buildPipeline(OpPassManager &manager, StringRef text) {
  registerPipelinePasses();
  std::string all = llvm::join(getPipelinePasses(), ",");
  if (text.empty())
    text = all;
  for (StringRef name : getNames(text))
    if (!llvm::is_contained(getPipelinePasses(), name))
      return llvm::createStringError("'" + name + "' is no pass; there are: " +
                                     llvm::join(getPipelinePasses(), ", "));
  std::string message;
  llvm::raw_string_ostream os(message);
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (failed(parsePassPipeline(text, functions, os)))
    return llvm::createStringError("--passes=" + text + ": " + message);
  return llvm::Error::success();
}
