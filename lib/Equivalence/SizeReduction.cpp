//===- SizeReduction.cpp - small programs that mean the same ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/SizeReduction.h"

#include "DimClasses.h"
#include "DimSegments.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {

using Id = DimClasses::Id;

class SizeReducer {
public:
  /// Resolves symbols and drops layouts.
  llvm::Error makeStatic(ModuleOp module,
                         llvm::function_ref<int64_t(StringRef)> getValue);
  /// Learns which dims of a program belong together.
  void collect(ModuleOp module);
  /// Inputs and outputs of both programs are the same tensors, and so are the
  /// results of an opaque call that both make.
  void unitePrograms(ModuleOp first, ModuleOp second);
  /// False where no sizes fit.
  bool chooseSizes();
  /// Gives a program its new sizes; failure where an op does not hold with
  /// them.
  LogicalResult apply(ModuleOp module);
  double countElements(ModuleOp module);

private:
  /// The dim that a slice or concat cuts where no large unit counts; notes the
  /// cuts.
  std::optional<unsigned> addCuts(Operation *op);
  /// Keeps the extents that an op sums over where what it sums along them comes
  /// from no input: the sum is a number times the extent then.
  void keepCountedExtents(Operation *op, const tp::DimensionRule &rule,
                          ArrayRef<Id> factors);
  SmallVector<Id> &getDims(Value value);
  void uniteTensors(Value a, Value b);
  RankedTensorType getNewType(Value value);

  DimClasses classes;
  DimSegments segments{classes};
  DenseMap<Operation *, unsigned> cutOfSlice;
  /// In order of appearance: what is chosen depends on it.
  llvm::MapVector<Value, SmallVector<Id>> dims;
  /// The dims of a value along which it holds no input's elements: constants,
  /// counts, and what is repeated.
  DenseMap<Value, llvm::SmallBitVector> madeDims;
  /// By op: its rule at the original sizes, and the classes of its factors.
  struct OpFactors {
    tp::DimensionRule rule;
    SmallVector<Id> factors;
  };
  DenseMap<Operation *, std::unique_ptr<OpFactors>> opFactors;
};

} // namespace

/// Writes down the numbers that an op derives from sizes, while those are the
/// real ones.
static void keepDerivedNumbers(Operation *op) {
  Builder builder(op->getContext());
  if (auto attention = dyn_cast<tp::AttentionOp>(op)) {
    int64_t width = cast<RankedTensorType>(attention.getQuery().getType())
                        .getShape()
                        .back();
    if (!attention.getScale())
      attention.setScaleAttr(
          builder.getF64FloatAttr(1 / std::sqrt(static_cast<double>(width))));
    return;
  }
  auto keepCount = [&](Value input, llvm::function_ref<bool(int64_t)> isMeant) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t count = 1;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (isMeant(dim))
        count *= type.getDimSize(dim);
    op->setAttr(averageCountAttrName, builder.getI64IntegerAttr(count));
  };
  auto keepLast = [&](Value input, int64_t dims) {
    int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
    keepCount(input, [&](int64_t dim) { return dim >= rank - dims; });
  };
  if (auto reduce = dyn_cast<tp::ReduceOp>(op)) {
    if (reduce.getKind() == tp::ReductionKind::Avg)
      keepCount(reduce.getInput(), [&](int64_t dim) {
        return llvm::is_contained(reduce.getDims(), dim);
      });
  } else if (auto norm = dyn_cast<tp::RmsNormOp>(op)) {
    keepLast(norm.getInput(), norm.getNormalizedDims());
  } else if (auto norm = dyn_cast<tp::LayerNormOp>(op)) {
    keepLast(norm.getInput(), norm.getNormalizedDims());
  } else if (auto norm = dyn_cast<tp::AddRmsNormOp>(op)) {
    keepLast(norm.getInput(), 1);
  }
}

llvm::Error
SizeReducer::makeStatic(ModuleOp module,
                        llvm::function_ref<int64_t(StringRef)> getValue) {
  auto symbols = [&](StringRef name) { return std::optional(getValue(name)); };
  std::string unknown;
  auto convert = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    SmallVector<int64_t> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      std::optional<int64_t> size = tp::evaluateSize(type, dim, symbols);
      if (!size && unknown.empty())
        llvm::raw_string_ostream(unknown) << type;
      sizes.push_back(size.value_or(1));
    }
    value.setType(RankedTensorType::get(sizes, type.getElementType()));
  };
  func::FuncOp function = analysis::getMain(module);
  llvm::for_each(function.getArguments(), convert);
  function.walk(
      [&](Operation *op) { llvm::for_each(op->getResults(), convert); });
  if (!unknown.empty())
    return llvm::createStringError(
        "nothing states the size of a value of type " + unknown);
  function.walk(keepDerivedNumbers);
  Operation *terminator = function.getBody().front().getTerminator();
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().front().getArgumentTypes(),
      terminator->getOperandTypes()));
  return llvm::Error::success();
}

SmallVector<Id> &SizeReducer::getDims(Value value) {
  auto [it, isNew] = dims.insert({value, {}});
  if (isNew)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t size : type.getShape())
        it->second.push_back(classes.add(size));
  return it->second;
}

