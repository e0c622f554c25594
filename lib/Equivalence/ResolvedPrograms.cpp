//===- ResolvedPrograms.cpp - programs with numbers for sizes ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/ResolvedPrograms.h"

#include "PositionFolding.h"
#include "SharedMemory.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Dialect/SymbolNames.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

bool equivalence::writesMemory(func::FuncOp function) {
  return llvm::any_of(function.getOps<tp::CallOp>(), [](tp::CallOp call) {
    return !call.getMutatedOperands().empty();
  });
}

bool equivalence::hasSymbols(ModuleOp module) {
  func::FuncOp function = analysis::getMain(module);
  auto isSymbolic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  };
  if (llvm::any_of(function.getArgumentTypes(), isSymbolic))
    return true;
  return llvm::any_of(function.getBody().front(), [&](Operation &op) {
    return llvm::any_of(op.getResultTypes(), isSymbolic);
  });
}

llvm::SetVector<StringAttr>
equivalence::getSizesOfValues(func::FuncOp function) {
  llvm::SetVector<StringAttr> names;
  for (Operation &op : function.getBody().front())
    if (auto own = op.getAttrOfType<ArrayAttr>(tp::sizesOfValuesAttrName))
      names.insert_range(own.getAsRange<StringAttr>());
  return names;
}

/// Returns the least and the greatest number that a program asserts of a size
/// that it determines from values.
static std::optional<std::pair<int64_t, int64_t>>
getRangeOfSize(func::FuncOp function, StringRef symbol) {
  for (Operation &op : function.getBody().front()) {
    auto names = op.getAttrOfType<ArrayAttr>(tp::sizesOfValuesAttrName);
    auto ranges = op.getAttrOfType<ArrayAttr>(tp::rangesOfValuesAttrName);
    if (!names || !ranges || names.size() != ranges.size())
      continue;
    for (auto [name, attribute] :
         llvm::zip(names.getAsRange<StringAttr>(), ranges))
      if (auto range = dyn_cast<DenseI64ArrayAttr>(attribute);
          range && range.size() == 2 && name.getValue() == symbol)
        return std::pair(range[0], range[1]);
  }
  return std::nullopt;
}

int64_t
equivalence::fitSizeOfValues(func::FuncOp function, StringRef symbol,
                             int64_t number,
                             llvm::function_ref<bool(int64_t)> isTaken) {
  std::optional<std::pair<int64_t, int64_t>> range =
      getRangeOfSize(function, symbol);
  if (range && range->first > range->second)
    return number;
  auto [least, most] = range.value_or(
      std::pair<int64_t, int64_t>(0, std::numeric_limits<int64_t>::max()));
  if (number < least || number > most) {
    // Few differences show if a tensor has no element or one.
    constexpr int64_t several = 2;
    if (most >= several)
      least = std::max(least, several);
    number =
        number < least ? least : least + (number - least) % (most - least + 1);
  }
  // Sizes that are evaluated as one number cannot be told apart.
  int64_t free = number;
  constexpr int maxTries = 64;
  for (int tries = 0; tries < maxTries && isTaken(free); ++tries)
    free = free < most ? free + 1 : least;
  return isTaken(free) ? number : free;
}

/// Records at each op which sizes that depend on values its results have, and
/// which numbers stand for those that it determines.
static void markSizesOfValues(func::FuncOp function,
                              llvm::function_ref<int64_t(StringRef)> getValue) {
  llvm::SetVector<StringAttr> sizes = getSizesOfValues(function);
  if (sizes.empty())
    return;
  Builder builder(function.getContext());
  for (Operation &op : function.getBody().front()) {
    llvm::SetVector<Attribute> used;
    for (Type type : op.getResultTypes())
      for (StringAttr symbol : tp::getSymbolNames(type))
        if (sizes.contains(symbol))
          used.insert(symbol);
    if (!used.empty())
      op.setAttr(usedSizesAttrName, builder.getArrayAttr(used.getArrayRef()));
    if (auto own = op.getAttrOfType<ArrayAttr>(tp::sizesOfValuesAttrName)) {
      SmallVector<int64_t> numbers;
      for (StringAttr name : own.getAsRange<StringAttr>())
        numbers.push_back(getValue(name));
      op.setAttr(numbersOfSizesAttrName, builder.getI64ArrayAttr(numbers));
    }
  }
}

