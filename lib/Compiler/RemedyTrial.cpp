//===- RemedyTrial.cpp - a program with what would allow a rewrite --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RemedyTrial.h"

#include "StatedContext.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

/// "torch.ops.mylib.rms_norm.default" -> "rms_norm".
static StringRef getBaseName(StringRef callee) {
  SmallVector<StringRef> parts;
  callee.split(parts, '.');
  return parts.size() == 5 ? parts[3] : parts.back();
}

/// Returns the names of the operator's tensor arguments in the graph.
static std::vector<std::string> getArgumentNames(ModuleOp module,
                                                 StringRef callee) {
  std::vector<std::string> names;
  module.walk([&](tp::CallOp call) {
    if (call.getCallee() != callee)
      return WalkResult::advance();
    llvm::Expected<llvm::json::Value> parsed =
        llvm::json::parse(call.getArguments());
    if (!parsed) {
      llvm::consumeError(parsed.takeError());
      return WalkResult::interrupt();
    }
    if (const llvm::json::Array *list = parsed->getAsArray())
      for (const llvm::json::Value &argument : *list)
        if (const llvm::json::Object *object = argument.getAsObject())
          if (std::optional<StringRef> name = object->getString("name"))
            names.push_back(name->str());
    return WalkResult::interrupt();
  });
  return names;
}

/// Returns a vocabulary file for an operator. If a known operator has the same
/// name, the file names it; else the user must fill in one.
static std::string getVocabularyFile(ModuleOp module, StringRef callee) {
  std::string sameAs = "THE KNOWN OPERATOR THAT IT BEHAVES LIKE";
  static const vocabulary::Vocabulary known;
  for (StringRef target : known.getReadTargets())
    if (target.starts_with("torch.ops.") &&
        getBaseName(target) == getBaseName(callee)) {
      sameAs = target.str();
      break;
    }
  llvm::json::Object arguments;
  for (const std::string &name : getArgumentNames(module, callee))
    arguments[name] = name;
  llvm::json::Object entry{{"same_as", sameAs}};
  if (!arguments.empty())
    entry["arguments"] = std::move(arguments);
  return llvm::formatv(
      "{0}",
      llvm::json::Value(llvm::json::Object{
          {"version", 1},
          {"operators", llvm::json::Object{{callee, std::move(entry)}}}}));
}

/// Adds an option to a pass in "a,b{x=1}": "b{y=2}" gives "a,b{x=1 y=2}".
static std::string addPassOption(StringRef passes, StringRef addition) {
  auto [name, option] = addition.split('{');
  option.consume_back("}");
  std::string all =
      passes.empty() ? llvm::join(getPipelinePasses(), ",") : passes.str();
  // A name at the start of an entry; options contain no names of passes.
  size_t position = 0;
  while (true) {
    position = StringRef(all).find(name, position);
    if (position == std::string::npos)
      return "";
    size_t end = position + name.size();
    bool isEntry = (position == 0 || all[position - 1] == ',') &&
                   (end == all.size() || all[end] == ',' || all[end] == '{');
    if (!isEntry) {
      position = end;
      continue;
    }
    if (end < all.size() && all[end] == '{')
      all.insert(StringRef(all).find('}', end), (" " + option).str());
    else
      all.insert(end, ("{" + option + "}").str());
    return all;
  }
}

