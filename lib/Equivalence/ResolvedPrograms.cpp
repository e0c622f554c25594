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
  llvm::for_each(function.getArguments(), convert);
  int64_t draws = 0;
  // Uninitialized memory also differs between the programs. Otherwise, they
  // would be proven equal if both read it.
  int64_t allocations = static_cast<int64_t>(program) << 32;
  Builder builder(result->getContext());
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), convert);
    if (auto call = dyn_cast<tp::CallOp>(op)) {
      if (tp::isRandomOperator(call.getCallee()))
        op->setAttr(drawAttrName, builder.getI64IntegerAttr(draws++));
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
