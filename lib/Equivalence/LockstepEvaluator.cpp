//===- LockstepEvaluator.cpp - all ranks at once ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/LockstepEvaluator.h"

#include "SharedMemory.h"
#include "commute/Equivalence/PrimeField.h"
#include "commute/Equivalence/SizeReduction.h"

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

RankValues InputGenerator::generate(unsigned argument,
                                    RankedTensorType type) const {
  RankValues values;
  std::map<int64_t, FieldValue> uncut;
  for (int64_t rank : placements.getWorld()) {
    analysis::InputInstance instance = placements.getInstance(argument, rank);
    auto &whole = uncut[instance.tensor];
    if (!whole) {
      SmallVector<int64_t> sizes(type.getShape());
      for (const analysis::InputInstance::Cut &cut : instance.cuts)
        sizes[cut.dim] *= cut.count;
      auto tensor = std::make_shared<FieldTensor>(sizes, type.getElementType());
      uint64_t key =
          PrimeField::mix(argument, PrimeField::mix(instance.tensor + 1, seed));
      for (auto [position, element] : llvm::enumerate(tensor->elements)) {
        element = PrimeField::mix(position, key);
        // Indices, masks and positions: small numbers hit every branch.
        if (!tensor->isField())
          element =
              type.getElementType().isInteger(1) ? element & 1 : element & 7;
      }
      whole = tensor;
    }
    // Later cuts are within earlier ones, so the last one is applied first to
    // the local size.
    AlgebraValue local = whole;
    FieldAlgebra algebra(rank, Precision::Algebraic);
    for (const analysis::InputInstance::Cut &cut : instance.cuts) {
      int64_t size = local->getSizes()[cut.dim] / cut.count;
      local = algebra.slice(local, cut.dim, cut.index * size, 1, size);
    }
    values.push_back(std::static_pointer_cast<const FieldTensor>(local));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

LockstepEvaluator::LockstepEvaluator(ArrayRef<int64_t> world,
                                     Precision precision)
    : world(world) {
  for (int64_t rank : world)
    algebras.emplace_back(rank, precision);
}

LogicalResult LockstepEvaluator::completeExchanges(Operation *op) {
  size_t number = algebras.front().getExchanges().size();
  DenseMap<int64_t, size_t> indexOf;
  for (auto [index, rank] : llvm::enumerate(world))
    indexOf[rank] = index;
  for (auto [index, algebra] : llvm::enumerate(algebras)) {
    FieldAlgebra::Exchange &exchange = algebra.getExchanges().back();
    if (algebra.getExchanges().size() != number)
      return op->emitError("ranks differ in how often they communicate");
    ArrayRef<int64_t> members = exchange.group.getMembersAround(world[index]);
    if (members.empty())
      return op->emitError("rank ")
             << world[index] << " runs a collective of group \""
             << exchange.group.getName() << "\", which it is not in";
    int64_t position = *exchange.group.getPosition(world[index]);
    for (int64_t member : members) {
      FieldAlgebra::Exchange &peer =
          algebras[indexOf.lookup(member)].getExchanges().back();
      exchange.fromMembers.push_back(peer.toMembers[position]);
    }
  }
  for (FieldAlgebra &algebra : algebras)
    algebra.getExchanges().back().isComplete = true;
  return success();
}

LogicalResult
LockstepEvaluator::evaluateModelled(tp::EvaluationOpInterface op,
                                    ArrayRef<RankValues> operands,
                                    SmallVectorImpl<RankValues> &results) {
  for (FieldAlgebra &algebra : algebras)
    algebra.clearExchanges();
  auto count = op->getAttrOfType<IntegerAttr>(averageCountAttrName);
  std::optional<int64_t> averageCount =
      count ? std::optional(count.getInt()) : std::nullopt;
  // An op is evaluated again after each exchange: the first time ranks say what
  // they send, then they know what they receive.
  while (true) {
    results.assign(op->getNumResults(), RankValues());
    bool isWaiting = false;
    // Ranks that hold the same operands compute the same.
    std::map<SmallVector<const void *>, SmallVector<AlgebraValue>> computed;
    for (size_t rank = 0; rank < world.size(); ++rank) {
      SmallVector<AlgebraValue> inputs;
      SmallVector<const void *> key;
      for (const RankValues &operand : operands) {
        inputs.push_back(operand[rank]);
        key.push_back(operand[rank].get());
      }
      FieldAlgebra &algebra = algebras[rank];
      algebra.restart(averageCount);
      SmallVector<AlgebraValue> outputs;
      bool isLocal =
          !isa<tp::CollectiveOpInterface, tp::RankSliceOp>(op.getOperation());
      auto known = computed.find(key);
      if (isLocal && known != computed.end()) {
        outputs = known->second;
      } else if (failed(op.evaluate(algebra, inputs, outputs))) {
        if (!algebra.isWaiting())
          return failure();
        isWaiting = true;
        continue;
      } else if (isLocal) {
        computed[key] = outputs;
      }
      for (auto [index, output] : llvm::enumerate(outputs))
        results[index].push_back(
            std::static_pointer_cast<const FieldTensor>(output));
    }
    if (!isWaiting)
      return success();
    if (failed(completeExchanges(op)))
      return failure();
  }
}

/// A hash of what an opaque op is and of all that it reads on one rank.
static uint64_t getCallHash(tp::CallOp call, ArrayRef<RankValues> operands,
                            size_t rank) {
  uint64_t hash =
      llvm::xxh3_64bits((call.getCallee() + "\n" + call.getArguments()).str());
  for (const RankValues &operand : operands)
    hash = PrimeField::mix(operand[rank] ? getContentHash(*operand[rank]) : 0,
                           hash + 1);
  return hash;
}

/// What a value is once memory that it may lie in has been written to: a random
/// function of what it was and of all that the writer read. It works element by
/// element, so that a view taken before is the view taken after.
static RankValues overwrite(const RankValues &values, tp::CallOp call,
                            ArrayRef<RankValues> operands, bool isCertain) {
  RankValues result;
  for (auto [rank, value] : llvm::enumerate(values)) {
    uint64_t hash = getCallHash(call, operands, rank) + (isCertain ? 0 : 1);
    auto written = std::make_shared<FieldTensor>(*value);
    for (uint64_t &element : written->elements) {
      element = PrimeField::mix(element, hash);
      if (!written->isField())
        element &= value->getElementType().isInteger(1) ? 1 : 7;
    }
    result.push_back(std::move(written));
  }
  return result;
}

LogicalResult
LockstepEvaluator::evaluateOpaque(tp::CallOp call,
                                  ArrayRef<RankValues> operands,
                                  SmallVectorImpl<RankValues> &results) {
  results.resize(call->getNumResults());
  for (size_t rank = 0; rank < world.size(); ++rank) {
    // A random function of everything that it reads.
    uint64_t hash = getCallHash(call, operands, rank);
    for (auto [index, result] : llvm::enumerate(call.getOutputs())) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      // What is no tensor is known by what it was made from.
      SmallVector<int64_t> sizes;
      Type element = IntegerType::get(call.getContext(), 64);
      if (type) {
        llvm::append_range(sizes, type.getShape());
        element = type.getElementType();
      }
      auto tensor = std::make_shared<FieldTensor>(sizes, element);
      for (auto [position, value] : llvm::enumerate(tensor->elements)) {
        value = PrimeField::mix(position, PrimeField::mix(index, hash));
        if (!tensor->isField() && type)
          value &= element.isInteger(1) ? 1 : 7;
      }
      results[index].push_back(tensor);
    }
  }
  return success();
}

LogicalResult
LockstepEvaluator::evaluate(Operation *op, ArrayRef<RankValues> operands,
                            SmallVectorImpl<RankValues> &results) {
  if (auto call = dyn_cast<tp::CallOp>(op))
    return evaluateOpaque(call, operands, results);
  if (auto modelled = dyn_cast<tp::EvaluationOpInterface>(op))
    return evaluateModelled(modelled, operands, results);
  return op->emitError("cannot be evaluated");
}

llvm::Expected<std::vector<RankValues>> equivalence::evaluateOnAllRanks(
    func::FuncOp function, ArrayRef<RankValues> inputs, ArrayRef<int64_t> world,
    Precision precision, Observer observe) {
  std::string message;
  ScopedDiagnosticHandler handler(
      function.getContext(), [&](Diagnostic &diagnostic) {
        if (message.empty())
          llvm::raw_string_ostream(message)
              << diagnostic.getLocation() << ": " << diagnostic;
        return success();
      });
  LockstepEvaluator evaluator(world, precision);
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
    if (failed(evaluator.evaluate(&op, operands, results)))
      return llvm::createStringError(message);
    observe(&op, operands, results);
    if (auto call = dyn_cast<tp::CallOp>(op))
      for (auto &[value, held] : values) {
        SharedMemory::Sharing sharing = memory.isWritten(call, value);
        if (sharing != SharedMemory::No)
          held = overwrite(held, call, operands,
                           sharing == SharedMemory::Certainly);
      }
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
      if (!result.use_empty())
        values[result] = std::move(value);
    // A value is gone after its last use.
    for (Value operand : op.getOperands()) {
      auto [uses, isNew] = remainingUses.try_emplace(operand, 0);
      if (isNew)
        uses->second = std::distance(operand.use_begin(), operand.use_end());
      if (--uses->second == 0)
        values.erase(operand);
    }
  }
  return llvm::createStringError("the program does not return");
}
