//===- SampledEvaluation.cpp - one evaluation of two programs -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/SampledEvaluation.h"

#include "DimSamples.h"
#include "StatedRanges.h"
#include "commute/Equivalence/LockstepEvaluator.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;

struct SampledEvaluation::State {
  State(func::FuncOp first, func::FuncOp second, const VerifyOptions &options,
        uint64_t seed)
      : first(first), second(second), options(options), seed(seed),
        dims(first, second, samples, seed, options.reducesSizes),
        ranks(ArrayRef<int64_t>{0}) {
    budget.seconds = options.maxSeconds;
    budget.bytes = options.maxBytes;
    dims.begin(seed);
    dims.choose();
  }

  llvm::Error evaluate(func::FuncOp function,
                       const analysis::InputPlacements &placements,
                       Operation *&culprit);

  func::FuncOp first, second;
  VerifyOptions options;
  uint64_t seed;
  ProofBudget budget;
  IndexSamples samples;
  DimSamples dims;
  RankClasses ranks;
  std::optional<EvaluationContext> context;
  DenseMap<Value, FieldValue> values;
  std::optional<UnknownResults> unknown;
};

SampledEvaluation::SampledEvaluation(func::FuncOp first, func::FuncOp second,
                                     const VerifyOptions &options,
                                     uint64_t seed)
    : state(std::make_unique<State>(first, second, options, seed)) {}
SampledEvaluation::~SampledEvaluation() = default;

llvm::Error
SampledEvaluation::State::evaluate(func::FuncOp function,
                                   const analysis::InputPlacements &placements,
                                   Operation *&culprit) {
  InputGenerator generator(placements, ranks, *context,
                           {.pools = [this](unsigned argument) {
                             return getPoolInRange(dims, argument, options);
                           }});
  auto lookup = [this](Value value) { return dims.get(value); };
  llvm::Expected<std::vector<RankValues>> inputs =
      generator.generateAll(function, lookup, seed);
  if (!inputs)
    return inputs.takeError();
  for (auto [argument, value] :
       llvm::zip_equal(function.getArguments(), *inputs))
    values[argument] = value.front();
  auto observe = [&](Operation *op, ArrayRef<RankValues> operands,
                     ArrayRef<RankValues> results) {
    unknown->note(op, operands);
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
      values[result] = value.front();
  };
  return evaluateOnAllRanks(function, *inputs, ranks, *context, lookup, observe,
                            culprit)
      .takeError();
}

llvm::Error SampledEvaluation::run() {
  llvm::Expected<analysis::InputPlacements> placements =
      analysis::InputPlacements::resolve(state->first);
  if (!placements)
    return placements.takeError();
  constexpr int maxAttempts = 64;
  for (int attempt = 0;; ++attempt) {
    state->values.clear();
    state->unknown.emplace(state->first, state->second);
    state->context.emplace(state->samples, state->options.precision,
                           Choices::Symbolic, state->seed, state->budget);
    state->context->scalars.setPool(state->dims.getPool());
    Operation *culprit = nullptr;
    llvm::Error error = state->evaluate(state->first, *placements, culprit);
    if (!error)
      error = state->evaluate(state->second, *placements, culprit);
    if (!error) {
      state->unknown->find();
      // Sums of results are tried out by the thousand, and no exponential of
      // them is taken.
      state->context->scalars.getLogarithms().recordsSums = false;
      return llvm::Error::success();
    }
    if (!state->context->problem || attempt == maxAttempts ||
        !state->dims.refine(*state->context->problem, culprit))
      return error;
    llvm::consumeError(std::move(error));
    state->dims.choose();
  }
}

FieldValue SampledEvaluation::get(Value value) const {
  return state->values.lookup(value);
}

const UnknownResults &SampledEvaluation::getUnknownResults() const {
  return *state->unknown;
}

namespace {
/// Keeps the results of the primitives that compute new elements.
class RecordingAlgebra : public FieldAlgebra {
public:
  using FieldAlgebra::FieldAlgebra;

  std::vector<FieldValue> steps;

