//===- PipelineFusion.cpp - collectives that go with products ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/PipelineFusion.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// More ops are not moved, and more products not joined, for one collective:
/// what is asked of each stays bounded.
static constexpr unsigned maxOps = 256;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// "'mm_1'", or what kind of op it is.
static std::string getName(Operation *op) {
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    return "'" + name.getName().str() + "'";
  return op->getName().getStringRef().str();
}

//===----------------------------------------------------------------------===//
// FusionContext
//===----------------------------------------------------------------------===//

FusionContext::FusionContext(func::FuncOp function) {
  for (auto [position, op] :
       llvm::enumerate(function.getBody().front().getOperations())) {
    positions[&op] = position;
    auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
    if (dense && llvm::any_of(op.getOpOperands(), [&](OpOperand &operand) {
          return dense.writesInto(operand);
        }))
      writers.push_back(position);
  }
}

bool FusionContext::writesBetween(Operation *first, Operation *last) const {
  const auto *writer = llvm::upper_bound(writers, getPosition(first));
  return writer != writers.end() && *writer < getPosition(last);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value analysis::getRightMatrix(tp::MatmulOp matmul) {
  Value matrix = matmul.getRhs();
  auto isOneMatrix = [](Value value) {
    return llvm::all_of(getTensor(value).getShape().drop_back(2),
                        [](int64_t size) { return size == 1; });
  };
  while (!isOneMatrix(matrix)) {
    Operation *definition = matrix.getDefiningOp();
    if (!isa_and_present<tp::BroadcastOp, tp::ReshapeOp>(definition))
      return Value();
    Value input = definition->getOperand(0);
    // The same matrix for every batch, under the same sizes.
    ArrayRef<int64_t> inner = getTensor(input).getShape().take_back(2);
    if (inner != getTensor(matrix).getShape().take_back(2) ||
        llvm::any_of(inner, ShapedType::isDynamic))
      return Value();
    if (isa<tp::ReshapeOp>(definition) && !isOneMatrix(input) &&
        getTensor(input).getShape() != getTensor(matrix).getShape())
      return Value();
    matrix = input;
  }
  return matrix;
}

/// Whether two tensors have the same last dim. A reshape that keeps it only
/// regroups the rows.
static bool haveSameLastDim(Value a, Value b) {
  RankedTensorType x = getTensor(a), y = getTensor(b);
  if (x.hasStaticShape() && y.hasStaticShape())
    return x.getRank() > 0 && y.getRank() > 0 &&
           x.getShape().back() == y.getShape().back();
  tp::SymbolSpace symbols(a.getContext());
  return x.getRank() > 0 && y.getRank() > 0 &&
         symbols.getSizes(x).back() == symbols.getSizes(y).back();
}

/// Why a product cannot take its left rows one by one; empty where it can.
static std::string findProductProblem(tp::MatmulOp matmul) {
  if (!getRightMatrix(matmul))
    return "every batch is multiplied with a matrix of its own";
  Type element = getTensor(matmul.getLhs()).getElementType();
  if (!matmul.getLhsScale() &&
      (getTensor(matmul.getRhs()).getElementType() != element ||
       getTensor(matmul.getResult()).getElementType() != element))
    return "its operands and result are not of one type";
  if (bool(matmul.getLhsScale()) != bool(matmul.getRhsScale()))
    return "only one of its operands has a scale";
  return "";
}

//===----------------------------------------------------------------------===//
// All-gather
//===----------------------------------------------------------------------===//

namespace {

class GatherSearch {
public:
  GatherSearch(tp::AllGatherOp gather, const FusionContext &context,
               SmallVectorImpl<FusionRefusal> &refusals)
      : context(context), refusals(refusals) {
    fusion.gather = gather;
    fusion.contracts = static_cast<int64_t>(gather.getGatherAxis()) + 1 ==
                       getTensor(gather.getInput()).getRank();
  }

  std::optional<GatherFusion> run();

private:
  void refuse(Operation *op, std::string reason) {
    refusals.push_back({op, std::move(reason)});
  }
  /// Sorts the readers of the gathered value, or of a reshape of it, into
  /// products and others.
  void visitReaders(Value value);
  void visitProduct(tp::MatmulOp matmul, Value value);
  std::string findProblem(const GatheredProduct &product);
  /// The scale of the shard whose gathered form is `scale`; null for none.
  Value findShardScale(Value scale);
  /// Collects what has to be moved in front of the fused op for it to read
  /// `value`; a reason where something must not.
  std::string hoist(Value value, llvm::SetVector<Operation *> &moved);

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
    if (!findShardScale(scale))
      return "the scale of its rows is not gathered along with them";
  }
  return "";
}

Value GatherSearch::findShardScale(Value scale) {
  RankedTensorType type = getTensor(scale);
  int64_t elements = type.hasStaticShape() ? type.getNumElements() : 0;
  int64_t axis = fusion.gather.getGatherAxis();
  RankedTensorType shard = getTensor(fusion.gather.getInput());
  // With one row a rank, one element could as well be one a row.
  if (elements == 1)
    return shard.getDimSize(axis) == 1 ? Value() : scale;
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
    if (!isa<tp::WaitOp, tp::ReshapeOp>(definition) ||
        !haveSameLastDim(definition->getOperand(0), scale))
      return Value();
    scale = definition->getOperand(0);
  }
  return Value();
}

