//===- FusedCollectives.cpp - collectives pipelined with products ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The data is transferred in pieces of rows. An all-gather multiplies this
// rank's pieces while the pieces of the others are in transit, and those when
// they arrive. A reduce-scatter sends each piece of the products for other
// ranks as soon as it is computed, and computes its own product last. With
// threads as ranks, pieces are read in the peers' memory.
//
// Results depend neither on the order of arrival nor on the transport: sums
// over ranks are computed in f32 (f64 for f64), in the order of the group's
// members, and rounded once. As in PyTorch, a reduce-scatter transfers elements
// of its result type, so each rank's summand is rounded to that type first.
//
//===----------------------------------------------------------------------===//

#include "BlockedRows.h"
#include "Kernels.h"
#include "commute/Runtime/FloatAlgebra.h"

using namespace mlir;
using namespace commute;
using namespace commute::runtime;
using tp::AlgebraValue;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Converts to a type that products support (the operand's type or f32), once
/// for all pieces.
static TensorValue toProductType(const TensorValue &tensor) {
  ElementKind kind = tensor->getKind();
  if (getComputeKind(kind) != ComputeKind::Single || kind == ElementKind::F32 ||
      kind == ElementKind::BF16)
    return tensor;
  return castElements(*tensor,
                      Float32Type::get(tensor->getElementType().getContext()));
}

TensorValue FloatAlgebra::scaled(const AlgebraValue &input,
                                 const AlgebraValue &factor, Type compute) {
  return std::static_pointer_cast<const Tensor>(
      map(tp::MapFunction::Mul, {cast(input, compute), cast(factor, compute)},
          compute));
}

//===----------------------------------------------------------------------===//
// tp.all_gather_matmul
//===----------------------------------------------------------------------===//

namespace {
/// One of the products.
struct GatherProduct {
  TensorValue rhs;
  /// One packing of the whole right-hand side. With a gathered contraction
  /// dimension, one packing per position, of the rows that its shard
  /// multiplies.
  SmallVector<SharedPacking> packings;
  const Tensor *bias = nullptr;
  /// The type of sums over ranks and of scaled operands.
  Type compute;
  std::shared_ptr<Tensor> result;
  /// With a gathered contraction dimension, by piece and position: products
  /// that wait for those of earlier positions. The first entry holds the sum so
  /// far.
  std::vector<SmallVector<std::shared_ptr<Tensor>>> waiting;
  std::vector<size_t> numSummed;
};

class GatherMatmul {
public:
  GatherMatmul(int64_t axis, int64_t numMembers, ArrayRef<int64_t> shardSizes)
      : blocked(shardSizes, axis, numMembers),
        contracts(axis + 1 == int64_t(shardSizes.size())) {}

  /// Multiplies piece `index` of the shard at `position`. `lhs` contains the
  /// piece's rows in the type that the product computes in.
  bool multiply(GatherProduct &product, const Pieces &pieces, size_t position,
                int64_t index, const Tensor &lhs, std::string &failure);

  BlockedRows blocked;
  bool contracts;

private:
  bool addProduct(GatherProduct &product, const Pieces &pieces, size_t position,
                  int64_t index, const Tensor &lhs, std::string &failure);
};
} // namespace

bool GatherMatmul::multiply(GatherProduct &product, const Pieces &pieces,
                            size_t position, int64_t index, const Tensor &lhs,
                            std::string &failure) {
  if (contracts)
    return addProduct(product, pieces, position, index, lhs, failure);
  BlockedRows resultRows = blocked;
  resultRows.width = product.rhs->getSizes()[1];
  RowsInPlace rows(*product.result, resultRows, position,
                   pieces.getBegin(index), pieces.getEnd(index));
  MatmulOperand rhs{*product.rhs, false, &product.packings[0]};
  if (!multiplyMatricesInto({lhs}, rhs, product.bias, rows.get(), failure))
    return false;
  rows.store();
  return true;
}

bool GatherMatmul::addProduct(GatherProduct &product, const Pieces &pieces,
                              size_t position, int64_t index, const Tensor &lhs,
                              std::string &failure) {
  int64_t columns = product.rhs->getSizes()[1];
  TensorValue rhs =
      viewRows(*product.rhs, position * blocked.width, blocked.width, columns);
  std::shared_ptr<Tensor> rows =
      Tensor::allocate({pieces.getSize(index), columns}, product.compute);
  MatmulOperand operand{*rhs, false, &product.packings[position]};
  if (!multiplyMatricesInto({lhs}, operand,
                            position == 0 ? product.bias : nullptr, *rows,
                            failure))
    return false;
  auto &waiting = product.waiting[index];
  size_t &numSummed = product.numSummed[index];
  waiting[position] = std::move(rows);
  SmallVector<const Tensor *> ready;
  if (numSummed > 0)
    ready.push_back(waiting[0].get());
  for (; numSummed < waiting.size() && waiting[numSummed]; ++numSummed)
    ready.push_back(waiting[numSummed].get());
  if (numSummed == waiting.size()) {
    std::shared_ptr<Tensor> result =
        viewRows(*product.result, pieces.getBegin(index), pieces.getSize(index),
                 columns);
    combineTensorsInto(tp::ReductionKind::Sum, ready, *result);
    waiting.clear();
  } else if (ready.size() > 1) {
    // Accumulate in place, element by element.
    combineTensorsInto(tp::ReductionKind::Sum, ready, *waiting[0]);
    for (size_t summed = 1; summed < numSummed; ++summed)
      waiting[summed] = nullptr;
  }
  return true;
}

/// Returns true if the scale has one element per row of the shard, and false if
/// it has one for all elements.
static bool isRowScale(const Tensor &scale, ArrayRef<int64_t> shard) {
  return scale.getRank() == int64_t(shard.size()) &&
         scale.getSizes().back() == 1 &&
         scale.getSizes().drop_back() == shard.drop_back();
}

bool FloatAlgebra::gatherAndMultiply(tp::AllGatherMatmulOp op,
                                     ArrayRef<AlgebraValue> operands,
                                     SmallVectorImpl<AlgebraValue> &results) {
  // Operands: shard, right-hand sides, biases, scale of the shard, scales.
  size_t count = op.getRhs().size(), numBiases = op.getBiases().size();
  const Tensor &shard = asTensor(operands[0]);
  ArrayRef<AlgebraValue> scales = operands.drop_front(1 + count + numBiases);
  auto axis = static_cast<int64_t>(op.getGatherAxis());
  int64_t numMembers = op.getGroup().getSize();
  GatherMatmul gather(axis, numMembers, shard.getSizes());
  const BlockedRows &blocked = gather.blocked;
  bool hasRowScale = !scales.empty() && scales[0]->getNumElements() != 1;
  if (hasRowScale &&
      (gather.contracts || !isRowScale(asTensor(scales[0]), shard.getSizes())))
    return false;

  SmallVector<int64_t> sizes(shard.getSizes());
  sizes[axis] *= numMembers;
  std::shared_ptr<Tensor> gathered;
  if (op.getReturnsGathered()) {
    gathered = Tensor::allocate(sizes, shard.getElementType());
    results.push_back(gathered);
  }
  Pieces pieces(blocked.getNumRows(),
                blocked.width * runtime::getNumBytes(shard.getKind()),
                numMembers, Pieces::Small::Last);
  std::vector<GatherProduct> products(count);
  for (auto [index, product] : llvm::enumerate(products)) {
    auto rhs = std::static_pointer_cast<const Tensor>(operands[1 + index]);
    Type type = llvm::cast<RankedTensorType>(
                    op.getOutputs()[index + (gathered ? 1 : 0)].getType())
                    .getElementType();
    product.compute = getComputeType(type);
    if (rhs->getSizes()[0] != sizes.back()) {
      fail("matrices of sizes " + formatSizes(sizes) + " and " +
           formatSizes(rhs->getSizes()) + " cannot be multiplied");
      return true;
    }
    if (numBiases > 0) {
      product.bias =
          getRowBias(operands[1 + count + index], rhs->getSizes()[1]);
      if (!product.bias) {
        results.clear();
        return false;
      }
    }
    product.rhs = scales.empty()
                      ? toProductType(rhs)
                      : scaled(rhs, scales[1 + index], product.compute);
    SmallVector<int64_t> resultSizes(sizes);
    resultSizes.back() = rhs->getSizes()[1];
    product.result = Tensor::allocate(resultSizes, type);
    results.push_back(product.result);
    SharedPacking packing{
        blocked.getNumRows() * (gather.contracts ? 1 : numMembers), nullptr};
    product.packings.assign(gather.contracts ? numMembers : 1, packing);
    if (gather.contracts) {
      product.waiting.assign(pieces.getCount(),
                             SmallVector<std::shared_ptr<Tensor>>(numMembers));
      product.numSummed.assign(pieces.getCount(), 0);
    }
  }

  // Row scales are small: gather them whole.
  SmallVector<AlgebraValue> shardScales;
  if (hasRowScale) {
    FailureOr<SmallVector<AlgebraValue>> received = exchange(
        op, op.getGroup(), SmallVector<AlgebraValue>(numMembers, scales[0]));
    if (mlir::failed(received))
      return true;
    shardScales = std::move(*received);
  }

  auto consume = [&](size_t position, int64_t index, const TensorValue &piece) {
    if (piece->getSizes() !=
        ArrayRef<int64_t>{pieces.getSize(index), blocked.width}) {
      fail("the shard at position " + std::to_string(position) +
           " of the group has rows of sizes " + formatSizes(piece->getSizes()) +
           ", unlike this rank's");
      return false;
    }
    if (gathered)
      writeRows(*piece, *gathered, blocked, position, pieces.getBegin(index),
                pieces.getEnd(index));
    std::string message;
    TensorValue lhs;
    Type compute;
    for (GatherProduct &product : products) {
      if (scales.empty()) {
        lhs = piece;
      } else if (compute != product.compute) {
        compute = product.compute;
        AlgebraValue factor = scales[0];
        if (hasRowScale)
          factor = viewRows(asTensor(shardScales[position]),
                            pieces.getBegin(index), pieces.getSize(index), 1);
        lhs = scaled(piece, factor, compute);
      }
      if (!gather.multiply(product, pieces, position, index, *lhs, message)) {
        fail(std::move(message));
        return false;
      }
    }
    return true;
  };

  std::optional<Collective> collective = startCollective(
      op, op.getGroup(), shard, shard.getElementType(), pieces.getCount());
  if (!collective)
    return true;
  SmallVector<TensorValue> own;
  for (int64_t index = 0; index < pieces.getCount(); ++index) {
    own.push_back(viewRows(shard, pieces.getBegin(index), pieces.getSize(index),
                           blocked.width));
    for (int64_t step = 1; step < numMembers; ++step)
      if (takeError(collective->transfer->send(
              (collective->position + step) % numMembers, own.back())))
        return true;
  }
  for (int64_t index = 0; index < pieces.getCount(); ++index)
    if (!consume(collective->position, index, own[index]))
      return true;
  SmallVector<int64_t> numArrived(numMembers, 0);
  for (int64_t left = (numMembers - 1) * pieces.getCount(); left > 0; --left) {
    llvm::Expected<Transfer::Arrival> arrival = collective->transfer->receive();
    if (!arrival) {
      takeError(arrival.takeError());
      return true;
    }
    if (!consume(arrival->position, numArrived[arrival->position]++,
                 arrival->tensor))
      return true;
  }
  takeError(collective->transfer->finish());
  return true;
}

//===----------------------------------------------------------------------===//
// tp.matmul_reduce_scatter
//===----------------------------------------------------------------------===//

bool FloatAlgebra::multiplyAndScatter(tp::MatmulReduceScatterOp op,
                                      ArrayRef<AlgebraValue> operands,
                                      SmallVectorImpl<AlgebraValue> &results) {
  unsigned next = 2;
  AlgebraValue biasValue = op.getBias() ? operands[next++] : AlgebraValue();
  AlgebraValue lhsScale = op.getLhsScale() ? operands[next++] : AlgebraValue();
  AlgebraValue rhsScale = op.getRhsScale() ? operands[next] : AlgebraValue();
  auto lhs = std::static_pointer_cast<const Tensor>(operands[0]);
  auto rhs = std::static_pointer_cast<const Tensor>(operands[1]);
  Type type =
      llvm::cast<RankedTensorType>(op.getResult().getType()).getElementType();
  Type compute = getComputeType(type);
  auto axis = static_cast<int64_t>(op.getScatterAxis());
  int64_t numMembers = op.getGroup().getSize();
  bool scattersColumns = axis + 1 == lhs->getRank();
  const Tensor *bias = nullptr;
  if (biasValue) {
    bias = getRowBias(biasValue, rhs->getSizes()[1]);
    if (!bias)
      return false;
  }
  SmallVector<int64_t> sizes(lhs->getSizes());
  sizes.back() = rhs->getSizes()[1];
  if (lhs->getSizes().back() != rhs->getSizes()[0] ||
      sizes[axis] % numMembers != 0) {
    fail("the product of matrices of sizes " + formatSizes(lhs->getSizes()) +
         " and " + formatSizes(rhs->getSizes()) +
         " is invalid or cannot be split along dim " + std::to_string(axis) +
         " into " + std::to_string(numMembers) + " equal blocks");
    return true;
  }
  sizes[axis] /= numMembers;
  lhs = lhsScale ? scaled(lhs, lhsScale, compute) : toProductType(lhs);
  rhs = rhsScale ? scaled(rhs, rhsScale, compute) : toProductType(rhs);

  // The rows of lhs that produce one block; all rows, for blocks of columns.
  SmallVector<int64_t> lhsBlock(lhs->getSizes());
  if (!scattersColumns)
    lhsBlock[axis] /= numMembers;
  BlockedRows blocked(lhsBlock, scattersColumns ? 0 : axis,
                      scattersColumns ? 1 : numMembers);
  int64_t columns = sizes.back();
  Pieces pieces(blocked.getNumRows(),
                columns * runtime::getNumBytes(*getElementKind(type)),
                numMembers, Pieces::Small::First);
  // This rank's summand, to which those of the other ranks are added.
  std::shared_ptr<Tensor> result = Tensor::allocate(sizes, type);
  results.push_back(result);
  std::shared_ptr<Tensor> ownRows =
      viewRows(*result, 0, blocked.getNumRows(), columns);

  std::optional<Collective> collective = startCollective(
      op, op.getGroup(), asTensor(operands[0]), type, pieces.getCount());
  if (!collective)
    return true;
  SharedPacking packing{blocked.getNumRows() * blocked.members, nullptr};
  for (int64_t step = 1; step <= numMembers; ++step) {
    size_t position = (collective->position + step) % numMembers;
    TensorValue right = rhs;
    TensorValue blockBias;
    if (scattersColumns) {
      right =
          gatherStrided(*rhs, tp::getSliceView(rhs->getSizes(), 1,
                                               position * columns, 1, columns));
      packing.packed = nullptr;
      if (bias)
        blockBias = viewRows(*bias, position, 1, columns);
    }
    auto multiplyRows = [&](int64_t begin, int64_t end, Tensor &rows) {
      TensorValue left =
          readRows(*lhs, blocked, scattersColumns ? 0 : position, begin, end);
      std::string message;
      if (multiplyMatricesInto({*left}, {*right, false, &packing},
                               blockBias ? blockBias.get() : bias, rows,
                               message))
        return true;
      fail(std::move(message));
      return false;
    };
    if (position == collective->position) {
      // This rank's own rows need no pieces, because they are not sent.
      if (!multiplyRows(0, pieces.getEnd(pieces.getCount() - 1), *ownRows))
        return true;
      break;
    }
    for (int64_t index = 0; index < pieces.getCount(); ++index) {
      std::shared_ptr<Tensor> rows =
          Tensor::allocate({pieces.getSize(index), columns}, type);
      if (!multiplyRows(pieces.getBegin(index), pieces.getEnd(index), *rows) ||
          takeError(collective->transfer->send(position, rows)))
        return true;
    }
  }

  // By piece: the summands of the other ranks, and how many have arrived.
  std::vector<SmallVector<TensorValue>> partial(
      pieces.getCount(), SmallVector<TensorValue>(numMembers));
  SmallVector<int64_t> numThere(pieces.getCount(), 0);
  auto add = [&](int64_t index, size_t position, TensorValue rows) {
    if (rows->getSizes() != ArrayRef<int64_t>{pieces.getSize(index), columns}) {
      fail("the rank at position " + std::to_string(position) +
           " of the group sent rows of sizes " + formatSizes(rows->getSizes()) +
           ", unlike this rank's");
      return false;
    }
    partial[index][position] = std::move(rows);
    if (++numThere[index] < numMembers - 1)
      return true;
    // Accumulate in place, element by element.
    std::shared_ptr<Tensor> target = viewRows(*result, pieces.getBegin(index),
                                              pieces.getSize(index), columns);
    partial[index][collective->position] = target;
    SmallVector<const Tensor *> parts;
    for (const TensorValue &part : partial[index])
      parts.push_back(part.get());
    combineTensorsInto(op.getReduction(), parts, *target);
    partial[index].clear();
    return true;
  };
  SmallVector<int64_t> numArrived(numMembers, 0);
  for (int64_t left = (numMembers - 1) * pieces.getCount(); left > 0; --left) {
    llvm::Expected<Transfer::Arrival> arrival = collective->transfer->receive();
    if (!arrival) {
      takeError(arrival.takeError());
      return true;
    }
    if (!add(numArrived[arrival->position]++, arrival->position,
             std::move(arrival->tensor)))
      return true;
  }
  takeError(collective->transfer->finish());
  return true;
}