  AlgebraValue map(tp::MapFunction function, ArrayRef<AlgebraValue> values,
                   Type type) override {
    return record(FieldAlgebra::map(function, values, type));
  }
  AlgebraValue reduce(tp::ReductionKind kind, const AlgebraValue &input,
                      ArrayRef<int64_t> dims, bool keepDims,
                      Type type) override {
    return record(FieldAlgebra::reduce(kind, input, dims, keepDims, type));
  }
  AlgebraValue cumulativeSum(const AlgebraValue &input, unsigned dim,
                             Type type) override {
    return record(FieldAlgebra::cumulativeSum(input, dim, type));
  }
  AlgebraValue matmul(const AlgebraValue &lhs, const AlgebraValue &rhs,
                      Type type) override {
    return record(FieldAlgebra::matmul(lhs, rhs, type));
  }

private:
  AlgebraValue record(const AlgebraValue &value) {
    steps.push_back(share(value));
    return value;
  }
};
} // namespace

/// Evaluates an op without communication and effects. `samples` are those of
/// its first result.
static LogicalResult evaluateAlone(Operation *op, ArrayRef<FieldValue> operands,
                                   ArrayRef<const IndexSample *> samples,
                                   EvaluationContext &context,
                                   FieldAlgebra &algebra,
                                   SmallVectorImpl<AlgebraValue> &results) {
  auto modelled = dyn_cast<tp::EvaluationOpInterface>(op);
  if (!modelled || !isMemoryEffectFree(op) || isa<tp::GroupOpInterface>(op) ||
      llvm::is_contained(operands, nullptr))
    return failure();
  SmallVector<AlgebraValue> inputs(operands.begin(), operands.end());
  size_t numElements = 0;
  for (const FieldValue &operand : operands)
    numElements = std::max(numElements, operand->elements.size());
  context.scalars.beginOp(numElements, /*numRanks=*/1);
  llvm::SaveAndRestore recordsSums(context.scalars.getLogarithms().recordsSums,
                                   true);
  algebra.restart(inputs, samples);
  ScopedDiagnosticHandler handler(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  return modelled.evaluate(algebra, inputs, results);
}

std::vector<FieldValue> SampledEvaluation::getSteps(Operation *op) {
  SmallVector<FieldValue> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  RecordingAlgebra algebra(/*rank=*/0, *state->context);
  SmallVector<AlgebraValue> results;
  bool isEvaluated =
      succeeded(evaluateAlone(op, operands, state->dims.get(op->getResult(0)),
                              *state->context, algebra, results));
  if (clearProblem() || !isEvaluated)
    return {};
  return std::move(algebra.steps);
}

std::vector<FieldValue>
SampledEvaluation::evaluate(Operation *op, ArrayRef<FieldValue> operands,
                            std::vector<FieldValue> *steps) {
  RecordingAlgebra algebra(/*rank=*/0, *state->context);
  SmallVector<AlgebraValue> results;
  bool isEvaluated = succeeded(evaluateAlone(
      op, operands, /*samples=*/{}, *state->context, algebra, results));
  if (clearProblem() || !isEvaluated)
    return {};
  std::vector<FieldValue> values;
  for (const AlgebraValue &result : results)
    values.push_back(share(result));
  if (steps)
    *steps = std::move(algebra.steps);
  return values;
}

std::vector<std::vector<FieldValue>>
SampledEvaluation::evaluate(Operation *op, ArrayRef<int64_t> members,
                            ArrayRef<FieldValue> operands) {
  if (!isa<tp::EvaluationOpInterface>(op) || !isMemoryEffectFree(op) ||
      llvm::is_contained(operands, nullptr))
    return {};
  llvm::SaveAndRestore recordsSums(
      state->context->scalars.getLogarithms().recordsSums, true);
  ScopedDiagnosticHandler handler(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  // By operand and by result, of all members.
  SmallVector<RankValues> operandsOfAll(op->getNumOperands()), results;
  for (auto [index, operand] : llvm::enumerate(operands))
    operandsOfAll[index % op->getNumOperands()].push_back(operand);
  SmallVector<ArrayRef<const IndexSample *>> samples(op->getNumResults());
  RankClasses ranks(members);
  bool isEvaluated =
      succeeded(LockstepEvaluator(ranks, *state->context)
                    .evaluate(op, operandsOfAll, samples, results));
  if (clearProblem() || !isEvaluated)
    return {};
  std::vector<std::vector<FieldValue>> found(members.size());
  for (const RankValues &result : results)
    for (auto [own, value] : llvm::zip_equal(found, result))
      own.push_back(value);
  return found;
}

FieldAlgebra SampledEvaluation::getAlgebra() {
  return FieldAlgebra(/*rank=*/0, *state->context);
}

bool SampledEvaluation::clearProblem() {
  bool had = state->context->problem.has_value();
  state->context->problem.reset();
  return had;
}

const ScalarContext &SampledEvaluation::getScalars() const {
  return state->context->scalars;
}
