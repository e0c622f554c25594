//===- GatherFusion.cpp - all_gathers that go with products -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectivePieces.h"
#include "ProductRules.h"

#include "commute/Analysis/NodeName.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

class GatherSearch {
public:
  GatherSearch(tp::AllGatherOp gather, const FusionContext &context,
               SmallVectorImpl<FusionRefusal> &refusals)
      : context(context), refusals(refusals) {
    fusion.gather = gather;
    setAxis(static_cast<int64_t>(gather.getGatherAxis()));
  }

  std::optional<GatherFusion> run();

private:
  void refuse(Operation *op, std::string reason) {
    refusals.push_back({op, std::move(reason)});
  }
  void setAxis(int64_t axis) {
    fusion.axis = axis;
    fusion.contracts =
        axis + 1 == getTensor(fusion.gather.getInput()).getRank();
  }
  using MovedOps = llvm::SmallSetVector<Operation *, 8>;

  /// The readers of the gathered value, or, where it is only read as pieces
  /// that are put together otherwise, of those.
  void findReaders();
  /// Why products cannot read the pieces; empty where they can.
  std::string findPiecesProblem();
  /// Sorts the readers of the gathered value, or of a reshape of it, into
  /// products and others.
  void visitReaders(Value value);
  void visitProduct(tp::MatmulOp matmul, Value value);
  std::string findProblem(const GatheredProduct &product);
  /// The scale of the shard whose gathered form is `scale`; null for none.
  Value findShardScale(Value scale);
  /// Collects what has to be moved in front of the fused op for it to read
  /// `value`; a reason where something must not.
  std::string hoist(Value value, MovedOps &moved);

  const FusionContext &context;
  SmallVectorImpl<FusionRefusal> &refusals;
  GatherFusion fusion;
};

} // namespace

void GatherSearch::visitProduct(tp::MatmulOp matmul, Value value) {
  GatheredProduct product{matmul, matmul.getLhs() != value};
  std::string problem = findProblem(product);
  if (problem.empty()) {
    fusion.products.push_back(product);
    return;
  }
  refuse(matmul, std::move(problem));
  fusion.returnsGathered = true;
}

std::string GatherSearch::findProblem(const GatheredProduct &product) {
  tp::MatmulOp matmul = product.matmul;
  if (matmul.getLhs() == matmul.getRhs())
    return "it multiplies the gathered value with itself";
  if (product.isRightOperand) {
    if (getTensor(matmul.getRhs()).getRank() != 2 ||
        getTensor(matmul.getLhs()).getRank() != 2)
      return "the gathered value is its right operand and has batch dims";
    if (matmul.getLhsScale() || matmul.getRhsScale())
      return "the gathered value is its right operand and has a scale";
    return findProductProblem(matmul);
  }
  if (matmul.getTransposeLhs())
    return "it reads the gathered value transposed on the left";
  std::string problem = findProductProblem(matmul);
  if (!problem.empty())
    return problem;
  if (Value scale = matmul.getLhsScale()) {
    if (fusion.contracts)
      return "its scales do not go with a gather along the contraction";
    if (!findShardScale(scale)) {
      if (tp::hasOneElement(getTensor(scale)))
        return "its scale of one element would be taken for that of a rank's "
               "one row";
      return "the scale of its rows is not gathered along with them";
    }
  }
  return "";
}

/// Whether PyTorch would take a scale of one element for that of the shard's
/// one row, and gather it: where it has the shard's leading sizes, which are
/// all 1.
static bool isScaleOfOneRow(Value scale, RankedTensorType shard) {
  return getTensor(scale).getRank() > 0 &&
         llvm::all_of(shard.getShape().drop_back(),
                      [](int64_t size) { return size == 1; });
}

