//===- Interpreter.cpp - execution of a program on one rank -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Interpreter.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/OpaqueOperators.h"

using namespace mlir;
using namespace commute;
using namespace commute::runtime;
using tp::AlgebraValue;

/// Receives the diagnostics of this thread's rank; null outside of ops.
static thread_local std::string *rankMessage = nullptr;

RankDiagnostics::RankDiagnostics(MLIRContext *context)
    : handler(context, [](Diagnostic &diagnostic) {
        if (!rankMessage)
          return failure();
        if (rankMessage->empty())
          *rankMessage = diagnostic.str();
        return success();
      }) {}

//===----------------------------------------------------------------------===//
// Support checks
//===----------------------------------------------------------------------===//

/// Returns true for calls that compute no tensor: PyTorch's assertions, and
/// arithmetic on sizes, which the types also state.
static bool isSkipped(Operation *op) {
  auto call = dyn_cast<tp::CallOp>(op);
  if (!call || !call.getMutatedOperands().empty())
    return false;
  return call->getNumResults() == 0
             ? tp::isAssertion(call)
             : llvm::all_of(call->getResultTypes(), [](Type type) {
                 return isa<IndexType, IntegerType, FloatType>(type);
               });
}

llvm::Error RunnableProgram::checkStep(Operation *op) const {
  auto refuse = [&](const Twine &message) {
    return llvm::createStringError(describe(op->getLoc()) + ": " + message);
  };
  if (auto call = dyn_cast<tp::CallOp>(op)) {
    auto limitation = call->getAttrOfType<StringAttr>(tp::limitationAttrName);
    auto changesTensors = [](Operation &other) {
      auto call = dyn_cast<tp::CallOp>(other);
      return call && !call.getMutatedOperands().empty();
    };
    return refuse(
        "operator " + call.getCallee() +
        (limitation ? " cannot be run: " + limitation.getValue()
                    : Twine(" is not modelled and cannot be run")) +
        (llvm::any_of(*op->getBlock(), changesTensors)
             ? "; ExportedProgram.run_decompositions({}) returns a graph "
               "that changes nothing in place"
             : ""));
  }
  if (!op->hasTrait<OpTrait::IsTerminator>() &&
      !isa<tp::EvaluationOpInterface>(op))
    return refuse("op " + op->getName().getStringRef() + " cannot be run");
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!isa<RankedTensorType>(operand.getType()) &&
        !op->hasTrait<OpTrait::IsTerminator>())
      return refuse(op->getName().getStringRef() +
                    " uses a value that is not a tensor" +
                    (producer ? ", from " + describe(producer->getLoc())
                              : std::string()));
  }
  auto checkType = [&](Type type) -> llvm::Error {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || getElementKind(tensor.getElementType()))
      return llvm::Error::success();
    std::string text;
    llvm::raw_string_ostream(text) << tensor.getElementType();
    return refuse(op->getName().getStringRef() + " on elements of type " +
                  text + ", which the runtime does not support");
  };
  for (Type type : op->getOperandTypes())
    if (llvm::Error error = checkType(type))
      return error;
  for (Type type : op->getResultTypes())
    if (llvm::Error error = checkType(type))
      return error;
  return llvm::Error::success();
}

llvm::Expected<RunnableProgram>
RunnableProgram::create(func::FuncOp function, LocationPrinter describe) {
  RunnableProgram program;
  program.function = function;
  program.describe = std::move(describe);
  if (!function.getBody().hasOneBlock())
    return llvm::createStringError("function @" + function.getName() +
                                   " has several blocks; the program of a "
                                   "graph has one");
  for (Operation &op : function.getBody().front()) {
    if (isSkipped(&op))
      continue;
    if (llvm::Error error = program.checkStep(&op))
      return std::move(error);
    program.steps.push_back({&op, {}});
  }
  // Traversing in reverse, the first use of a value is its last one.
  llvm::DenseSet<Value> isUsed;
  for (Step &step : llvm::reverse(program.steps))
    for (Value operand : step.op->getOperands())
      if (isUsed.insert(operand).second)
        step.lastUses.push_back(operand);
  return program;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Evaluates one op.
static llvm::Error evaluateStep(Operation *op, ArrayRef<AlgebraValue> operands,
                                FloatAlgebra &algebra,
                                SmallVectorImpl<AlgebraValue> &results) {
  SmallVector<SmallVector<int64_t>> expected;
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    FailureOr<SmallVector<int64_t>> sizes = algebra.getSizes(tensor);
    if (failed(sizes))
      return llvm::createStringError("the sizes of the result are unknown: "
                                     "give the inputs that they depend on");
    if (llvm::Error error = checkMemory(*sizes, tensor.getElementType()))
      return error;
    expected.push_back(std::move(*sizes));
  }
  std::string message;
  rankMessage = &message;
  bool succeeded = algebra.tryWhole(op, operands, results) ||
                   mlir::succeeded(cast<tp::EvaluationOpInterface>(op).evaluate(
                       algebra, operands, results));
  rankMessage = nullptr;
  if (llvm::Error error = algebra.takeFailure())
    return error;
  if (!succeeded)
    return llvm::createStringError(message.empty() ? "it failed" : message);
  for (auto [result, sizes] : llvm::zip_equal(results, expected))
    if (result->getSizes() != ArrayRef<int64_t>(sizes))
      return llvm::createStringError(
          "the result has sizes " + formatSizes(result->getSizes()) +
          ", but its type states " + formatSizes(sizes));
  return llvm::Error::success();
}

llvm::Expected<std::vector<TensorValue>>
RunnableProgram::run(std::vector<TensorValue> inputs,
                     const SymbolTable &symbols, Transport &transport) const {
  FloatAlgebra algebra(transport, symbols, describe);
  llvm::DenseMap<Value, AlgebraValue> values;
  for (auto [argument, input] :
       llvm::zip_equal(getFunction().getArguments(), inputs))
    if (!argument.use_empty())
      values[argument] = std::move(input);
  inputs.clear();
  for (const Step &step : steps) {
    SmallVector<AlgebraValue> operands, results;
    for (Value operand : step.op->getOperands())
      operands.push_back(values.lookup(operand));
    if (step.op->hasTrait<OpTrait::IsTerminator>()) {
      std::vector<TensorValue> outputs;
      for (AlgebraValue &value : operands)
        outputs.push_back(std::static_pointer_cast<const Tensor>(value));
      return outputs;
    }
    if (llvm::Error error = transport.checkPeers())
      return std::move(error);
    if (llvm::Error error = evaluateStep(step.op, operands, algebra, results)) {
      if (error.isA<PeerFailure>())
        return std::move(error);
      return llvm::createStringError(step.op->getName().getStringRef() +
                                     " at " + describe(step.op->getLoc()) +
                                     ": " + llvm::toString(std::move(error)));
    }
    for (auto [result, value] : llvm::zip_equal(step.op->getResults(), results))
      if (!result.use_empty())
        values[result] = std::move(value);
    for (Value operand : step.lastUses)
      values.erase(operand);
  }
  return llvm::createStringError("the program has no return");
}
