//===- ScalarFunctions.cpp - names of scalar functions ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/ScalarFunctions.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute::tp;

/// The names of all functions, in the order of their enumerators.
static ArrayRef<std::string> getNames() {
  static const std::vector<std::string> names = {
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  llvm::convertToSnakeFromCamelCase(#Name),
#include "commute/Dialect/ScalarFunctions.def"
  };
  return names;
}

StringRef commute::tp::stringifyMapFunction(MapFunction function) {
  return getNames()[static_cast<size_t>(function)];
}

std::optional<MapFunction> commute::tp::symbolizeMapFunction(StringRef name) {
  ArrayRef<std::string> names = getNames();
  const std::string *found = llvm::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<MapFunction>(found - names.begin());
}

FailureOr<MapFunction> commute::tp::parseMapFunction(AsmParser &parser) {
  StringRef name;
  llvm::SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (std::optional<MapFunction> function = symbolizeMapFunction(name))
    return *function;
  return parser.emitError(location)
         << "unknown scalar function `" << name
         << "`; expected one of: " << llvm::join(getNames(), ", ");
}

uint64_t commute::tp::wrapInteger(int64_t value, Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return static_cast<uint64_t>(value);
  if (integer.getWidth() == 1)
    return value != 0;
  if (integer.getWidth() >= 64)
    return static_cast<uint64_t>(value);
  unsigned unused = 64 - integer.getWidth();
  uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return integer.isUnsigned()
             ? shifted >> unused
             : static_cast<uint64_t>(static_cast<int64_t>(shifted) >> unused);
}
