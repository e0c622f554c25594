//===- Pipeline.cpp - passes by name and in their order ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/Pipeline.h"

#include "commute/Target/Target.h"
#include "commute/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;

ArrayRef<StringRef> commute::getPipelinePasses() {
  static constexpr StringRef passes[] = {
      "normalize-collectives", "sequence-parallel", "micro-pipeline",
      "split-linear",          "lower-collectives", "contiguous-collectives"};
  return passes;
}

void commute::registerPipelinePasses() {
  static bool isRegistered = [] {
    registerCommutePasses();
    return true;
  }();
  (void)isRegistered;
}

namespace {
/// "a{x=1}": a pass and its options.
struct PassText {
  StringRef name;
  StringRef options;
  /// Its braces, if any, are a pair.
  bool isClosed = true;
};
} // namespace

/// The passes in "a,b{x=1,y=2},c".
static SmallVector<PassText> getPasses(StringRef text) {
  SmallVector<PassText> passes;
  size_t begin = 0;
  unsigned depth = 0;
  for (size_t index = 0; index <= text.size(); ++index) {
    char c = index < text.size() ? text[index] : ',';
    depth += c == '{';
    if (c == ',' && (depth == 0 || index == text.size())) {
      auto [name, options] = text.slice(begin, index).split('{');
      options = options.rtrim();
      bool hasBrace = text.slice(begin, index).contains('{');
      bool isClosed = options.consume_back("}") || !hasBrace;
      passes.push_back({name.trim(), options, isClosed});
      begin = index + 1;
    }
    depth -= c == '}' && depth > 0;
  }
  return passes;
}

/// Whether a pass has an option of this name, which takes this value.
static bool hasOption(const PassInfo &pass, StringRef name,
                      StringRef value = "x") {
  OpPassManager manager("any");
  std::string ignored;
  llvm::raw_string_ostream os(ignored);
  auto fail = [&](const Twine &message) { return failure(); };
  // An option that is not there is an error.
  return succeeded(
      pass.addToPipeline(manager, (name + "=" + value).str(), fail));
}

llvm::Error commute::buildPipeline(OpPassManager &manager, StringRef text,
                                   const PassSettings &settings) {
  registerPipelinePasses();
  std::string all = llvm::join(getPipelinePasses(), ",");
  if (text.empty())
    text = all;
  std::string complete;
  for (const PassText &pass : getPasses(text)) {
    if (!llvm::is_contained(getPipelinePasses(), pass.name))
      return llvm::createStringError(
          "'" + pass.name +
          "' is no pass; there are: " + llvm::join(getPipelinePasses(), ", "));
    if (!pass.isClosed)
      return llvm::createStringError(
          "--passes=" + text +
          ": missing closing '}' while processing pass options");
    // A pass would find out only when it runs.
    for (StringRef option : llvm::split(pass.options, ' '))
      if (option.consume_front("target="))
        if (llvm::Expected<target::Target> known = target::loadTarget(option);
            !known)
          return llvm::createStringError("--passes=" + text + ": " +
                                         llvm::toString(known.takeError()));
    // Options of its own come last, and win.
    std::string options;
    const PassInfo *info = PassInfo::lookup(pass.name);
    if (hasOption(*info, "policy"))
      options += "policy=" + settings.policy + " ";
    if (hasOption(*info, "target"))
      options += "target=" + settings.target + " ";
    if (settings.exactRounding && hasOption(*info, "exact-rounding", "true"))
      options += "exact-rounding=true ";
    options += pass.options;
    complete += (complete.empty() ? "" : ",") + pass.name.str() + "{" +
                StringRef(options).trim().str() + "}";
  }
  std::string message;
  llvm::raw_string_ostream os(message);
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (failed(parsePassPipeline(complete, functions, os)))
    return llvm::createStringError("--passes=" + text + ": " + message);
  return llvm::Error::success();
}
