//===- PipelineFusion.cpp - collectives that go with products ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/CollectivePieces.h"
#include "Products/ProductRules.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/GroupSpelling.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::getTensor;

//===----------------------------------------------------------------------===//
// FusionContext
//===----------------------------------------------------------------------===//

bool FusionContext::isWriter(Operation *op) {
  auto [kind, isNew] = mayWrite.try_emplace(op->getName());
  if (isNew)
    kind->second = isa<tp::DenseOperandsOpInterface>(op);
  return kind->second &&
         cast<tp::DenseOperandsOpInterface>(op).writesIntoOperands();
}

bool FusionContext::writesBetween(Operation *first, Operation *last) {
  // Usually they are close.
  constexpr unsigned maxSteps = 16;
  Operation *op = first->getNextNode();
  for (unsigned step = 0; op && step < maxSteps; ++step) {
    if (op == last)
      return false;
    if (isWriter(op))
      return true;
    op = op->getNextNode();
  }
  if (!writers) {
    writers.emplace();
    for (Operation &each : function.getBody().front())
      if (isWriter(&each))
        writers->push_back(&each);
  }
  auto *const *writer =
      llvm::upper_bound(*writers, first, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
  return writer != writers->end() && (*writer)->isBeforeInBlock(last);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether a bias has other elements for some rows of a product than for
/// others; one without dims has the same for all.
static bool differsBetweenRows(Value bias) {
  ArrayRef<int64_t> sizes = getTensor(bias).getShape();
  return !sizes.empty() && llvm::any_of(sizes.drop_back(),
                                        [](int64_t size) { return size != 1; });
}

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

bool analysis::haveSameLastDim(Value a, Value b) {
  RankedTensorType x = getTensor(a), y = getTensor(b);
  if (x.hasStaticShape() && y.hasStaticShape())
    return x.getRank() > 0 && y.getRank() > 0 &&
           x.getShape().back() == y.getShape().back();
  tp::SymbolSpace symbols(a.getContext());
  return x.getRank() > 0 && y.getRank() > 0 &&
         symbols.getSizes(x).back() == symbols.getSizes(y).back();
}

Legal<> analysis::checkRowProduct(tp::MatmulOp matmul) {
  if (!getRightMatrix(matmul))
    return Refusal{matmul, RefusalCode::Batched,
                   "each batch is multiplied by a different matrix"};
  Type element = getTensor(matmul.getLhs()).getElementType();
  if (!matmul.getLhsScale() &&
      (getTensor(matmul.getRhs()).getElementType() != element ||
       getTensor(matmul.getResult()).getElementType() != element))
    return Refusal{matmul, RefusalCode::ElementTypes,
                   "its operands and result have different element types"};
  if (bool(matmul.getLhsScale()) != bool(matmul.getRhsScale()))
    return Refusal{matmul, RefusalCode::Scaled,
                   "only one of its operands has a scale"};
  return {};
}

//===----------------------------------------------------------------------===//
// Reduce-scatter
//===----------------------------------------------------------------------===//

/// Says why an op whose result is scattered is not a product.
static std::string describeNoProduct(Operation *op) {
  if (auto limitation = op->getAttrOfType<StringAttr>(tp::limitationAttrName))
    return ": " + limitation.getValue().str();
  return ", which is not a matrix product";
}

/// Collects the products that a value sums. Refuses if the value is not such a
/// sum. With `mayBeReadTwice`, the caller has checked the users of
/// the value itself.
static Legal<> collectProducts(Value value,
                               SmallVectorImpl<tp::MatmulOp> &products,
                               SmallVectorImpl<Value> &biases,
                               bool mayBeReadTwice = false) {
  auto refuse = [](RefusalCode code, std::string reason) {
    return Refusal{nullptr, code, "it scatters " + std::move(reason)};
  };
  while (true) {
    Operation *definition = value.getDefiningOp();
    if (!definition)
      return refuse(RefusalCode::NoProduct,
                    "a graph input, not a matrix product");
    if (products.size() > maxOps)
      return refuse(RefusalCode::Limit, "a sum of more than " +
                                            std::to_string(maxOps) +
                                            " products");
    if (!std::exchange(mayBeReadTwice, false) && !value.hasOneUse())
      return refuse(RefusalCode::OtherUsers,
                    getNodeName(definition) + ", which has other users");
    if (auto matmul = dyn_cast<tp::MatmulOp>(definition)) {
      if (Legal<> legal = checkRowProduct(matmul); !legal)
        return refuse(legal.getRefusal().code, getNodeName(definition) +
                                                   ", which cannot be fused: " +
                                                   legal.getRefusal().reason);
      if (Value bias = matmul.getBias()) {
        if (differsBetweenRows(bias))
          return Refusal{nullptr, RefusalCode::Bias,
                         "the bias of its product differs between rows"};
        biases.push_back(bias);
      }
      products.push_back(matmul);
      return {};
    }
    if (auto reshape = dyn_cast<tp::ReshapeOp>(definition);
        reshape && haveSameLastDim(reshape.getInput(), value)) {
      value = reshape.getInput();
      continue;
    }
    auto sum = dyn_cast<tp::MapOp>(definition);
    if (!sum || sum.getFunction() != tp::MapFunction::Add)
      return refuse(RefusalCode::NoProduct,
                    getNodeName(definition) + describeNoProduct(definition));
    // A bias that is broadcast to all rows; the other operand has all rows.
    auto isBias = [&](Value operand) {
      return operand.getType() != value.getType() &&
             getTensor(operand).getElementType() ==
                 getTensor(value).getElementType() &&
             !differsBetweenRows(operand);
    };
    for (Value operand : sum.getOperands()) {
      if (isBias(operand)) {
        biases.push_back(operand);
        continue;
      }
      if (operand.getType() != value.getType())
        return refuse(RefusalCode::ElementTypes,
                      getNodeName(definition) +
                          ", a sum of operands of different types");
      if (Legal<> legal = collectProducts(operand, products, biases); !legal)
        return legal;
    }
    return {};
  }
}

Legal<> analysis::checkProcessGroup(Operation *collective,
                                    tp::GroupAttr group) {
  tp::GroupSpelling spelling = tp::getGroupSpelling(group, collective);
  if (!spelling.processGroup.empty())
    return {};
  std::string reason =
      "PyTorch's fused ops need a process group name, and this group has none";
  if (!spelling.vocabulary.empty())
    reason = "PyTorch's fused ops need the name of a process group, and '" +
             group.getName().str() + "' is a name of " +
             spelling.vocabulary.str() +
             "; state \"process_group\" beside the group's \"ranks\"";
  return Refusal{collective, RefusalCode::UnnamedGroup, std::move(reason)};
}

Legal<ScatterFusion> analysis::findScatterFusion(tp::ReduceScatterOp scatter,
                                                 FusionContext &context) {
  ScatterFusion fusion;
  fusion.scatter = scatter;
  auto refuse = [&](RefusalCode code, std::string reason) {
    return Refusal{scatter, code, std::move(reason)};
  };
  if (Legal<> named = checkProcessGroup(scatter, scatter.getGroup()); !named)
    return named.getRefusal();
  if (scatter.getReduction() != tp::ReductionKind::Sum &&
      scatter.getReduction() != tp::ReductionKind::Avg)
    return refuse(RefusalCode::Reduction,
                  "a fused reduce_scatter can sum or average, not reduce by " +
                      tp::stringifyReductionKind(scatter.getReduction()).str());
  if (getTensor(scatter.getInput()).getRank() < 2)
    return refuse(RefusalCode::NoProduct, "its operand has fewer than 2 dims");
  fusion.axis = static_cast<int64_t>(scatter.getScatterAxis());
  fusion.scattered = scatter.getInput();
  Legal<> legal =
      collectProducts(fusion.scattered, fusion.products, fusion.biases);
  if (!legal) {
    Legal<CollectivePieces> pieces = findScatteredPieces(scatter);
    if (pieces) {
      fusion.products.clear();
      fusion.biases.clear();
      legal = collectProducts(pieces->value, fusion.products, fusion.biases,
                              /*mayBeReadTwice=*/true);
      fusion.axis = pieces->axis;
      fusion.scattered = pieces->value;
      fusion.pieces = std::move(pieces->ranges);
      fusion.reassembly = std::move(pieces->ops);
    } else if (pieces.getRefusal().isApplicable()) {
      legal = std::move(pieces.getRefusal());
    }
  }
  if (!legal)
    return refuse(legal.getRefusal().code,
                  std::move(legal.getRefusal().reason));
  bool scattersColumns =
      fusion.axis + 1 == getTensor(fusion.scattered).getRank();
  if (!fusion.pieces.empty() && fusion.products.front().getLhsScale())
    return refuse(
        RefusalCode::Scaled,
        "the blocks of its product are rearranged, and the product's scales "
        "cannot be proven to be rearranged the same way");
  for (tp::MatmulOp product : fusion.products) {
    if (scattersColumns && product.getLhsScale())
      return refuse(
          RefusalCode::Scaled,
          "a scaled product cannot be fused with a scatter of columns");
    if (fusion.products.size() > 1 && product.getLhsScale())
      return refuse(RefusalCode::Scaled,
                    "one of the products it sums has scales");
    if (fusion.products.size() > 1 &&
        (getTensor(product.getLhs()).getRank() != 2 ||
         getTensor(product.getRhs()).getRank() != 2))
      return refuse(RefusalCode::Batched,
                    "one of the products it sums has batch dims");
    if (context.writesBetween(product, scatter))
      return refuse(RefusalCode::MemoryWrite,
                    "an op between its product and it writes to memory");
    if (product.getTransposeLhs() && getTensor(product.getLhs()).getRank() != 2)
      return refuse(RefusalCode::Transposed,
                    "its product transposes a batched left operand");
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
        matmul.getLhsScale() || !checkRowProduct(matmul))
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
  SmallVector<Value> biases;
  if (!collectProducts(value, found, biases) || found.size() > 1)
    found.clear();
  return found;
}
