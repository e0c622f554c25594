//===- ResultNames.cpp - names of values of a new graph ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ResultNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using llvm::StringRef;

ResultNames::ResultNames(archive::Program &program) : program(program) {
  for (const Argument &input : program.graph.inputs)
    input.forEachValue([&](const Argument &value) { define(value.text); });
  // Placeholders of constant inputs also have names.
  for (const archive::InputSpec &spec : program.inputSpecs)
    if (!spec.name.empty())
      define(spec.name);
  for (const archive::Node &node : program.graph.nodes) {
    taken.insert(node.name);
    for (const Argument &output : node.outputs)
      output.forEachValue(
          [&](const Argument &value) { taken.insert(value.text); });
  }
}

bool ResultNames::isNameOfList(StringRef name) const {
  return hasLists && name.consume_front("getitem") &&
         (name.empty() ||
          (name.consume_front("_") && llvm::all_of(name, llvm::isDigit)));
}

StringRef ResultNames::make(StringRef stated, StringRef base) {
  if (!stated.empty() && !isDefined(stated) && !isNameOfList(stated))
    return stated;
  std::string candidate = base.str();
  unsigned &suffix = nextSuffix[program.strings.save(base)];
  while (taken.contains(candidate))
    candidate = (base + "_" + llvm::Twine(++suffix)).str();
  StringRef name = program.strings.save(candidate);
  taken.insert(name);
  return name;
}
