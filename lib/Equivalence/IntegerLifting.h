//===- IntegerLifting.h - all integers of a program at once -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A program on integers is rewritten to one on mixtures (Mixtures.h), in which
// no integer is drawn: one evaluation covers all integers, and the dims of the
// ranges are sampled like those of tensors. What the lifted programs do not
// know of integers, they take for unknown, so programs that are equal when
// lifted are equal, but not the other way round.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_INTEGERLIFTING_H
#define COMMUTE_LIB_EQUIVALENCE_INTEGERLIFTING_H

#include "Mixtures.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <utility>

namespace commute::equivalence {

/// A half-open range of integers.
using IntegerRange = std::pair<int64_t, int64_t>;

/// Integers of 64 bits of which nothing is stated are between -2^33 and 2^33.
inline constexpr int64_t leastFarthest = int64_t(1) << 33;

/// Returns the range of the integers of a type of which nothing is stated: all
/// of them, and for 64 bits those between `-farthest` and `farthest`.
IntegerRange getDefaultRange(mlir::Type elementType,
                             int64_t farthest = leastFarthest);

/// Returns true if all numbers between two are in a range.
bool contains(IntegerRange range, double least, double most);
/// Returns the least and the greatest number of a range.
std::pair<double, double> getEnds(IntegerRange range);

/// Returns how far integers of 64 bits are from zero, of which nothing is
/// stated: eight times as far as all constants of the programs.
int64_t getFarthest(mlir::func::FuncOp first, mlir::func::FuncOp second);

/// Returns true if an op only moves elements.
bool movesElements(mlir::Operation *op);

/// Returns the value that an op divides by a constant above zero, of which it
/// returns the quotient or the remainder, and the constant.
std::optional<std::pair<mlir::Value, int64_t>> getDivision(tp::MapOp op);

/// Returns, for the integers of a program, a common multiple of the numbers
/// that they are divided by as they are, if it is small.
llvm::DenseMap<mlir::Value, int64_t> getPeriods(mlir::func::FuncOp function);

/// Returns true if a value counts from zero.
bool isPositions(mlir::Value value);

class IntegerLifting {
public:
  /// Returns the integers that an input may have; there is at least one.
  using Ranges = llvm::function_ref<IntegerUnion(mlir::BlockArgument)>;

  /// `periods` are those of both programs that are compared.
  /// `farthest` is how far integers are from zero of which nothing is known.
  IntegerLifting(mlir::func::FuncOp function, Ranges ranges,
                 llvm::DenseMap<mlir::Value, int64_t> periods,
                 int64_t farthest);

  /// Lets floats that are not known be part of tables of large ranges, so that
  /// these are collapsed late. Laws of products need that, those of sums the
  /// opposite.
  void collapseLate() { collapsesLate = true; }
  /// Takes orders of unknown values for unknown functions of them. What holds
  /// for all orders is then proven; what holds for an order because of the
  /// values is not.
  void openOrders() { opensOrders = true; }
  /// Follows rows as they were before they were sorted, with open orders.
  void followRows() { followsRows = true; }
  /// Returns true if rows were followed to where they are sorted back.
  bool hasSortedBack() const { return sortsBack; }
  /// Returns the lifted program, whose inputs and outputs are floats in place
  /// of integers and truth values.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> lift();

  /// An op that needs an integer which other integers determine. It is an
  /// unknown function of its operands in the lifted program.
  struct Unknown {
    std::string text;
    /// Drawings of these integers say something, as of the routing of tokens.
    bool isDrawn;
  };
  /// Returns the first such op.
  const std::optional<Unknown> &getUnknown() const { return unknown; }

private:
  /// More integers than these do not determine one element of a table.
  static constexpr size_t maxWeights = 3;

  /// What a value of the program is in the lifted one.
  struct Form {
    /// Either a value or a mixture. In place of an integer, a value may be a
    /// number (MixtureBuilder::getNumberType).
    mlir::Value value;
    Mixture mixture;
    /// Computed from positions and constants alone.
    bool isFixed = false;
    /// Computed from more elements than a table can be.
    bool isOfMany = false;
    /// Of integers: numbers between which they are, if that is known.
    double least = 0, most = 0;
  };

  static Form getForm(mlir::Value value);
  static Form getForm(Mixture mixture);
  /// Returns the element that a form stands for: never a mixture.
  mlir::Value get(mlir::Value operand);
  /// Returns the same, as a number where it is an integer or a truth value.
  mlir::Value getNumber(mlir::Value operand);
  bool isMixture(mlir::Value operand) const {
    return static_cast<bool>(forms.find(operand)->second.mixture);
  }
  /// Returns true if what a value is depends on more than positions.
  bool isOpen(mlir::Value operand) const {
    return !forms.find(operand)->second.isFixed;
  }
  /// Returns true if an integer is a number.
  bool isNumber(mlir::Value operand) const;

