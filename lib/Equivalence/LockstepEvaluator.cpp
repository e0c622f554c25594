//===- LockstepEvaluator.cpp - all ranks at once ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/LockstepEvaluator.h"

#include "DecisionCoverage.h"
#include "FieldFunctions.h"
#include "RandomTensors.h"
#include "SharedMemory.h"
#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Equivalence/PrimeField.h"
#include "commute/Equivalence/ResolvedPrograms.h"
#include "commute/Report/RemarkCollector.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

RankedTensorType InputGenerator::getType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor;
  return RankedTensorType::get({}, IntegerType::get(type.getContext(), 64));
}

/// Returns the samples of all dims, which are full where none were chosen.
static SmallVector<const IndexSample *>
getSamples(RankedTensorType type, ArrayRef<const IndexSample *> chosen,
           EvaluationContext &context) {
  SmallVector<const IndexSample *> samples;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    samples.push_back(dim < chosen.size() ? chosen[dim]
                                          : context.samples.getFull(size));
  return samples;
}

static SmallVector<SampledDim, 4>
getDims(ArrayRef<const IndexSample *> samples) {
  SmallVector<SampledDim, 4> dims;
  for (const IndexSample *sample : samples)
    dims.push_back({sample});
  return dims;
}

SmallVector<SampledDim, 4>
equivalence::getSampledDims(RankedTensorType type,
                            ArrayRef<const IndexSample *> samples,
                            EvaluationContext &context) {
  return getDims(getSamples(type, samples, context));
}

FieldValue InputGenerator::fixNumbers(const FieldTensor &tensor,
                                      unsigned argument, int64_t number) const {
  auto result = std::make_shared<FieldTensor>(tensor);
  for (auto [index, element] : llvm::enumerate(result->elements))
    if (auto fixed = draws.fixed(argument, number, tensor.getDims(), index)) {
      element = result->isField() ? PrimeField::fromInteger(*fixed)
                                  : static_cast<uint64_t>(*fixed);
      if (result->isField())
        context.scalars.noteNumber(element, static_cast<double>(*fixed));
    }
  return result;
}

RankValues InputGenerator::generate(unsigned argument, RankedTensorType type,
                                    ArrayRef<const IndexSample *> samples,
                                    uint64_t seed) const {
  RankValues values;
  std::map<int64_t, FieldValue> uncut;
  std::optional<IntegerPool> pool;
  if (isa<IntegerType>(type.getElementType()))
    pool = draws.pools(argument);
  // The index must remain one at which the table is sampled.
  IntegerPool::Drawing drawing = IntegerPool::choose(
      context.scalars.getSeed(), argument, /*isListed=*/pool.has_value());
  // Ranks that hold the same part of the same tensor share it.
  std::map<std::pair<int64_t, std::vector<int64_t>>, FieldValue> known;
  for (int64_t rank : ranks.getRepresentatives()) {
    analysis::InputInstance instance = placements.getInstance(argument, rank);
    std::vector<int64_t> part;
    for (const analysis::InputInstance::Cut &cut : instance.cuts)
      part.push_back(cut.index);
    FieldValue &local = known[{instance.tensor, part}];
    if (local) {
      values.push_back(local);
      continue;
    }
    FieldValue &whole = uncut[instance.tensor];
    if (!whole) {
      // The samples of the tensor that the ranks have parts of.
      auto joinParts = [&](ArrayRef<const IndexSample *> local) {
        SmallVector<const IndexSample *> joined(local);
        if (!joined.empty())
          for (const analysis::InputInstance::Cut &cut :
               llvm::reverse(instance.cuts))
            joined[cut.dim] = context.samples.getProduct(
                {context.samples.getFull(cut.count), joined[cut.dim]});
        return joined;
      };
      auto ask = [&](const SamplesOfInput &own) {
        return joinParts(own ? own(argument) : ArrayRef<const IndexSample *>());
      };
      SmallVector<const IndexSample *> local =
          getSamples(type, samples, context);
      SmallVector<SampledDim, 4> dims = getDims(joinParts(local));
      SmallVector<const IndexSample *> drawn = ask(draws.drawnAt);
      uint64_t key =
          PrimeField::mix(argument, PrimeField::mix(instance.tensor + 1, seed));
      uint64_t place = PrimeField::mix(argument, instance.tensor);
      whole = makeRandom(drawn.empty() ? dims : getDims(drawn),
                         type.getElementType(), key, place, context,
                         pool ? *pool : context.scalars.getPool(), drawing,
                         drawing.way == IntegerPool::Way::Apart
                             ? ask(draws.cells)
                             : SmallVector<const IndexSample *>());
      if (whole && !drawn.empty())
        whole = repeatElements(*whole, dims, context);
      if (!whole)
        return values;
      if (draws.fixed)
        whole = fixNumbers(*whole, argument, instance.tensor);
      if (draws.observe)
        draws.observe(argument, instance.tensor, *whole);
    }
    AlgebraValue cutValue = whole;
    FieldAlgebra algebra(rank, context);
    for (const analysis::InputInstance::Cut &cut : instance.cuts) {
      int64_t size = cutValue->getSizes()[cut.dim] / cut.count;
      cutValue = algebra.slice(cutValue, cut.dim, cut.index * size, 1, size);
    }
    local = share(cutValue);
    values.push_back(local);
  }
  return values;
}