void GatherSearch::visitReaders(Value value) {
  SmallVector<Operation *> users(value.getUsers());
  llvm::sort(users, [&](Operation *a, Operation *b) {
    return context.getPosition(a) < context.getPosition(b);
  });
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

std::string GatherSearch::hoist(Value value,
                                llvm::SetVector<Operation *> &moved) {
  Operation *op = value.getDefiningOp();
  unsigned position = context.getPosition(fusion.position);
  if (!op || context.getPosition(op) < position || moved.contains(op))
    return "";
  if (moved.size() > maxOps)
    return "what it needs comes too long after the gathered value";
  if (!isMemoryEffectFree(op) || isa<tp::CollectiveOpInterface>(op))
    return getName(op) + ", which it needs, comes after the gathered value";
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
      if (auto wait = dyn_cast<tp::WaitOp>(user)) {
        fusion.gathered.push_back(wait.getResult());
        continue;
      }
      refuse(gather, getName(user) + " reads it before it is waited for");
      return std::nullopt;
    }
  } else {
    fusion.gathered.push_back(gather.getResult());
  }
  // The first reader of all.
  for (Value value : fusion.gathered)
    for (Operation *user : value.getUsers())
      if (!fusion.position ||
          context.getPosition(user) < context.getPosition(fusion.position))
        fusion.position = user;
  for (Value value : fusion.gathered)
    visitReaders(value);
  if (fusion.products.empty()) {
    // Refused products have said why.
    if (llvm::none_of(refusals, [&](const FusionRefusal &refusal) {
          return isa<tp::MatmulOp>(refusal.op);
        }))
      refuse(gather, "no matrix product reads it");
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
  if (fusion.transposesShard)
    fusion.contracts = gather.getGatherAxis() == 0;
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
  llvm::SetVector<Operation *> moved;
  llvm::erase_if(fusion.products, [&](const GatheredProduct &product) {
    tp::MatmulOp matmul = product.matmul;
    std::string problem;
    if (matmul.getLhsScale() != scale)
      problem = "it scales the gathered value in another way than " +
                getName(fusion.products.front().matmul);
    llvm::SetVector<Operation *> needed = moved;
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
  llvm::sort(fusion.hoisted, [&](Operation *a, Operation *b) {
    return context.getPosition(a) < context.getPosition(b);
  });
  return std::move(fusion);
}

std::optional<GatherFusion>
analysis::findGatherFusion(tp::AllGatherOp gather, const FusionContext &context,
                           SmallVectorImpl<FusionRefusal> &refusals) {
  return GatherSearch(gather, context, refusals).run();
}

//===----------------------------------------------------------------------===//
// Reduce-scatter
//===----------------------------------------------------------------------===//

/// The products that a value sums, or why it is no such sum.
static std::string collectProducts(Value value,
                                   SmallVectorImpl<tp::MatmulOp> &products) {
  while (true) {
    Operation *definition = value.getDefiningOp();
    if (!definition)
      return "it scatters an input of the graph";
    if (products.size() > maxOps)
      return "it scatters a sum of too many products";
    if (!value.hasOneUse())
      return getName(definition) + ", which it scatters, has other readers";
    if (auto matmul = dyn_cast<tp::MatmulOp>(definition)) {
      std::string problem = findProductProblem(matmul);
      if (!problem.empty())
        return getName(definition) +
               ", which it scatters, does not fit: " + problem;
      products.push_back(matmul);
      return "";
    }
    if (auto reshape = dyn_cast<tp::ReshapeOp>(definition);
        reshape && haveSameLastDim(reshape.getInput(), value)) {
      value = reshape.getInput();
      continue;
    }
    auto sum = dyn_cast<tp::MapOp>(definition);
    if (!sum || sum.getFunction() != tp::MapFunction::Add)
      return getName(definition) + ", which it scatters, is no matrix product";
    for (Value operand : sum.getOperands()) {
      if (operand.getType() != value.getType())
        return getName(definition) +
               ", which it scatters, is not a sum of equal shapes";
      std::string problem = collectProducts(operand, products);
      if (!problem.empty())
        return problem;
    }
    return "";
  }
}

std::optional<ScatterFusion>
analysis::findScatterFusion(tp::ReduceScatterOp scatter,
                            const FusionContext &context,
                            SmallVectorImpl<FusionRefusal> &refusals) {
  ScatterFusion fusion;
  fusion.scatter = scatter;
  auto refuse = [&](std::string reason) {
    refusals.push_back({scatter, std::move(reason)});
    return std::nullopt;
  };
  if (scatter.getGroup().getName().empty())
    return refuse("its group has no name, and only the collectives of named "
                  "groups have fused forms");
  if (scatter.getReduction() != tp::ReductionKind::Sum &&
      scatter.getReduction() != tp::ReductionKind::Avg)
    return refuse("matrix products go with sums and averages, not with " +
                  tp::stringifyReductionKind(scatter.getReduction()).str());
  if (getTensor(scatter.getInput()).getRank() < 2)
    return refuse("a value of one dim is not a matrix");
  std::string problem = collectProducts(scatter.getInput(), fusion.products);
  if (!problem.empty())
    return refuse(std::move(problem));
  bool scattersColumns = static_cast<int64_t>(scatter.getScatterAxis()) + 1 ==
                         getTensor(scatter.getInput()).getRank();
  for (tp::MatmulOp product : fusion.products) {
    if (scattersColumns && product.getLhsScale())
      return refuse("the scales of its product do not go with a scatter of "
                    "columns");
    if (Value bias = product.getBias();
        bias && llvm::any_of(getTensor(bias).getShape().drop_back(),
                             [](int64_t size) { return size != 1; }))
      return refuse("its product has a bias for every row");
    if (fusion.products.size() > 1 &&
        (product.getBias() || product.getLhsScale()))
      return refuse("one of the products it sums has a bias or scales");
    if (fusion.products.size() > 1 &&
        (getTensor(product.getLhs()).getRank() != 2 ||
         getTensor(product.getRhs()).getRank() != 2))
      return refuse("one of the products it sums has batch dims");
    if (context.writesBetween(product, scatter))
      return refuse("an op between it and its product writes into memory");
    if (product.getTransposeLhs() && getTensor(product.getLhs()).getRank() != 2)
      return refuse("its product reads batches transposed");
  }
  return fusion;
}

//===----------------------------------------------------------------------===//
// What would be fused
//===----------------------------------------------------------------------===//

/// Adds the products that read a value row by row; false where anything else
/// reads it.
static bool addRowProducts(Value value, SmallVectorImpl<tp::MatmulOp> &found) {
  for (Operation *user : value.getUsers()) {
    if (found.size() > maxOps)
      return false;
    if (auto reshape = dyn_cast<tp::ReshapeOp>(user);
        reshape && haveSameLastDim(reshape.getResult(), value)) {
      if (!addRowProducts(reshape.getResult(), found))
        return false;
      continue;
    }
    auto matmul = dyn_cast<tp::MatmulOp>(user);
    if (!matmul || matmul.getLhs() != value || matmul.getRhs() == value ||
        matmul.getBias() == value || matmul.getTransposeLhs() ||
        matmul.getLhsScale() || !findProductProblem(matmul).empty())
      return false;
    found.push_back(matmul);
  }
  return true;
}

SmallVector<tp::MatmulOp> analysis::findGatherableProducts(Value value,
                                                           unsigned dim) {
  SmallVector<tp::MatmulOp> found;
  bool isRow = dim + 1 < getTensor(value).getRank();
  if (!isRow || !addRowProducts(value, found))
    found.clear();
  return found;
}

SmallVector<tp::MatmulOp> analysis::findScatterableProducts(Value value) {
  SmallVector<tp::MatmulOp> found;
  if (!collectProducts(value, found).empty() || found.size() > 1 ||
      found.front().getBias())
    found.clear();
  return found;
}
