//===- SignatureChecks.cpp - how two programs are called --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SignatureChecks.h"

#include "llvm/ADT/Sequence.h"

#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

static std::string toText(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.str();
  std::string result;
  llvm::raw_string_ostream os(result);
  attribute.print(os);
  return result;
}

/// The kinds and targets of the inputs that are values.
static void checkInputs(func::FuncOp first, func::FuncOp second,
                        VerifyResult &result) {
  auto get = [](func::FuncOp function, unsigned index, StringRef name) {
    return function.getArgAttrOfType<StringAttr>(index, name);
  };
  using tp::TPDialect;
  unsigned count = std::min(first.getNumArguments(), second.getNumArguments());
  for (unsigned index = 0; index < count; ++index) {
    auto add = [&](StringRef what, Attribute a, Attribute b) {
      auto name = get(first, index, TPDialect::nameAttrName);
      result.differences.push_back(
          {("input " + Twine(index) + (name ? " ('" + name.str() + "')" : "") +
            what + " '" + toText(a) + "' in the first program and '" +
            toText(b) + "' in the second")
               .str(),
           first.getArgument(index).getLoc(),
           second.getArgument(index).getLoc()});
    };
    auto getValue = [&](func::FuncOp function) {
      return function.getArgAttrOfType<TypedAttr>(index,
                                                  TPDialect::valueAttrName);
    };
    if (TypedAttr x = getValue(first), y = getValue(second); x && y && x != y)
      add(" is the constant", x, y);
    StringAttr firstKind = get(first, index, TPDialect::kindAttrName);
    StringAttr secondKind = get(second, index, TPDialect::kindAttrName);
    if (!firstKind || !secondKind)
      continue;
    if (firstKind != secondKind) {
      add(" is a", firstKind, secondKind);
      continue;
    }
    StringAttr firstTarget = get(first, index, TPDialect::parameterAttrName);
    StringAttr secondTarget = get(second, index, TPDialect::parameterAttrName);
    if (firstTarget && secondTarget && firstTarget != secondTarget)
      add((" is the " + firstKind.getValue()).str(), firstTarget, secondTarget);
  }
}

/// Returns the first entry in which two lists of a signature differ.
static void checkList(func::FuncOp first, func::FuncOp second, StringRef what,
                      ArrayAttr a, ArrayAttr b, VerifyResult &result) {
  auto add = [&](const Twine &message) {
    result.differences.push_back(
        {message.str(), first.getLoc(), second.getLoc()});
  };
  for (auto [index, x, y] :
       llvm::zip(llvm::seq<size_t>(0, std::min(a.size(), b.size())), a, b))
    if (x != y)
      return add(what + " " + Twine(index) + " is '" + toText(x) +
                 "' in the first program and '" + toText(y) +
                 "' in the second");
  if (a.size() != b.size())
    add("the first program has " + Twine(a.size()) + " of " + what +
        ", the second " + Twine(b.size()));
}

void equivalence::checkSignatures(func::FuncOp first, func::FuncOp second,
                                  VerifyResult &result) {
  checkInputs(first, second, result);
  auto get = [](func::FuncOp function) {
    return function->getAttrOfType<DictionaryAttr>(
        tp::TPDialect::signatureAttrName);
  };
  DictionaryAttr firstSignature = get(first), secondSignature = get(second);
  if (!firstSignature || !secondSignature || firstSignature == secondSignature)
    return;
  struct Part {
    StringRef key, what;
  };
  for (Part part :
       {Part{"call_inputs", "the structure of the inputs"},
        Part{"call_outputs", "the structure of the outputs"},
        Part{"call_parameters", "parameter"},
        Part{"constant_inputs", "constant input"}, Part{"outputs", "output"}}) {
    Attribute a = firstSignature.get(part.key);
    Attribute b = secondSignature.get(part.key);
    if (!a || !b || a == b)
      continue;
    if (isa<ArrayAttr>(a) && isa<ArrayAttr>(b))
      checkList(first, second, part.what, cast<ArrayAttr>(a),
                cast<ArrayAttr>(b), result);
    else
      result.differences.push_back(
          {(part.what + " is " + toText(a) + " in the first program and " +
            toText(b) + " in the second")
               .str(),
           first.getLoc(), second.getLoc()});
  }
}