std::optional<uint64_t> equivalence::findAllocation(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto number = op->getAttrOfType<IntegerAttr>(drawAttrName);
        number && !isa<tp::CallOp>(op))
      return static_cast<uint32_t>(number.getInt());
    auto strides = dyn_cast<tp::StrideOpInterface>(op);
    if (op->getNumOperands() != 1 || !strides || !strides.mayShareMemory())
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

llvm::Expected<OwningOpRef<ModuleOp>>
equivalence::resolveSizes(ModuleOp module, unsigned program,
                          llvm::function_ref<int64_t(StringRef)> getValue) {
  OwningOpRef<ModuleOp> result = cast<ModuleOp>(module->clone());
  auto symbols = [&](StringRef name) { return std::optional(getValue(name)); };
  bool wasSymbolic = false;
  std::string unknown;
  auto convert = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || (type.hasStaticShape() && !type.getEncoding()))
      return;
    wasSymbolic |= !type.hasStaticShape();
    SmallVector<int64_t> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      std::optional<int64_t> size = tp::evaluateSize(type, dim, symbols);
      if ((!size || *size < 0) && unknown.empty())
        llvm::raw_string_ostream(unknown) << type;
      sizes.push_back(size && *size >= 0 ? *size : 1);
    }
    value.setType(RankedTensorType::get(sizes, type.getElementType()));
  };
  func::FuncOp function = analysis::getMain(*result);
  markSizesOfValues(function, getValue);
  llvm::for_each(function.getArguments(), convert);
  int64_t draws = 0, unknowns = 0;
  // Uninitialized memory also differs between the programs. Otherwise, they
  // would be proven equal if both read it.
  int64_t allocations = static_cast<int64_t>(program) << 32;
  Builder builder(result->getContext());
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), convert);
    if (auto call = dyn_cast<tp::CallOp>(op)) {
      tp::CallEffects effects = tp::getCallEffects(call);
      if (effects != tp::CallEffects::None)
        op->setAttr(drawAttrName,
                    builder.getI64IntegerAttr(effects == tp::CallEffects::Random
                                                  ? draws++
                                                  : unknowns++));
    } else if (hasSingleEffect<MemoryEffects::Allocate>(op)) {
      op->setAttr(drawAttrName, builder.getI64IntegerAttr(allocations++));
    }
  });
  if (!unknown.empty())
    return llvm::createStringError("the size of a dim is not stated, or "
                                   "exceeds 64 bits, of a value of type " +
                                   unknown);
  Operation *terminator = function.getBody().front().getTerminator();
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().front().getArgumentTypes(),
      terminator->getOperandTypes()));
  if (!wasSymbolic)
    return result;
  // Sizes that could be equal are numbers now, and may differ.
  std::string message;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (message.empty())
          llvm::raw_string_ostream(message)
              << diagnostic.getLocation() << ": " << diagnostic;
        return success();
      });
  if (failed(result->verify()))
    return llvm::createStringError(message);
  return result;
}

void equivalence::foldProgram(func::FuncOp function) {
  // The ops that would be replaced say which sizes their results have.
  if (getSizesOfValues(function).empty())
    foldPositions(function);
}

void equivalence::resolveConstants(func::FuncOp first, func::FuncOp second) {
  auto getValue = [](func::FuncOp function, unsigned index) {
    return function.getArgAttrOfType<TypedAttr>(index,
                                                tp::TPDialect::valueAttrName);
  };
  SmallVector<std::pair<unsigned, TypedAttr>> constants;
  unsigned count = std::min(first.getNumArguments(), second.getNumArguments());
  for (unsigned index = 0; index < count; ++index)
    if (TypedAttr value = getValue(first, index);
        value && value == getValue(second, index))
      constants.push_back({index, value});
  if (constants.empty())
    return;
  for (func::FuncOp function : {first, second}) {
    SharedMemory memory(function);
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    for (auto [index, value] : constants) {
      BlockArgument argument = function.getArgument(index);
      // A value that is written to does not keep its content.
      if (!memory.mayBeWritten(argument))
        argument.replaceAllUsesWith(tp::ConstantOp::create(
            builder, argument.getLoc(), argument.getType(), value));
    }
  }
}
