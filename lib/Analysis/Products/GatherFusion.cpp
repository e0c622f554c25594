//===- GatherFusion.cpp - all_gathers that go with products -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/CollectivePieces.h"
#include "Products/ProductRules.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/NodeName.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::getTensor;

namespace {

class GatheredProductSearch {
public:
  GatheredProductSearch(tp::AllGatherOp gather, FusionContext &context,
                        SmallVectorImpl<Refusal> &refusals)
      : context(context), refusals(refusals) {
    fusion.gather = gather;
    setAxis(static_cast<int64_t>(gather.getGatherAxis()));
  }

  Legal<GatherFusion> run();

private:
  Refusal refuse(RefusalCode code, std::string reason) {
    return {fusion.gather, code, std::move(reason)};
  }
  void refuseProduct(tp::MatmulOp product, Refusal refusal) {
    refusal.op = product;
    refusals.push_back(std::move(refusal));
    fusion.returnsGathered = true;
  }
  void setAxis(int64_t axis) {
    fusion.axis = axis;
    fusion.contracts =
        axis + 1 == getTensor(fusion.gather.getInput()).getRank();
  }
  using MovedOps = llvm::SmallSetVector<Operation *, 8>;

  /// Finds the users of the gathered value, or of its reassembled pieces if
  /// only those are used.
  void findReaders();
  /// Says why no product uses the gathered value.
  std::string describeUsers() const;
  /// Whether the products can use the pieces.
  Legal<> checkPieces();
  /// Sorts the readers of the gathered value, or of a reshape of it, into
  /// products and others.
  void visitReaders(Value value);
  void visitProduct(tp::MatmulOp matmul, Value value);
  Legal<> checkProduct(const GatheredProduct &product);
  /// The scale of the shard whose gathered form is `scale`; null for none.
  Value findShardScale(Value scale);
  /// Collects the ops that must move before the fused op so that it can use
  /// `value`. Refuses if one of them cannot move.
  Legal<> hoist(Value value, MovedOps &moved);

  FusionContext &context;
  SmallVectorImpl<Refusal> &refusals;
  GatherFusion fusion;
};

} // namespace

void GatheredProductSearch::visitProduct(tp::MatmulOp matmul, Value value) {
  GatheredProduct product{matmul, matmul.getLhs() != value};
  if (Legal<> legal = checkProduct(product); !legal)
    refuseProduct(matmul, std::move(legal.getRefusal()));
  else
    fusion.products.push_back(product);
}

Legal<> GatheredProductSearch::checkProduct(const GatheredProduct &product) {
  tp::MatmulOp matmul = product.matmul;
  if (matmul.getLhs() == matmul.getRhs())
    return refuse(RefusalCode::Dependence,
                  "it multiplies the gathered value by itself");
  if (product.isRightOperand) {
    if (getTensor(matmul.getRhs()).getRank() != 2 ||
        getTensor(matmul.getLhs()).getRank() != 2)
      return refuse(
          RefusalCode::Batched,
          "the gathered value is the right operand of a batched product");
    if (matmul.getLhsScale() || matmul.getRhsScale())
      return refuse(
          RefusalCode::Scaled,
          "the gathered value is the right operand of a scaled product");
    return checkRowProduct(matmul);
  }
  if (matmul.getTransposeLhs())
    return refuse(RefusalCode::Transposed,
                  "it transposes the gathered value, its left operand");
  if (Legal<> legal = checkRowProduct(matmul); !legal)
    return legal;
  if (Value scale = matmul.getLhsScale()) {
    if (fusion.contracts)
      return refuse(RefusalCode::Scaled,
                    "a scaled product cannot be fused with a gather along the "
                    "contraction dimension");
    if (!findShardScale(scale)) {
      if (tp::hasOneElement(getTensor(scale)))
        return refuse(RefusalCode::Vocabulary,
                      "PyTorch would take its scale of one element for the "
                      "scale of a shard of one row");
      return refuse(
          RefusalCode::Scaled,
          "its row-wise scale is not gathered the same way as its rows");
    }
  }
  return {};
}

