//===- DiscreteValues.cpp - values made of integers -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DiscreteValues.h"

#include "FieldFunctions.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

static bool isOfFloats(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return !type || isFieldType(type.getElementType());
}

DiscreteValues::DiscreteValues(func::FuncOp first, func::FuncOp second) {
  add(0, first);
  add(1, second);
}

void DiscreteValues::add(unsigned program, func::FuncOp function) {
  Block &body = function.getBody().front();
  // By value: its place among the values, or nullopt for a constant.
  DenseMap<Value, std::optional<size_t>> places;
  auto addValue = [&](Value value) {
    places[value] = values.size();
    values.push_back({program, value, 0});
  };
  for (BlockArgument argument : body.getArguments())
    if (!isOfFloats(argument))
      addValue(argument);
  for (auto [position, op] : llvm::enumerate(body)) {
    bool isConstant = isMemoryEffectFree(&op), isDiscrete = isConstant;
    for (Value operand : op.getOperands()) {
      auto place = places.find(operand);
      isDiscrete &= place != places.end();
      isConstant &= place != places.end() && !place->second;
      if (place != places.end() && place->second)
        values[*place->second].lastReader = position;
    }
    for (Value result : op.getResults()) {
      if (isConstant)
        places[result] = std::nullopt;
      else if (isDiscrete || !isOfFloats(result))
        addValue(result);
    }
  }
}

void DiscreteValues::note(Numbers numbers) {
  // Rounds that kept the most values apart are among the first.
  constexpr size_t mostRounds = 8;
  if (rounds.size() == mostRounds)
    return;
  std::vector<std::optional<unsigned>> &own = rounds.emplace_back();
  own.reserve(values.size());
  for (const DiscreteValue &value : values)
    own.push_back(numbers(value.program, value.value));
}

bool DiscreteValues::wereKeptApart(std::array<unsigned, 2> positions,
                                   Numbers numbers) const {
  std::vector<std::optional<unsigned>> own;
  own.reserve(values.size());
  for (const DiscreteValue &value : values)
    own.push_back(value.lastReader >= positions[value.program]
                      ? numbers(value.program, value.value)
                      : std::nullopt);
  return llvm::any_of(rounds, [&](const auto &round) {
    DenseMap<unsigned, unsigned> numberOf;
    for (auto [before, now] : llvm::zip_equal(round, own))
      if (before && now &&
          numberOf.try_emplace(*before, *now).first->second != *now)
        return false;
    return true;
  });
}
