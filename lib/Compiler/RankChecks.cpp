//===- RankChecks.cpp - are these the programs of two ranks? ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "MergedRanks.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

std::string compiler::describeNode(const LoadedProgram &program, size_t node) {
  return program.origin + ": node '" +
         program.getGraph()->graph.nodes[node].name.str() + "' (#" +
         std::to_string(node) + ")";
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static llvm::Error checkInputs(const LoadedProgram &program,
                               const LoadedProgram &firstProgram) {
  func::FuncOp first = analysis::getMain(firstProgram.getModule());
  func::FuncOp own = analysis::getMain(program.getModule());
  const std::string &firstOrigin = firstProgram.origin;
  auto makeError = [&](const Twine &message) {
    return llvm::createStringError(program.origin + ": " + message);
  };
  if (own.getNumArguments() != first.getNumArguments())
    return makeError("the program takes " + Twine(own.getNumArguments()) +
                     " inputs, and " + firstOrigin + " takes " +
                     Twine(first.getNumArguments()) +
                     ": these are not two ranks of one model");
  for (unsigned index = 0; index < own.getNumArguments(); ++index) {
    auto getName = [&](func::FuncOp function) {
      return function
          .getArgAttrOfType<StringAttr>(index, tp::TPDialect::nameAttrName)
          .getValue();
    };
    if (getName(own) != getName(first))
      return makeError("input " + Twine(index) + " is '" + getName(own) +
                       "', but '" + getName(first) + "' in " + firstOrigin +
                       ": these are not two ranks of one model");
    Type type = own.getArgumentTypes()[index];
    if (Type expected = first.getArgumentTypes()[index]; type != expected)
      return makeError("input '" + getName(own) + "' is " + toText(type) +
                       ", but " + toText(expected) + " in " + firstOrigin +
                       "; all ranks must have the same shapes");
    if (own.getArgAttrDict(index) != first.getArgAttrDict(index))
      return makeError("input '" + getName(own) +
                       "' is a different parameter or has a different "
                       "placement than in " +
                       firstOrigin + ": the sidecars of all ranks must agree");
  }
  if (own->getAttr(tp::TPDialect::signatureAttrName) !=
          first->getAttr(tp::TPDialect::signatureAttrName) ||
      own.getNumResults() != first.getNumResults())
    return makeError("the program has a different call signature than " +
                     firstOrigin + ": these are not two ranks of one model");
  return llvm::Error::success();
}

static llvm::Error checkModule(const LoadedProgram &program,
                               const LoadedProgram &firstProgram) {
  ModuleOp first = firstProgram.getModule(), own = program.getModule();
  for (auto [name, what] :
       {std::pair(tp::TPDialect::groupsAttrName, "process groups"),
        std::pair(tp::TPDialect::assumptionsAttrName,
                  "assumptions about sizes"),
        std::pair(tp::TPDialect::symbolHintsAttrName, "symbolic sizes")})
    if (own->getAttr(name) != first->getAttr(name))
      return llvm::createStringError(
          program.origin + ": the program has different " + what + " than " +
          firstProgram.origin + "; they must be the same for all ranks");
  return llvm::Error::success();
}

static llvm::Error checkNodes(const LoadedProgram &program,
                              const LoadedProgram &firstProgram) {
  ArrayRef<archive::Node> first = firstProgram.getGraph()->graph.nodes;
  ArrayRef<archive::Node> own = program.getGraph()->graph.nodes;
  for (size_t node = 0; node < std::min(first.size(), own.size()); ++node)
    if (own[node].target != first[node].target)
      return llvm::createStringError(
          describeNode(program, node) + " calls " + own[node].target +
          ", but '" + first[node].name + "' of " + firstProgram.origin +
          " calls " + first[node].target + sameNodes);
  if (own.size() != first.size())
    return llvm::createStringError(program.origin + ": the program has " +
                                   Twine(own.size()) + " nodes, but " +
                                   firstProgram.origin + " has " +
                                   Twine(first.size()) + sameNodes);
  return llvm::Error::success();
}

llvm::Error compiler::checkInterfaces(const LoadedProgram &program,
                                      const LoadedProgram &first) {
  if (llvm::Error error = checkInputs(program, first))
    return error;
  return checkModule(program, first);
}

llvm::Error compiler::checkRanks(const LoadedProgram &program,
                                 const LoadedProgram &first) {
  if (llvm::Error error = checkInterfaces(program, first))
    return error;
  return checkNodes(program, first);
}
