//===- Pipeline.cpp - passes by name and in their order ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/Pipeline.h"

#include "commute/Support/SimilarWord.h"
#include "commute/Target/Target.h"
#include "commute/Transforms/PassTraits.h"
#include "commute/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace commute;

ArrayRef<StringRef> commute::getPipelinePasses() {
  static const auto names = llvm::map_to_vector(
      getPassTraits(), [](const PassTraits &pass) { return pass.name; });
  return names;
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
  /// False if an opening brace has no closing brace.
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

/// Returns the options of a pass with their defaults, by name.
static std::map<std::string, std::string> getDefaults(const PassInfo &pass) {
  OpPassManager manager(func::FuncOp::getOperationName());
  std::map<std::string, std::string> defaults;
  if (failed(pass.addToPipeline(manager, "",
                                [](const Twine &) { return failure(); })))
    return defaults;
  // MLIR states them in the textual form only: "name{a=1 b=2}".
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.begin()->printAsTextualPipeline(os);
  StringRef options = StringRef(text).split('{').second;
  options.consume_back("}");
  for (StringRef option : llvm::split(options, ' ')) {
    auto [name, value] = option.split('=');
    if (!name.empty())
      defaults[name.str()] = value.str();
  }
  return defaults;
}

/// Whether a value is of the kind of the default, so that MLIR can parse it.
static bool isOfKind(StringRef value, StringRef defaultValue) {
  if (defaultValue == "true" || defaultValue == "false")
    return llvm::is_contained({"", "true", "false", "1", "0"}, value);
  int64_t integer;
  double number;
  if (!defaultValue.getAsInteger(10, integer))
    return !value.getAsInteger(10, integer);
  if (!defaultValue.getAsDouble(number))
    return !value.getAsDouble(number);
  return !value.empty();
}

/// Checks the value of an option that several passes share.
static llvm::Error
checkOption(StringRef pass, StringRef name, StringRef value,
            const std::map<std::string, std::string> &defaults) {
  auto known = defaults.find(name.str());
  if (known == defaults.end()) {
    std::string options;
    for (const auto &[option, ignored] : defaults)
      options += (options.empty() ? "" : ", ") + option;
    return llvm::createStringError(
        pass + ": there is no option '" + name + "'; " +
        (options.empty() ? "the pass has no options"
                         : "the pass has the options " + options));
  }
  if (!isOfKind(value, known->second)) {
    // MLIR formats numbers as 5.000000e-02.
    double number;
    std::string example =
        StringRef(known->second).getAsDouble(number)
            ? known->second
            : llvm::formatv("{0}", llvm::format("%g", number)).str();
    return llvm::createStringError(pass + ": " + name + "=" + value +
                                   ": expected a value such as " + example +
                                   ", the default; see 'commute passes'");
  }
  if (name == "target") {
    llvm::Expected<target::Target> known = target::loadTarget(value);
    return known ? llvm::Error::success() : known.takeError();
  }
  if (name != "policy")
    return llvm::Error::success();
  bool hasUpstream = findPassTraits(pass)->hasUpstreamPolicy;
  llvm::Expected<Policy> policy = parsePolicy(value);
  if (policy && (hasUpstream || *policy != Policy::Upstream))
    return llvm::Error::success();
  llvm::consumeError(policy.takeError());
  return llvm::createStringError(
      pass + ": unknown policy '" + value + "'; expected always" +
      (hasUpstream ? ", profitable or upstream" : " or profitable"));
}

llvm::Expected<std::vector<PassStep>>
commute::planPipeline(StringRef text, const PassSettings &settings) {
  registerPipelinePasses();
  std::string all = llvm::join(getPipelinePasses(), ",");
  if (text.empty())
    text = all;
  std::vector<PassStep> steps;
  for (const PassText &pass : getPasses(text)) {
    if (!findPassTraits(pass.name))
      return llvm::createStringError(
          "unknown pass '" + pass.name + "'" +
          describeSimilar(pass.name, getPipelinePasses()) +
          "; available passes: " + llvm::join(getPipelinePasses(), ", "));
    if (!pass.isClosed)
      return llvm::createStringError(
          "--passes=" + text +
          ": missing closing '}' while processing pass options");
    const PassInfo *info = PassInfo::lookup(pass.name);
    std::map<std::string, std::string> defaults = getDefaults(*info);
    for (StringRef option : llvm::split(pass.options, ' ')) {
      auto [name, value] = option.split('=');
      if (name.empty())
        continue;
      if (llvm::Error error = checkOption(pass.name, name, value, defaults))
        return std::move(error);
    }
    // The step's own options come last and override the settings.
    std::string options;
    if (defaults.count("policy")) {
      StringRef policy = stringify(settings.policy);
      if (llvm::Error error =
              checkOption(pass.name, "policy", policy, defaults))
        return std::move(error);
      options += ("policy=" + policy + " ").str();
    }
    if (defaults.count("target"))
      options += "target=" + settings.target + " ";
    if (settings.exactRounding && defaults.count("exact-rounding"))
      options += "exact-rounding=true ";
    options += pass.options;
    steps.push_back({pass.name.str(), StringRef(options).trim().str()});
  }
  llvm::StringRef normalizing;
  for (size_t index = 0; index < steps.size(); ++index) {
    const PassTraits &traits = *findPassTraits(steps[index].name);
    if (traits.normalizes)
      normalizing = traits.name;
    else if (traits.needsNormalizing && !normalizing.empty())
      steps.insert(steps.begin() + ++index, {normalizing.str(), "again=true"});
  }
  if (settings.isForPyTorch) {
    auto last = llvm::find_if(llvm::reverse(steps), [](const PassStep &step) {
      const PassTraits &traits = *findPassTraits(step.name);
      return traits.lowers || traits.needsLowering;
    });
    if (last != steps.rend() && findPassTraits(last->name)->needsLowering) {
      const PassTraits *lowering = llvm::find_if(
          getPassTraits(), [](const PassTraits &pass) { return pass.lowers; });
      steps.insert(last.base(), {lowering->name.str(), ""});
    }
  }
  return steps;
}

llvm::Error commute::addPasses(OpPassManager &functions,
                               ArrayRef<PassStep> steps) {
  std::string text =
      llvm::join(llvm::map_range(steps,
                                 [](const PassStep &step) {
                                   return step.name + "{" + step.options + "}";
                                 }),
                 ",");
  std::string message;
  llvm::raw_string_ostream os(message);
  if (!text.empty() && failed(parsePassPipeline(text, functions, os)))
    return llvm::createStringError("--passes=" + text + ": " + message);
  return llvm::Error::success();
}

llvm::Error commute::buildPipeline(OpPassManager &manager, StringRef text,
                                   const PassSettings &settings) {
  llvm::Expected<std::vector<PassStep>> steps = planPipeline(text, settings);
  if (!steps)
    return steps.takeError();
  return addPasses(manager.nest<func::FuncOp>(), *steps);
}
