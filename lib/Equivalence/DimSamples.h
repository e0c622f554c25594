//===- DimSamples.h - which indices of each dim are evaluated ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_DIMSAMPLES_H
#define COMMUTE_LIB_EQUIVALENCE_DIMSAMPLES_H

#include "DimClasses.h"
#include "PositionNumbers.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/FieldAlgebra.h"
#include "commute/Equivalence/IndexSample.h"
#include "commute/Equivalence/IntegerPool.h"
#include "commute/Equivalence/IntegerUnion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

#include <set>

namespace commute::equivalence {

/// The reason why a dim is evaluated at its sample: the clauses of the theorem
/// in docs/equivalence.md.
enum class SampleReason {
  /// Ops treat all indices of a cell alike.
  Symmetric,
  /// It has few indices.
  Small,
  /// All indices were requested.
  Asked,
  /// The dim counts something: ranks of a group, pieces, or every step-th
  /// index.
  Counted,
  /// Its elements are summed, and the sum is compared with a number.
  Summands,
  /// Its positions are used in computations that the analysis does not
  /// understand.
  Positions,
  /// Reshapes and slices split it without a common factor.
  Misaligned,
  /// An op met samples that do not match.
  Mismatch,
  /// Too many of its indices are related to other indices.
  Closure
};
llvm::StringRef getText(SampleReason reason);

/// Chooses samples for all dims of two programs of static sizes, consistently.
///
/// Dims that ops identify are united. Every number that indices meet is a cut
/// of the dim. A slice carries cuts from the whole to the part and back, and a
/// diagonal from one dim to the other. Between two cuts, a few indices are
/// chosen at random. Similar dims have the same indices, so that equal layers
/// have equal samples.
class DimSamples : PositionListener {
public:
  /// Analyzes the programs. `begin` must follow.
  DimSamples(mlir::func::FuncOp first, mlir::func::FuncOp second,
             IndexSamples &samples, uint64_t seed, bool reducesSizes);
  /// Returns true if the analysis is the same for all seeds, so that copies of
  /// this object can begin with different ones.
  bool holdsForAllSeeds() const { return !takesSomeBorders; }
  /// Decides everything that depends on the seed. Must be called once.
  void begin(uint64_t seed);

  /// Refines the choice after a problem at an op, which may be null. Returns
  /// false if that is impossible.
  bool refine(const SampleProblem &problem, mlir::Operation *culprit);
  /// Chooses the samples, or chooses them again after `refine`.
  void choose();
  /// Chooses the last index of each run of indices that no op of either program
  /// tells apart, except by the values of inputs: the runs of the samples are
  /// those of the dim, or finer ones.
  void chooseCells();

  /// By dim.
  llvm::ArrayRef<const IndexSample *> get(mlir::Value value) const;
  /// Returns the numbers that the integers of both programs meet, and their
  /// neighbours.
  IntegerPool getPool() const;
  /// Returns the integers that the elements of an input may be if they index a
  /// dim.
  std::optional<IntegerUnion> getRange(unsigned argument) const;
  /// Returns values that the elements of an input may have if they index a dim.
  std::optional<IntegerPool> getPool(unsigned argument) const;

  /// Returns one line for each extent: its size, the number of evaluated
  /// indices, the reason, and its first occurrence.
  struct Line {
    int64_t size;
    int64_t count;
    SampleReason reason;
    mlir::Value value;
    unsigned dim;
  };
  std::vector<Line> describe();

private:
  using Id = DimClasses::Id;

  /// Adds indices at which a table is read. Returns true if that changes a
  /// sample.
  bool addIndices(mlir::Value value, unsigned dim,
                  llvm::ArrayRef<int64_t> indices);
  /// Evaluates all dims of an op's operands and results at all indices. Returns
  /// false if they already are.
  bool keepWhole(mlir::Operation *op);

  /// Index i of `part` is index start + i * step of `whole`.
  struct Slice {
    Id whole;
    Id part;
    int64_t start;
    int64_t step;
  };
  struct Diagonal {
    Id first, second;
    int64_t firstFactor, secondFactor, constant;
  };
  /// A function of integers indexes a dim if they are legal.
  struct Bound {
    Id dim;
    InputFunction function;
    IntegerUnion legal;
    bool isOfFirst;
  };
  /// The chosen indices of an atom.
  struct Atom {
    std::set<int64_t> points;
    bool isFull = false;
    SampleReason reason = SampleReason::Symmetric;
  };

  void onCut(mlir::Value value, unsigned dim, int64_t index) override;
  void onSingle(mlir::Value value, unsigned dim, int64_t index) override;
  void onDiagonal(mlir::Value firstValue, unsigned firstDim,
                  mlir::Value secondValue, unsigned secondDim, int64_t first,
                  int64_t second, int64_t constant) override;
  void onUnknownUse(mlir::Value value, unsigned dim) override;
  void onCounted(mlir::Value value, unsigned dim) override;
  void onMetByUnknown(mlir::Value value, unsigned dim) override;
  void onIndexed(mlir::Value table, unsigned tableDim, mlir::Value indices,
                 unsigned indexDim, int64_t start, int64_t step) override;
  void onNumber(int64_t number) override;
  void onBound(const InputFunction &function, mlir::Value table, unsigned dim,
               int64_t least) override;
  llvm::SmallVector<int64_t> getBorders(mlir::Value value,
                                        unsigned dim) override;

