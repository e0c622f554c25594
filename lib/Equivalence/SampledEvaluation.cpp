//===- SampledEvaluation.cpp - one evaluation of two programs -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/SampledEvaluation.h"

#include "DimSamples.h"
#include "StatedRanges.h"
#include "commute/Equivalence/LockstepEvaluator.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

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
                           [this](unsigned argument) {
                             return getPoolInRange(dims, argument, options);
                           });
  auto lookup = [this](Value value) { return dims.get(value); };
  llvm::Expected<std::vector<RankValues>> inputs =
      generator.generateAll(function, lookup, seed);
  if (!inputs)
    return inputs.takeError();
  for (auto [argument, value] :
       llvm::zip_equal(function.getArguments(), *inputs))
    values[argument] = value.front();
  auto observe = [&](Operation *op, ArrayRef<RankValues>,
                     ArrayRef<RankValues> results) {
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
    state->context.emplace(state->samples, state->options.precision,
                           Choices::Symbolic, state->seed, state->budget);
    state->context->scalars.setPool(state->dims.getPool());
    Operation *culprit = nullptr;
    llvm::Error error = state->evaluate(state->first, *placements, culprit);
    if (!error)
      error = state->evaluate(state->second, *placements, culprit);
    if (!error)
      return llvm::Error::success();
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