TriedRemedy compiler::describe(const Remedy &remedy, ModuleOp module,
                               StringRef passes) {
  TriedRemedy result;
  const std::string &value = remedy.value;
  if (remedy.option.empty()) {
    result.text = "describe " + value +
                  " in a vocabulary file, if a known operator behaves like it";
    result.option = "--vocabulary=FILE.json";
    result.vocabulary = getVocabularyFile(module, value);
    return result;
  }
  result.option = "--" + remedy.option + "='" + value + "'";
  if (remedy.option == "assume")
    result.text = "if it holds, state that " + value;
  else if (remedy.option == "group")
    result.text = "if there is such a group, declare it";
  else if (remedy.option == "input-placement")
    result.text = "if these inputs are equal on all ranks, state that";
  else if (remedy.option == "rank") {
    result.text = "compile the program for each rank separately";
    result.option = "--rank=R";
  } else {
    result.text = "run the passes with " + value;
    result.option = "--passes='" + addPassOption(passes, value) + "'";
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Trial
//===----------------------------------------------------------------------===//

/// Returns an operand of the shape of a result, which an operator that works
/// row by row must have; null if there is none.
static Value findOperandOfShape(tp::CallOp call, Value result) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  for (Value operand : call.getOperands())
    if (auto other = dyn_cast<RankedTensorType>(operand.getType());
        type && type.getRank() > 0 && other &&
        other.getShape() == type.getShape())
      return operand;
  return {};
}

static bool mayWorkRowByRow(tp::CallOp call) {
  return call.runsKernel() && call.getMutatedOperands().empty() &&
         call.getNumResults() > 0 &&
         llvm::all_of(call.getResults(), [&](Value result) {
           return bool(findOperandOfShape(call, result));
         });
}

std::map<std::string, size_t> compiler::findOpaqueOperators(ModuleOp module) {
  std::map<std::string, size_t> operators;
  llvm::StringSet<> others;
  module.walk([&](tp::CallOp call) {
    if (mayWorkRowByRow(call))
      ++operators[call.getCallee().str()];
    else
      others.insert(call.getCallee());
  });
  for (const auto &entry : others)
    operators.erase(entry.getKey().str());
  return operators;
}

/// Replaces the calls of an operator by elementwise ops of the operands that
/// have the shapes of the results. False if there are no such operands.
static bool replaceCalls(ModuleOp module, StringRef callee) {
  SmallVector<tp::CallOp> calls;
  module.walk([&](tp::CallOp call) {
    if (call.getCallee() == callee)
      calls.push_back(call);
  });
  for (tp::CallOp call : calls) {
    if (!mayWorkRowByRow(call))
      return false;
    OpBuilder builder(call);
    for (Value result : call.getResults()) {
      OperationState state(call.getLoc(), tp::MapOp::getOperationName());
      state.addOperands(findOperandOfShape(call, result));
      state.addTypes(result.getType());
      state.getOrAddProperties<tp::MapOp::Properties>().function =
          tp::MapFunctionAttr::get(module.getContext(), tp::MapFunction::Neg);
      result.replaceAllUsesWith(builder.create(state)->getResult(0));
    }
    call.erase();
  }
  return !calls.empty();
}

Trial compiler::prepareTrial(ModuleOp module, std::string passes,
                             const std::set<Remedy> &remedies) {
  Trial trial{cast<ModuleOp>(module->clone()), std::move(passes)};
  StatedFacts facts;
  for (const Remedy &remedy : remedies) {
    if (remedy.option.empty()) {
      if (!replaceCalls(*trial.module, remedy.value))
        return {};
    } else if (remedy.option == "passes") {
      trial.passes = addPassOption(trial.passes, remedy.value);
      if (trial.passes.empty())
        return {};
    } else if (remedy.option == "assume") {
      facts.assumptions.push_back(remedy.value);
    } else if (remedy.option == "group") {
      facts.groups.push_back(remedy.value);
    } else if (remedy.option == "input-placement") {
      facts.placements.push_back(remedy.value);
    } else if (remedy.option == "rank") {
      facts.rank = 0;
    } else {
      return {};
    }
  }
  vocabulary::DistributedContext context;
  // Errors mean that the remedy does not fit.
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  llvm::Error error = facts.addTo(context);
  if (!error)
    error = applyContext(*trial.module, context);
  if (error || failed(verify(*trial.module))) {
    llvm::consumeError(std::move(error));
    return {};
  }
  return trial;
}