/// Whether PyTorch would take a scale of one element for that of the shard's
/// one row, and gather it: where it has the shard's leading sizes, which are
/// all 1.
static bool isScaleOfOneRow(Value scale, RankedTensorType shard) {
  return getTensor(scale).getRank() > 0 &&
         llvm::all_of(shard.getShape().drop_back(),
                      [](int64_t size) { return size == 1; });
}

Value GatheredProductSearch::findShardScale(Value scale) {
  int64_t axis = fusion.axis;
  RankedTensorType shard = getTensor(fusion.gather.getInput());
  if (tp::hasOneElement(getTensor(scale)))
    return isScaleOfOneRow(scale, shard) ? Value() : scale;
  while (Operation *definition = scale.getDefiningOp()) {
    if (auto gather = dyn_cast<tp::AllGatherOp>(definition)) {
      RankedTensorType input = getTensor(gather.getInput());
      bool fits =
          gather.getGroup().hasSameMembers(fusion.gather.getGroup()) &&
          static_cast<int64_t>(gather.getGatherAxis()) == axis &&
          input.getRank() == shard.getRank() &&
          input.getShape().drop_back() == shard.getShape().drop_back() &&
          input.getShape().back() == 1 && !input.isDynamicDim(axis);
      return fits ? gather.getInput() : Value();
    }
    if (!isa<tp::CompletionOpInterface, tp::ReshapeOp>(definition) ||
        !haveSameLastDim(definition->getOperand(0), scale))
      return Value();
    scale = definition->getOperand(0);
  }
  return Value();
}

void GatheredProductSearch::visitReaders(Value value) {
  // Users nested in regions of other ops need the gathered value itself.
  SmallVector<Operation *> users;
  for (Operation *user : value.getUsers())
    if (user->getBlock() == fusion.gather->getBlock())
      users.push_back(user);
    else
      fusion.returnsGathered = true;
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  users.erase(llvm::unique(users), users.end());
  for (Operation *user : users) {
    if (auto matmul = dyn_cast<tp::MatmulOp>(user);
        matmul && (matmul.getLhs() == value || matmul.getRhs() == value) &&
        matmul.getBias() != value) {
      visitProduct(matmul, value);
      continue;
    }
    if (auto reshape = dyn_cast<tp::ReshapeOp>(user);
        reshape && haveSameLastDim(reshape.getResult(), value)) {
      visitReaders(reshape.getResult());
      continue;
    }
    fusion.returnsGathered = true;
  }
}

Legal<> GatheredProductSearch::hoist(Value value, MovedOps &moved) {
  Operation *op = value.getDefiningOp();
  if (!op || op->isBeforeInBlock(fusion.position) || moved.contains(op))
    return {};
  if (moved.size() > maxOps)
    return refuse(RefusalCode::Limit,
                  "more than " + std::to_string(maxOps) +
                      " ops that it depends on come after the first user of "
                      "the gathered value");
  if (!isMemoryEffectFree(op) || isa<tp::CollectiveOpInterface>(op))
    return refuse(RefusalCode::Dependence,
                  "it depends on " + getNodeName(op) +
                      ", which cannot be moved before the first user of the "
                      "gathered value");
  for (Value operand : op->getOperands()) {
    if (llvm::is_contained(fusion.gathered, operand))
      return refuse(RefusalCode::Dependence,
                    "its other operand depends on the gathered value");
    if (Legal<> legal = hoist(operand, moved); !legal)
      return legal;
  }
  moved.insert(op);
  return {};
}

void GatheredProductSearch::findReaders() {
  fusion.position = nullptr;
  fusion.returnsGathered = false;
  // Find the first user of any gathered value.
  for (Value value : fusion.gathered)
    for (Operation *user : value.getUsers()) {
      Operation *reader =
          fusion.gather->getBlock()->findAncestorOpInBlock(*user);
      if (!fusion.position || reader->isBeforeInBlock(fusion.position))
        fusion.position = reader;
    }
  for (Value value : fusion.gathered)
    visitReaders(value);
}