/// From how many units on a dim is counted in segments instead: small numbers
/// are those of ranks and pieces, and mean something.
static constexpr int64_t maxUnits = 64;

std::optional<unsigned> SizeReducer::addCuts(Operation *op) {
  auto getSize = [](Value value, unsigned dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  if (auto slice = dyn_cast<tp::SliceOp>(op)) {
    unsigned dim = slice.getDim();
    int64_t whole = getSize(slice.getInput(), dim);
    int64_t part = getSize(slice.getResult(), dim);
    int64_t start = slice.getStart() * (slice.getBlocks() ? part : 1);
    if (slice.getStep() != 1 || whole == part ||
        whole / tp::getUnitSize({whole, part, start}) <= maxUnits)
      return std::nullopt;
    cutOfSlice[op] = segments.addCut(getDims(slice.getInput())[dim],
                                     getDims(slice.getResult())[dim], start);
    return dim;
  }
  auto concat = dyn_cast<tp::ConcatOp>(op);
  if (!concat)
    return std::nullopt;
  unsigned dim = concat.getDim();
  SmallVector<int64_t> sizes;
  for (Value input : concat.getInputs())
    sizes.push_back(getSize(input, dim));
  int64_t whole = getSize(concat.getResult(), dim);
  if (whole == 0 || whole / tp::getUnitSize(sizes) <= maxUnits)
    return std::nullopt;
  Id wholeId = getDims(concat.getResult())[dim];
  int64_t start = 0;
  for (auto [input, size] : llvm::zip_equal(concat.getInputs(), sizes)) {
    segments.addCut(wholeId, getDims(input)[dim], start);
    start += size;
  }
  return dim;
}

/// Whether what is combined along a factor depends on how much of it there is.
static bool countsElements(const tp::Factor &factor) {
  return factor.kind == tp::Factor::Kind::Reduction &&
         factor.reduction != tp::ReductionKind::Max &&
         factor.reduction != tp::ReductionKind::Min;
}

void SizeReducer::keepCountedExtents(Operation *op,
                                     const tp::DimensionRule &rule,
                                     ArrayRef<Id> factors) {
  // A factor is made where all operands that run along it are; in a
  // concatenation, where one is.
  llvm::SmallBitVector made(factors.size(), true), anyMade(factors.size());
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    for (auto [dim, dimFactors] : llvm::enumerate(tensor)) {
      auto found = madeDims.find(operand);
      bool isMade = found != madeDims.end() && found->second[dim];
      for (unsigned factor : dimFactors) {
        if (isMade)
          anyMade.set(factor);
        else
          made.reset(factor);
      }
    }
  if (isa<tp::ConcatOp>(op))
    made |= anyMade;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (countsElements(factor) && made[index])
      classes.fix(factors[index]);
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    llvm::SmallBitVector &ofResult = madeDims[result];
    for (const tp::DimensionRule::DimFactors &dimFactors : tensor)
      ofResult.push_back(!dimFactors.empty() &&
                         llvm::all_of(dimFactors, [&](unsigned factor) {
                           return made[factor];
                         }));
  }
}

void SizeReducer::collect(ModuleOp module) {
  analysis::getMain(module).walk([&](tp::DimensionRuleOpInterface op) {
    auto &known = opFactors[op];
    known = std::make_unique<OpFactors>(OpFactors{op.getDimensionRule(), {}});
    OpFactors &entry = *known;
    for (const tp::Factor &factor : entry.rule.factors)
      entry.factors.push_back(classes.add(factor.size, factor.isFixed));
    std::optional<unsigned> cutDim = addCuts(op);
    keepCountedExtents(op, entry.rule, entry.factors);
    auto unite = [&](ValueRange values,
                     ArrayRef<tp::DimensionRule::TensorFactors> tensors) {
      for (auto [value, tensor] : llvm::zip_equal(values, tensors)) {
        SmallVector<Id> valueDims = getDims(value);
        for (auto [index, dim, factors] : llvm::enumerate(valueDims, tensor)) {
          if (factors.empty() || index == cutDim)
            continue;
          SmallVector<Id> parts;
          for (unsigned factor : factors)
            parts.push_back(entry.factors[factor]);
          classes.unite(dim, classes.addProduct(parts));
        }
      }
    };
    unite(op->getOperands(), entry.rule.operands);
    unite(op->getResults(), entry.rule.results);
  });
}

void SizeReducer::uniteTensors(Value a, Value b) {
  SmallVector<Id> aDims = getDims(a);
  SmallVector<Id> bDims = getDims(b);
  if (aDims.size() != bDims.size())
    return;
  for (auto [aDim, bDim] : llvm::zip_equal(aDims, bDims))
    classes.unite(aDim, bDim);
}