  /// Returns the form of `integers`, the weights of which are functions of
  /// `key`.
  Form createSource(mlir::Value integers, mlir::Value key,
                    const IntegerUnion &legal);
  Form createSource(mlir::Value integers, mlir::Value key, IntegerRange range) {
    return createSource(integers, key, IntegerUnion(range.first, range.second));
  }
  void addArguments(Ranges ranges);
  void visit(mlir::Operation *op);
  void visitWhole(mlir::Operation *op);
  void visitReturn(mlir::Operation *op);
  void visitCall(tp::CallOp op);
  void visitMap(tp::MapOp op);
  void visitCast(tp::CastOp op);
  /// The results of a cast of a mixture, and of another form.
  Form castTable(tp::CastOp op);
  std::optional<Form> castElements(tp::CastOp op);
  void visitIndexing(tp::IndexingOpInterface op);
  /// Notes that an op's integers are taken for unknown functions, because of
  /// this operand.
  void noteUnknown(mlir::Operation *op, mlir::Value operand,
                   llvm::StringRef what);
  void visitSort(tp::SortOp op);
  /// Rows whose groups are not known.
  void visitGroups(tp::GroupedMatmulOp op);
  /// Returns the result of updates that replace elements.
  std::optional<Form> replace(tp::ScatterOp op);
  /// Returns the order of a whole row that a value is; null if it is none.
  mlir::Value getPermutation(mlir::Value value) const;
  /// Returns the order of which indices are the inverse; null if of none.
  mlir::Value getInverted(mlir::Value indices) const;

  /// Returns the order by which the rows of an op's operands and results are
  /// sorted, if the op does the same to each row; null otherwise.
  mlir::Value getOrderOfRows(mlir::Operation *op) const;
  /// Does to rows as they were before they were sorted what an op does to
  /// sorted ones.
  void visitRows(mlir::Operation *op);
  /// The same of a product whose groups are counts of what was sorted.
  void multiplyRows(tp::GroupedMatmulOp op);
  /// Returns the mixture of integers that are sorted, if a grouped product has
  /// the rows that are equal to its number in each group; null otherwise.
  const Mixture *getGroups(tp::GroupedMatmulOp op, mlir::Value order) const;
  /// Erases ops that nothing uses.
  void eraseUnused();

  /// Returns the mixture of indices that are numbers; null if they are of too
  /// large a tensor.
  Mixture createIndices(tp::IndexingOpInterface op);
  /// Takes an op for an unknown function, because of this operand.
  void visitUnknown(mlir::Operation *op, mlir::Value operand,
                    llvm::StringRef what);
  /// Ops that move elements.
  void visitMove(mlir::Operation *op);
  /// Products of tables of small ranges are tables.
  void visitMatmul(tp::MatmulOp op);
  /// Reductions of elements that the same integers determine are tables.
  void visitReduce(tp::ReduceOp op);
  /// Any op, on elements.
  void visitElements(mlir::Operation *op);

  /// Returns the mixture of an op's result; null if it cannot be a table.
  Mixture mapTables(tp::MapOp op);
  /// Returns true if all numbers of the ranges are evaluated.
  static bool isSmall(llvm::ArrayRef<mlir::Value> weights);
  bool fitsTables(tp::MapOp op, llvm::ArrayRef<mlir::Value> weights) const;
  std::optional<Form> take(tp::TakeOp op);
  std::optional<Form> takeAlong(tp::TakeAlongOp op);
  std::optional<Form> scatter(tp::ScatterOp op);
  /// Returns, for each update of a scatter and each index, whether it is at
  /// this index: the dims of the updates and one more.
  Mixture getHits(tp::ScatterOp op);
  /// Returns a table of integers in a wider type as one in `type`, in which
  /// they may wrap around; null if they may do so too often.
  mlir::Value wrap(mlir::Location loc, mlir::Value table, double least,
                   double most, mlir::IntegerType type);
  /// Returns numbers between which the results of a scalar function of integers
  /// are, before they wrap around.
  std::pair<double, double> getBounds(tp::MapOp op) const;
  /// Returns the same of a result of any op, which does wrap around; infinite
  /// ones if none are known.
  std::pair<double, double> getBounds(mlir::OpResult result) const;

  /// Returns the numbers that a table holds, if an op divides them by a divisor
  /// of their period: the table of its results; null otherwise.
  mlir::Value divide(tp::MapOp op);

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, int64_t> periods;
  int64_t farthest;
  bool collapsesLate = false;
  bool opensOrders = false;
  bool followsRows = false;
  bool sortsBack = false;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp lifted;
  mlir::OpBuilder builder;
  MixtureBuilder mixtures;
  llvm::DenseMap<mlir::Value, Form> forms;
  std::optional<Unknown> unknown;
  /// Of values whose rows were sorted: the order, a result of the program's
  /// sort, and the form of the rows before they were sorted by it.
  struct SortedRows {
    mlir::Value order;
    Form rows;
  };
  llvm::DenseMap<mlir::Value, SortedRows> sortedRows;
  /// The order of which a value is the inverse.
  llvm::DenseMap<mlir::Value, mlir::Value> inverses;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_INTEGERLIFTING_H