Legal<> GatheredProductSearch::checkPieces() {
  for (const GatheredProduct &product : fusion.products)
    if (product.isRightOperand)
      return refuse(RefusalCode::Layout,
                    getNodeName(product.matmul) +
                        " uses the rearranged shards as its right operand");
  if (fusion.products.front().matmul.getLhsScale())
    return refuse(RefusalCode::Scaled,
                  "its shards are rearranged, and the row-wise scales cannot "
                  "be proven to be rearranged the same way");
  if (!fusion.contracts)
    return {};
  // a[:, p] @ b = a @ b', with the rows of b in the order that undoes p.
  int64_t extent = getTensor(fusion.gather.getInput()).getDimSize(fusion.axis);
  SmallVector<PieceRange> sorted(fusion.pieces);
  llvm::sort(sorted, [](const PieceRange &a, const PieceRange &b) {
    return a.begin < b.begin;
  });
  std::string which =
      getNodeName(fusion.products.front().matmul) + " sums over " +
      getNodeName(fusion.gathered.front().getDefiningOp()) + ", which ";
  int64_t end = 0;
  for (const PieceRange &piece : sorted) {
    if (piece.begin < end)
      return refuse(
          RefusalCode::Duplicate,
          which + "takes " + std::to_string(piece.begin) + " to " +
              std::to_string(std::min(end, piece.end)) +
              " of the gathered dim more than once; fusing would first add "
              "rows of the other operand, which rounds differently");
    if (piece.begin > end)
      break;
    end = piece.end;
  }
  int64_t whole = extent * fusion.gather.getGroup().getSize();
  if (end == whole)
    return {};
  return refuse(
      RefusalCode::Gap,
      which + "omits part of the gathered dim, from position " +
          std::to_string(end) + " of " + std::to_string(whole) +
          "; fusing would multiply the omitted elements by zero, which is not "
          "zero for infinities and NaNs");
}

std::string GatheredProductSearch::describeUsers() const {
  SmallVector<Value> values = fusion.gathered;
  // Products of matrices flatten what has more dims.
  for (size_t index = 0; index < values.size(); ++index)
    for (Operation *user : values[index].getUsers()) {
      if (auto reshape = dyn_cast<tp::ReshapeOp>(user))
        values.push_back(reshape.getResult());
      if (auto limitation =
              user->getAttrOfType<StringAttr>(tp::limitationAttrName))
        return getNodeName(user) +
               " uses its result: " + limitation.getValue().str();
    }
  return "no matrix product uses its result";
}