  llvm::SmallVector<Id> &getDims(mlir::Value value);
  void collect(mlir::func::FuncOp function);
  void collectReshape(tp::ReshapeOp op);
  void collectRule(tp::DimensionRuleOpInterface op,
                   std::optional<unsigned> skippedDim);
  void uniteTensors(mlir::Value a, mlir::Value b);
  /// Unites the ranges of what may be the same integers of both programs.
  void uniteRanges();
  void collectMetPoints();
  /// Some of the indices on both sides of cuts, other ones in each round.
  llvm::SmallVector<int64_t> getBorders(Id extent) const;
  void addDrawnIndices();
  void fix(Id id, SampleReason reason);

  /// Makes sure that integers of ranges are evaluated at all combinations that
  /// comparisons tell apart: those of differences with numbers, in chains of a
  /// few. Ranges that are compared in other ways are evaluated whole.
  void followRanges();

  /// Begins a choice with the indices on both sides of all cuts. Dims that are
  /// evaluated at all indices for a reason that is not in `kept` are treated
  /// like others.
  enum class Kept { None, AllButSummands, All };
  void addBorders(Kept kept);
  /// Stores the samples of all values.
  void storeSamples();
  /// Visits the atoms of an extent with the index along each, from minor to
  /// major; none if the index is outside of the extent.
  void forEachDigit(Id extent, int64_t index,
                    llvm::function_ref<void(Id, int64_t)> visit);
  /// Adds the digits of an index of an extent to its atoms.
  void addPoint(Id extent, int64_t index);
  /// Adds an index and its predecessor, so that the index represents only
  /// itself.
  void addSingle(Id extent, int64_t index);
  void setFull(Id atom, SampleReason reason);
  /// Carries new points along slices until there are no new ones.
  void propagateAlongSlices();
  /// Carries points along slices and look-ups until nothing is new.
  void propagate();
  /// The indices j of another dim at which `fromFactor * i + toFactor * j +
  /// constant` changes its sign, for the points i of `from`: where it is zero,
  /// with the next one if `addsNext`, or else the two around that. Nullopt if
  /// there are too many points.
  std::optional<std::vector<int64_t>> getRoots(Id from, int64_t fromFactor,
                                               int64_t toFactor,
                                               int64_t constant, bool addsNext);
  void setFullExtent(Id extent);
  /// Adds roots, or all indices if there are too many.
  void addRoots(Id extent, const std::optional<std::vector<int64_t>> &roots);
  /// Returns the other dim of a diagonal and the roots for the points of one.
  std::pair<Id, std::optional<std::vector<int64_t>>>
  getImage(const Diagonal &diagonal, bool ofFirst, bool addsNext);
  /// Carries the points of both dims of all diagonals to the other dim, once.
  void carryDiagonals();
  /// Adds the numbers of ranges that all positions are compared with: a
  /// condition on all positions would never hold otherwise.
  void carryToRanges();
  bool isRange(Id id) { return ranges.contains(classes.find(id)); }
  void addInnerPoints();
  std::vector<int64_t> getPoints(Id extent);
  const IndexSample *getSample(Id extent);

  mlir::func::FuncOp first, second;
  IndexSamples &samples;
  uint64_t seed;
  bool reducesSizes;
  DimClasses classes;
  llvm::MapVector<mlir::Value, llvm::SmallVector<Id>> dims;
  std::vector<Slice> slices;
  std::vector<Diagonal> diagonals;
  /// Where index i of `part` reads index start + i * step of `whole`, but the
  /// part is no slice: it is reversed, say, or other indices read elsewhere.
  std::vector<Slice> lookups;
  /// The facts reported about each extent.
  llvm::MapVector<Id, std::set<int64_t>> cuts, singles;
  std::vector<Id> metByUnknown;
  /// The indices of these dims on both sides of each cut: all of them, and
  /// those of this seed.
  llvm::SmallVector<int64_t> allMetPoints, metPoints;
  /// Points of the extents that integers index or meet, before inner ones are
  /// added.
  llvm::DenseMap<Id, std::vector<int64_t>> borders;
  /// The dims of ranges of integers, and the classes of these once all dims are
  /// united.
  llvm::SmallVector<Id> dimsOfRanges;
  std::set<Id> ranges;
  /// How often points are carried along diagonals.
  unsigned numCarries = 1;
  /// Whether the analysis has seen only some of the borders of an extent.
  bool takesSomeBorders = false;
  llvm::MapVector<Id, SampleReason> fixed;
  std::set<int64_t> numbers;
  llvm::MapVector<unsigned, std::vector<Bound>> bounds;

  llvm::DenseMap<Id, Atom> atoms;
  std::vector<DimClasses::Part> edges;
  llvm::DenseMap<Id, llvm::SmallVector<unsigned, 2>> edgesOf;
  std::vector<Id> changed;
  llvm::DenseMap<Id, const IndexSample *> chosen;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<const IndexSample *>> result;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DIMSAMPLES_H