llvm::Expected<std::vector<RankValues>>
InputGenerator::generateAll(func::FuncOp function, SampleLookup samples,
                            uint64_t seed) const {
  std::vector<RankValues> inputs;
  for (BlockArgument argument : function.getArguments()) {
    inputs.push_back(generate(argument.getArgNumber(),
                              getType(argument.getType()), samples(argument),
                              seed));
    if (context.problem)
      return llvm::createStringError(context.problem->message);
  }
  return inputs;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

LockstepEvaluator::LockstepEvaluator(const RankClasses &ranks,
                                     EvaluationContext &context)
    : ranks(ranks), context(context) {
  for (int64_t rank : ranks.getRepresentatives())
    algebras.emplace_back(rank, context);
}

const LockstepEvaluator::Peers &
LockstepEvaluator::getPeers(tp::GroupAttr group) {
  auto [it, isNew] = peersOf.try_emplace(group);
  Peers &peers = it->second;
  if (!isNew)
    return peers;
  for (int64_t rank : ranks.getRepresentatives())
    peers.push_back(
        {group.getMembersAround(rank), group.getPosition(rank).value_or(0)});
  return peers;
}

LogicalResult LockstepEvaluator::completeExchanges(Operation *op) {
  size_t number = algebras.front().getExchanges().size();
  for (auto [index, algebra] : llvm::enumerate(algebras)) {
    FieldAlgebra::Exchange &exchange = algebra.getExchanges().back();
    if (algebra.getExchanges().size() != number)
      return op->emitError("ranks differ in how often they communicate");
    auto [members, position] = getPeers(exchange.group)[index];
    if (members.empty())
      return op->emitError("rank ")
             << ranks.getRepresentatives()[index]
             << " runs a collective of group \"" << exchange.group.getName()
             << "\", of which it is not a member";
    for (int64_t member : members) {
      FieldAlgebra::Exchange &peer =
          algebras[ranks.getClass(member)].getExchanges().back();
      exchange.fromMembers.push_back(peer.toMembers[position]);
    }
  }
  for (FieldAlgebra &algebra : algebras)
    algebra.getExchanges().back().isComplete = true;
  return success();
}

/// Returns true if the result of an op depends only on the data that it
/// receives.
static bool readsReceivedOnly(Operation *op) {
  auto collective = dyn_cast<tp::CollectiveOpInterface>(op);
  return collective && collective.dependsOnReceivedOnly();
}

LogicalResult LockstepEvaluator::evaluateModelled(
    tp::EvaluationOpInterface op, ArrayRef<RankValues> operands,
    ArrayRef<ArrayRef<const IndexSample *>> samples,
    SmallVectorImpl<RankValues> &results) {
  for (FieldAlgebra &algebra : algebras)
    algebra.clearExchanges();
  // Without communication, only the rank's own part and uninitialized memory
  // depend on the rank.
  bool isOfRank = (isa<tp::GroupOpInterface>(op.getOperation()) &&
                   !isa<tp::CollectiveOpInterface>(op.getOperation())) ||
                  !isMemoryEffectFree(op);
  bool readsOperands = !readsReceivedOnly(op);
  // An op is evaluated again after each exchange: first, ranks determine what
  // they send; then, they know what they receive.
  while (true) {
    results.assign(op->getNumResults(), RankValues());
    bool isWaiting = false;
    // Ranks with equal operands and equal received data compute equal results.
    // Maps these data to the first such rank.
    std::map<SmallVector<const void *>, size_t> firstRank;
    for (size_t rank = 0; rank < algebras.size(); ++rank) {
      FieldAlgebra &algebra = algebras[rank];
      SmallVector<AlgebraValue> inputs;
      SmallVector<const void *> key;
      for (const RankValues &operand : operands)
        inputs.push_back(operand[rank]);
      if (readsOperands || algebra.getExchanges().empty())
        for (const AlgebraValue &input : inputs)
          key.push_back(input.get());
      for (const FieldAlgebra::Exchange &exchange : algebra.getExchanges())
        for (const AlgebraValue &received : exchange.fromMembers)
          key.push_back(received.get());
      if (!isOfRank) {
        auto [known, isNew] = firstRank.try_emplace(key, rank);
        if (!isNew) {
          size_t first = known->second;
          if (isWaiting)
            algebra.getExchanges().push_back(
                algebras[first].getExchanges().back());
          else
            for (RankValues &result : results)
              result.push_back(result[first]);
          continue;
        }
      }
      algebra.restart(inputs, samples.empty() ? ArrayRef<const IndexSample *>()
                                              : samples.front());
      SmallVector<AlgebraValue> outputs;
      // Ops that move or convert elements allocate about as much as they read.
      int64_t largest = 0;
      for (const AlgebraValue &input : inputs)
        if (input)
          largest = std::max(largest,
                             FieldTensor::getNumBytes(share(input)->getDims()));
      constexpr int64_t large = int64_t(16) << 20;
      if (largest >= large && !context.checkMemory(largest))
        return failure();
      if (failed(op.evaluate(algebra, inputs, outputs))) {
        if (!algebra.isWaiting() || context.problem)
          return failure();
        isWaiting = true;
        continue;
      }
      context.checkMemory();
      if (context.problem)
        return failure();
      for (auto [index, output] : llvm::enumerate(outputs))
        results[index].push_back(algebra.assume(share(output), samples[index]));
    }
    if (!isWaiting)
      return success();
    if (failed(completeExchanges(op)))
      return failure();
  }
}

/// Returns a hash of what an opaque op reads of its operands on one rank.
static uint64_t getOperandsHash(tp::CallOp call, ArrayRef<RankValues> operands,
                                size_t rank) {
  uint64_t hash = 0;
  bool readsTypes = tp::readsTypesAlone(call);
  bool readsSizes = tp::isSizeComputation(call);
  for (auto [value, operand] : llvm::zip_equal(call.getOperands(), operands)) {
    hash = PrimeField::mix(0, hash + 1);
    if (!operand[rank])
      continue;
    if (std::optional<uint64_t> allocation = findAllocation(value)) {
      hash = PrimeField::mix(*allocation, hash + 3);
      continue;
    }
    if (readsTypes)
      hash = PrimeField::mix(getCastKey(operand[rank]->getElementType()), hash);
    if (readsTypes || (readsSizes && operand[rank]->getRank() > 0))
      for (int64_t size : operand[rank]->getSizes())
        hash = PrimeField::mix(size, hash);
    else
      hash = PrimeField::mix(getContentHash(operand[rank]), hash);
  }
  return hash;
}

std::vector<uint64_t> equivalence::getCallHashes(tp::CallOp call,
                                                 ArrayRef<RankValues> operands,
                                                 size_t numRanks) {
  uint64_t name =
      llvm::xxh3_64bits((call.getCallee() + "\n" + call.getArguments()).str());
  auto draw = call->getAttrOfType<IntegerAttr>(drawAttrName);
  std::vector<uint64_t> hashes(numRanks);
  uint64_t ofAll = 0;
  for (auto [rank, hash] : llvm::enumerate(hashes)) {
    hash = PrimeField::mix(getOperandsHash(call, operands, rank), name);
    ofAll = PrimeField::mix(hash, ofAll);
  }
  if (!draw)
    return hashes;
  // Generators may be in different states on different ranks, and what an
  // operator receives from others depends on what they send.
  bool readsPeers = tp::getCallEffects(call) != tp::CallEffects::Random;
  for (auto [rank, hash] : llvm::enumerate(hashes))
    hash = PrimeField::mix(
        rank, PrimeField::mix(draw.getInt(), (readsPeers ? ofAll : hash) + 2));
  return hashes;
}

/// Returns a value after memory that it may share has been written: a random
/// function of its old content and of all operands of the writer. It is applied
/// elementwise, so that a view taken before the write equals one taken after
/// it.
static RankValues overwrite(const RankValues &values, tp::CallOp call,
                            ArrayRef<RankValues> operands, bool isCertain,
                            EvaluationContext &context) {
  RankValues result;
  std::vector<uint64_t> hashes = getCallHashes(call, operands, values.size());
  for (auto [rank, value] : llvm::enumerate(values)) {
    uint64_t hash = hashes[rank] + (isCertain ? 0 : 1);
    auto written = std::make_shared<FieldTensor>(*value);
    for (uint64_t &element : written->elements) {
      element = PrimeField::mix(element, hash);
      if (written->isTruth())
        element = context.scalars.drawTruth(element);
      else if (!written->isField())
        element =
            context.scalars.drawInteger(element, written->getElementType());
    }
    result.push_back(std::move(written));
  }
  return result;
}

void LockstepEvaluator::evaluateOpaque(
    tp::CallOp call, ArrayRef<RankValues> operands,
    ArrayRef<ArrayRef<const IndexSample *>> samples,
    SmallVectorImpl<RankValues> &results) {
  results.resize(call->getNumResults());
  DenseMap<uint64_t, SmallVector<FieldValue>> known;
  // A random function of all that the op depends on.
  for (uint64_t hash : getCallHashes(call, operands, algebras.size())) {
    SmallVector<FieldValue> &values = known[hash];
    for (auto [index, result] : llvm::enumerate(call.getOutputs())) {
      if (values.size() == index) {
        // A value that is not a tensor is identified by the operands that it
        // was computed from.
        RankedTensorType type = InputGenerator::getType(result.getType());
        uint64_t key = PrimeField::mix(index, hash);
        if (isa<RankedTensorType>(result.getType())) {
          values.push_back(
              makeRandom(getSampledDims(type, samples[index], context),
                         type.getElementType(), key, /*place=*/key, context,
                         context.scalars.getPool(),
                         IntegerPool::choose(context.scalars.getSeed(), 0,
                                             /*isListed=*/false)));
          if (!values.back())
            return;
        } else {
          auto number = std::make_shared<FieldTensor>(ArrayRef<SampledDim>(),
                                                      type.getElementType());
          number->elements[0] = key;
          values.push_back(std::move(number));
        }
      }
      results[index].push_back(values[index]);
    }
  }
}

LogicalResult
LockstepEvaluator::evaluate(Operation *op, ArrayRef<RankValues> operands,
                            ArrayRef<ArrayRef<const IndexSample *>> samples,
                            SmallVectorImpl<RankValues> &results) {
  context.checkTime();
  if (context.problem)
    return failure();
  // Evaluate all ranks at once, so that values that all ranks hold may be
  // equal.
  size_t numElements = 0;
  for (const RankValues &values : operands)
    numElements = std::max(numElements, values.front()->elements.size());
  context.scalars.beginOp(numElements, ranks.getRepresentatives().size());
  if (auto call = dyn_cast<tp::CallOp>(op)) {
    evaluateOpaque(call, operands, samples, results);
    return success(!context.problem);
  }
  auto modelled = dyn_cast<tp::EvaluationOpInterface>(op);
  if (!modelled)
    return op->emitError("cannot be evaluated");
  if (failed(evaluateModelled(modelled, operands, samples, results)))
    return failure();
  if (context.decisions)
    context.decisions->note(op, operands, results, context.scalars);
  return success();
}

llvm::Expected<std::vector<RankValues>> equivalence::evaluateOnAllRanks(
    func::FuncOp function, ArrayRef<RankValues> inputs,
    const RankClasses &ranks, EvaluationContext &context, SampleLookup samples,
    Observer observe, Operation *&culprit) {
  std::string message;
  ScopedDiagnosticHandler handler(
      function.getContext(), [&](Diagnostic &diagnostic) {
        if (message.empty())
          llvm::raw_string_ostream(message)
              << report::describeLocation(diagnostic.getLocation()) << ": "
              << diagnostic;
        return success();
      });
  LockstepEvaluator evaluator(ranks, context);
  SharedMemory memory(function);
  DenseMap<Value, RankValues> values;
  DenseMap<Value, unsigned> remainingUses;
  for (auto [argument, input] :
       llvm::zip_equal(function.getArguments(), inputs))
    values[argument] = input;
  for (Operation &op : function.getBody().front()) {
    SmallVector<RankValues> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    if (op.hasTrait<OpTrait::IsTerminator>())
      return std::vector<RankValues>(operands.begin(), operands.end());
    SmallVector<RankValues> results;
    SmallVector<ArrayRef<const IndexSample *>> ofResults;
    for (Value result : op.getResults())
      ofResults.push_back(samples(result));
    if (failed(evaluator.evaluate(&op, operands, ofResults, results))) {
      culprit = &op;
      return llvm::createStringError(context.problem ? context.problem->message
                                                     : message);
    }
    observe(&op, operands, results);
    if (auto call = dyn_cast<tp::CallOp>(op))
      if (!call.getMutatedOperands().empty())
        for (auto &[value, held] : values) {
          SharedMemory::Sharing sharing = memory.isWritten(call, value);
          if (sharing != SharedMemory::No)
            held = overwrite(held, call, operands,
                             sharing == SharedMemory::Certainly, context);
        }
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
      if (!result.use_empty())
        values[result] = std::move(value);
    // Release a value after its last use.
    for (Value operand : op.getOperands()) {
      auto [uses, isNew] = remainingUses.try_emplace(operand, 0);
      if (isNew)
        uses->second = std::distance(operand.use_begin(), operand.use_end());
      if (--uses->second == 0)
        values.erase(operand);
    }
  }
  return llvm::createStringError("the program has no return");
}