Value GatherSearch::findShardScale(Value scale) {
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

void GatherSearch::visitReaders(Value value) {
  // Those in regions of other ops read it there.
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

std::string GatherSearch::hoist(Value value, MovedOps &moved) {
  Operation *op = value.getDefiningOp();
  if (!op || op->isBeforeInBlock(fusion.position) || moved.contains(op))
    return "";
  if (moved.size() > maxOps)
    return "what it needs comes too long after the gathered value";
  if (!isMemoryEffectFree(op) || isa<tp::CollectiveOpInterface>(op))
    return getNodeName(op) + ", which it needs, comes after the gathered value";
  for (Value operand : op->getOperands()) {
    if (llvm::is_contained(fusion.gathered, operand))
      return "its right operand is computed from the gathered value";
    std::string problem = hoist(operand, moved);
    if (!problem.empty())
      return problem;
  }
  moved.insert(op);
  return "";
}

void GatherSearch::findReaders() {
  fusion.position = nullptr;
  fusion.returnsGathered = false;
  // The first reader of all.
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

std::string GatherSearch::findPiecesProblem() {
  for (const GatheredProduct &product : fusion.products)
    if (product.isRightOperand)
      return getNodeName(product.matmul) +
             " reads its shards, rearranged, as its right operand";
  if (fusion.products.front().matmul.getLhsScale())
    return "its shards are rearranged, and the scales of its rows are not "
           "known "
           "to be rearranged alike";
  if (!fusion.contracts)
    return "";
  // a[:, p] @ b = a @ b', with the rows of b in the order that undoes p.
  int64_t extent = getTensor(fusion.gather.getInput()).getDimSize(fusion.axis);
  SmallVector<PieceRange> sorted(fusion.pieces);
  llvm::sort(sorted, [](const PieceRange &a, const PieceRange &b) {
    return a.begin < b.begin;
  });
  std::string which = getNodeName(fusion.gathered.front().getDefiningOp()) +
                      ", which " + getNodeName(fusion.products.front().matmul) +
                      " sums over, ";
  int64_t end = 0;
  for (const PieceRange &piece : sorted) {
    if (piece.begin < end)
      return which + "takes " + std::to_string(piece.begin) + " to " +
             std::to_string(std::min(end, piece.end)) +
             " of the gathered dim more than once: rows of the other operand "
             "would have to be added first, which rounds in another way";
    if (piece.begin > end)
      break;
    end = piece.end;
  }
  int64_t whole = extent * fusion.gather.getGroup().getSize();
  if (end == whole)
    return "";
  return which + "leaves out some of the gathered dim, from " +
         std::to_string(end) + " of " + std::to_string(whole) +
         " on: what is gathered there would have to be multiplied by zeros, "
         "which gives no zeros where it is not finite";
}

std::optional<GatherFusion> GatherSearch::run() {
  tp::AllGatherOp gather = fusion.gather;
  if (gather.getGroup().getName().empty()) {
    refuse(gather, "its group has no name, and only the collectives of named "
                   "groups have fused forms");
    return std::nullopt;
  }
  if (getTensor(gather.getInput()).getRank() < 2) {
    refuse(gather, "a value of one dim is not a matrix");
    return std::nullopt;
  }
  if (gather.getAsync()) {
    for (Operation *user : gather.getResult().getUsers()) {
      if (isa<tp::CompletionOpInterface>(user)) {
        fusion.gathered.push_back(user->getResult(0));
        continue;
      }
      refuse(gather, getNodeName(user) + " reads it before it is waited for");
      return std::nullopt;
    }
  } else {
    fusion.gathered.push_back(gather.getResult());
  }
  findReaders();
  std::string piecesProblem;
  if (fusion.products.empty() && refusals.empty())
    if (std::optional<CollectivePieces> pieces =
            findGatheredPieces(gather, piecesProblem)) {
      fusion.gathered = {pieces->value};
      fusion.pieces = std::move(pieces->ranges);
      fusion.reassembly = std::move(pieces->ops);
      setAxis(pieces->axis);
      findReaders();
      std::string problem = fusion.products.empty() ? "" : findPiecesProblem();
      if (!problem.empty()) {
        refuse(gather, std::move(problem));
        return std::nullopt;
      }
    }
  if (fusion.products.empty()) {
    // Refused products have said why.
    if (llvm::none_of(refusals, [&](const FusionRefusal &refusal) {
          return isa<tp::MatmulOp>(refusal.op);
        }))
      refuse(gather, piecesProblem.empty() ? "no matrix product reads it"
                                           : piecesProblem);
    return std::nullopt;
  }
  if (context.writesBetween(gather, fusion.position)) {
    refuse(gather, "an op between it and its first reader writes into memory");
    return std::nullopt;
  }

  // Rows of one orientation: as they lie, where any product takes them so.
  auto isFlipped = [](GatheredProduct product) {
    return product.isRightOperand && !product.matmul.getTransposeRhs();
  };
  fusion.transposesShard = llvm::all_of(fusion.products, isFlipped);
  if (fusion.transposesShard) {
    // Transposed is the matrix of all rows, of which a rank's have to be one
    // block: what has outer dims besides is gathered along the columns, or
    // along its outermost dim.
    RankedTensorType shard = getTensor(gather.getInput());
    bool gathersColumns = fusion.axis + 1 == shard.getRank();
    if (!gathersColumns &&
        llvm::any_of(shard.getShape().take_front(fusion.axis),
                     [](int64_t size) { return size != 1; })) {
      refuse(gather, getNodeName(fusion.products.front().matmul) +
                         " sums over its rows, of which a rank's are not one "
                         "block: it is gathered along dim " +
                         std::to_string(fusion.axis) + " of " +
                         std::to_string(shard.getRank()));
      return std::nullopt;
    }
    fusion.contracts = !gathersColumns;
  }
  llvm::erase_if(fusion.products, [&](const GatheredProduct &product) {
    if (isFlipped(product) == fusion.transposesShard)
      return false;
    refuse(product.matmul, "it sums over another dim of the gathered value "
                           "than other products");
    fusion.returnsGathered = true;
    return true;
  });

  // One scale for all: that of the first product.
  Value scale = fusion.products.front().matmul.getLhsScale();
  MovedOps moved;
  llvm::erase_if(fusion.products, [&](const GatheredProduct &product) {
    tp::MatmulOp matmul = product.matmul;
    std::string problem;
    if (matmul.getLhsScale() != scale)
      problem = "it scales the gathered value in another way than " +
                getNodeName(fusion.products.front().matmul);
    MovedOps needed = moved;
    SmallVector<Value> operands = {
        product.isRightOperand ? matmul.getLhs() : getRightMatrix(matmul)};
    if (matmul.getRhsScale())
      operands.push_back(matmul.getRhsScale());
    for (Value operand : operands)
      if (problem.empty())
        problem = llvm::is_contained(fusion.gathered, operand)
                      ? "it multiplies the gathered value with itself"
                      : hoist(operand, needed);
    if (problem.empty()) {
      moved = std::move(needed);
      return false;
    }
    refuse(matmul, std::move(problem));
    fusion.returnsGathered = true;
    return true;
  });
  if (fusion.products.empty())
    return std::nullopt;
  if (scale) {
    fusion.shardScale = findShardScale(scale);
    if (std::string problem = hoist(fusion.shardScale, moved);
        !problem.empty()) {
      refuse(gather, "the scale of its rows comes after the gathered value");
      return std::nullopt;
    }
  }
  if (fusion.contracts && fusion.returnsGathered) {
    refuse(gather, "it is gathered along the contraction, and others read the "
                   "gathered value");
    return std::nullopt;
  }
  fusion.hoisted.assign(moved.begin(), moved.end());
  llvm::sort(fusion.hoisted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return std::move(fusion);
}

std::optional<GatherFusion>
analysis::findGatherFusion(tp::AllGatherOp gather, const FusionContext &context,
                           SmallVectorImpl<FusionRefusal> &refusals) {
  return GatherSearch(gather, context, refusals).run();
}