Legal<GatherFusion> GatheredProductSearch::run() {
  tp::AllGatherOp gather = fusion.gather;
  if (Legal<> named = checkProcessGroup(gather, gather.getGroup()); !named)
    return named.getRefusal();
  if (getTensor(gather.getInput()).getRank() < 2)
    return refuse(RefusalCode::NoProduct, "its operand has fewer than 2 dims");
  if (gather.getAsync()) {
    for (Operation *user : gather.getResult().getUsers()) {
      if (isa<tp::CompletionOpInterface>(user)) {
        fusion.gathered.push_back(user->getResult(0));
        continue;
      }
      return refuse(RefusalCode::OtherUsers,
                    getNodeName(user) + " uses the result before the wait");
    }
  } else {
    fusion.gathered.push_back(gather.getResult());
  }
  findReaders();
  Refusal piecesRefusal;
  if (fusion.products.empty() && refusals.empty()) {
    if (Legal<CollectivePieces> pieces = findGatheredPieces(gather)) {
      fusion.gathered = {pieces->value};
      fusion.pieces = std::move(pieces->ranges);
      fusion.reassembly = std::move(pieces->ops);
      setAxis(pieces->axis);
      findReaders();
      if (!fusion.products.empty())
        if (Legal<> legal = checkPieces(); !legal)
          return std::move(legal.getRefusal());
    } else {
      piecesRefusal = std::move(pieces.getRefusal());
    }
  }
  if (fusion.products.empty()) {
    // Refused products already have a reason of their own.
    if (!refusals.empty())
      return Refusal();
    if (piecesRefusal.isApplicable())
      return piecesRefusal;
    return refuse(RefusalCode::NoProduct, describeUsers());
  }
  if (context.writesBetween(gather, fusion.position))
    return refuse(RefusalCode::MemoryWrite,
                  "an op between it and its first user writes to memory");

  // All fused products must use the same orientation; gather the shard
  // untransposed if any product can use it that way.
  auto isFlipped = [](GatheredProduct product) {
    return product.isRightOperand && !product.matmul.getTransposeRhs();
  };
  fusion.transposesShard = llvm::all_of(fusion.products, isFlipped);
  if (fusion.transposesShard) {
    // The transposed operand is the matrix of all rows, in which the rows of
    // one rank must be contiguous. A value with several row dims must therefore
    // be gathered along the columns or along its outermost dim.
    RankedTensorType shard = getTensor(gather.getInput());
    bool gathersColumns = fusion.axis + 1 == shard.getRank();
    if (!gathersColumns &&
        llvm::any_of(shard.getShape().take_front(fusion.axis),
                     [](int64_t size) { return size != 1; }))
      return refuse(RefusalCode::Contraction,
                    getNodeName(fusion.products.front().matmul) +
                        " sums over the gathered rows, and the rows of one "
                        "rank are not contiguous: the gather is along dim " +
                        std::to_string(fusion.axis) + " of " +
                        std::to_string(shard.getRank()));
    fusion.contracts = !gathersColumns;
  }
  llvm::erase_if(fusion.products, [&](const GatheredProduct &product) {
    if (isFlipped(product) == fusion.transposesShard)
      return false;
    refuseProduct(product.matmul,
                  refuse(RefusalCode::Contraction,
                         "it sums over a different dim of the gathered value "
                         "than the other products"));
    return true;
  });

  // All fused products must share the scale of the first one.
  Value scale = fusion.products.front().matmul.getLhsScale();
  MovedOps moved;
  llvm::erase_if(fusion.products, [&](const GatheredProduct &product) {
    tp::MatmulOp matmul = product.matmul;
    Legal<> legal;
    if (matmul.getLhsScale() != scale)
      legal = refuse(RefusalCode::Scaled,
                     "it scales the gathered value differently than " +
                         getNodeName(fusion.products.front().matmul));
    MovedOps needed = moved;
    SmallVector<Value> operands = {
        product.isRightOperand ? matmul.getLhs() : getRightMatrix(matmul)};
    if (matmul.getRhsScale())
      operands.push_back(matmul.getRhsScale());
    for (Value operand : operands)
      if (legal)
        legal = llvm::is_contained(fusion.gathered, operand)
                    ? refuse(RefusalCode::Dependence,
                             "it multiplies the gathered value by itself")
                    : hoist(operand, needed);
    if (legal) {
      moved = std::move(needed);
      return false;
    }
    refuseProduct(matmul, std::move(legal.getRefusal()));
    return true;
  });
  if (fusion.products.empty())
    return Refusal();
  if (scale) {
    fusion.shardScale = findShardScale(scale);
    if (!hoist(fusion.shardScale, moved))
      return refuse(RefusalCode::Dependence,
                    "its row-wise scale cannot be moved before the first user "
                    "of the gathered value");
  }
  if (fusion.contracts && fusion.returnsGathered)
    return refuse(RefusalCode::OtherUsers,
                  "it gathers along the contraction dimension, and the "
                  "gathered value has other users");
  fusion.hoisted.assign(moved.begin(), moved.end());
  llvm::sort(fusion.hoisted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return std::move(fusion);
}

Legal<GatherFusion>
analysis::findGatherFusion(tp::AllGatherOp gather, FusionContext &context,
                           SmallVectorImpl<Refusal> &products) {
  return GatheredProductSearch(gather, context, products).run();
}