void SizeReducer::unitePrograms(ModuleOp first, ModuleOp second) {
  func::FuncOp a = analysis::getMain(first);
  func::FuncOp b = analysis::getMain(second);
  for (auto [x, y] : llvm::zip(a.getArguments(), b.getArguments()))
    uniteTensors(x, y);
  auto getResults = [](func::FuncOp function) {
    return function.getBody().front().getTerminator()->getOperands();
  };
  for (auto [x, y] : llvm::zip(getResults(a), getResults(b)))
    uniteTensors(x, y);
  auto aCalls = llvm::to_vector(a.getOps<tp::CallOp>());
  auto bCalls = llvm::to_vector(b.getOps<tp::CallOp>());
  for (auto [x, y] : llvm::zip(aCalls, bCalls))
    for (auto [p, q] : llvm::zip(x.getOutputs(), y.getOutputs()))
      uniteTensors(p, q);
}

bool SizeReducer::chooseSizes() {
  segments.divide();
  std::vector<Id> free = classes.getFreeAtoms();
  for (Id atom : free)
    classes.setNewSize(atom, 2);
  // Dims of one tensor that were different stay different, so that a swapped
  // pair of them is seen. Each collision enlarges one extent; a few rounds
  // settle nearly all of them.
  for (int round = 0; round < 6; ++round) {
    bool changed = false;
    for (auto &[value, valueDims] : dims) {
      for (size_t i = 0; i < valueDims.size(); ++i)
        for (size_t j = i + 1; j < valueDims.size(); ++j) {
          Id a = valueDims[i], b = valueDims[j];
          if (classes.getSize(a) == classes.getSize(b) ||
              classes.getNewSize(a) != classes.getNewSize(b) ||
              classes.getNewSize(a) == 1)
            continue;
          for (Id side : {b, a}) {
            SmallVector<Id> atoms = classes.getAtoms(side);
            auto *atom = llvm::find_if(atoms, [&](Id candidate) {
              return classes.isFree(candidate) &&
                     classes.getNewSize(candidate) < 5 &&
                     classes.getNewSize(candidate) < classes.getSize(candidate);
            });
            if (atom == atoms.end())
              continue;
            classes.setNewSize(*atom, classes.getNewSize(*atom) + 1);
            changed = true;
            break;
          }
        }
    }
    if (!changed)
      break;
  }
  return segments.settle();
}

RankedTensorType SizeReducer::getNewType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> sizes;
  for (Id dim : getDims(value))
    sizes.push_back(classes.getNewSize(dim));
  return RankedTensorType::get(sizes, type.getElementType());
}

LogicalResult SizeReducer::apply(ModuleOp module) {
  func::FuncOp function = analysis::getMain(module);
  auto convert = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()))
      value.setType(getNewType(value));
  };
  llvm::for_each(function.getArguments(), convert);
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), convert);
    auto entry = opFactors.find(op);
    if (entry == opFactors.end())
      return;
    SmallVector<int64_t> newSizes;
    for (Id factor : entry->second->factors)
      newSizes.push_back(classes.getNewSize(factor));
    cast<tp::DimensionRuleOpInterface>(op).scaleAttributes(entry->second->rule,
                                                           newSizes);
    if (auto cut = cutOfSlice.find(op); cut != cutOfSlice.end())
      if (std::optional<int64_t> start = segments.getNewStart(cut->second)) {
        auto slice = cast<tp::SliceOp>(op);
        slice.setStart(*start);
        slice.setBlocks(false);
      }
  });
  Operation *terminator = function.getBody().front().getTerminator();
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().front().getArgumentTypes(),
      terminator->getOperandTypes()));
  // A rule that says too little shows here; such a program keeps its sizes.
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  return module.verify();
}

double SizeReducer::countElements(ModuleOp module) {
  double total = 0;
  auto count = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    double elements = 1;
    for (int64_t size : type.getShape())
      elements *= size;
    total += elements;
  };
  func::FuncOp function = analysis::getMain(module);
  llvm::for_each(function.getArguments(), count);
  function.walk(
      [&](Operation *op) { llvm::for_each(op->getResults(), count); });
  return total;
}

llvm::Expected<ReducedPrograms>
equivalence::reduceSizes(ModuleOp first, ModuleOp second,
                         llvm::function_ref<int64_t(StringRef)> symbols,
                         bool reduce) {
  ReducedPrograms result;
  auto cloneStatic = [&](SizeReducer &reducer) -> llvm::Error {
    result.first = cast<ModuleOp>(first->clone());
    result.second = cast<ModuleOp>(second->clone());
    if (llvm::Error error = reducer.makeStatic(*result.first, symbols))
      return error;
    return reducer.makeStatic(*result.second, symbols);
  };
  SizeReducer reducer;
  if (llvm::Error error = cloneStatic(reducer))
    return std::move(error);
  result.elementsBefore = result.elementsAfter =
      reducer.countElements(*result.first);
  if (!reduce)
    return result;
  reducer.collect(*result.first);
  reducer.collect(*result.second);
  reducer.unitePrograms(*result.first, *result.second);
  if (reducer.chooseSizes() && succeeded(reducer.apply(*result.first)) &&
      succeeded(reducer.apply(*result.second))) {
    result.elementsAfter = reducer.countElements(*result.first);
    return result;
  }
  // No consistent reduction: real sizes.
  if (llvm::Error error = cloneStatic(reducer))
    return std::move(error);
  return result;
}
