//===- UnknownResults.h - results that cannot be compared -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// An opaque op computes a function that nobody describes. If both programs call
// it alike, its result is one unknown in both. Otherwise, its result is an
// unknown of one program alone, and says nothing of what the programs compute:
// a difference that rests on it is neither proven nor refuted. The same holds
// for sizes that a program determines from values, such as a count, and that
// the other program does not determine alike.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_UNKNOWNRESULTS_H
#define COMMUTE_EQUIVALENCE_UNKNOWNRESULTS_H

#include "commute/Equivalence/LockstepEvaluator.h"

#include "llvm/ADT/SparseBitVector.h"
#include "llvm/Support/JSON.h"

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace commute::equivalence {

/// The reason why programs are neither equal nor different.
struct Undecided {
  /// Such as "size u4 depends on values (model.py:12)".
  std::string reason;
  /// The op that the verdict rests on.
  mlir::Location location;
  /// The operator that has no description, and the entry of a vocabulary file
  /// that would describe it, as JSON; empty for sizes and random numbers.
  std::string callee;
  std::string entry;
};

/// Describes a verdict that rests on a call that the programs do not make
/// alike.
Undecided describeUndecided(tp::CallOp call);
/// Describes a verdict that rests on a size that an op determines from values.
Undecided describeUndecidedSize(llvm::StringRef symbol,
                                mlir::Location location);

/// Returns the node, its line, and the entry of a vocabulary file, if one would
/// decide.
llvm::json::Object toJson(const Undecided &undecided);

/// Returns the first size that a program determines from values, or nullopt.
std::optional<Undecided> findSizeOfValues(mlir::func::FuncOp function);

/// The unknown results of one evaluation of two programs, and the values that
/// depend on them.
class UnknownResults {
public:
  /// The n-th random calls of both programs draw the same numbers, and all
  /// others draw different ones.
  UnknownResults(mlir::func::FuncOp first, mlir::func::FuncOp second);

  /// To be called for each op of both programs when it has been evaluated.
  void note(mlir::Operation *op, llvm::ArrayRef<RankValues> operands);
  /// Finds the unknown results, after both evaluations.
  void find();

  /// Returns why a value is unknown, if it depends on a call that the other
  /// program does not make alike, or else on a size that depends on values: the
  /// first one in the order of its program.
  std::optional<Undecided> getCause(mlir::Value value) const;
  /// Returns why it is unknown whether values of the programs differ: the cause
  /// of one of them, or a call that both programs make and only the values of
  /// one depend on, because what that call computes may be what the other
  /// program has; or calls that may communicate, whose results may be the same
  /// on all ranks.
  std::optional<Undecided> getCause(llvm::ArrayRef<mlir::Value> ofFirst,
                                    llvm::ArrayRef<mlir::Value> ofSecond) const;
  /// Returns a size that the outputs, or the calls with effects, depend on and
  /// that the programs are not known to determine alike, or nullopt. Equal
  /// values at the sizes that were evaluated do not prove anything then.
  std::optional<Undecided> findOtherSize() const;

  /// A size that an op determines, in both programs.
  struct Size {
    std::string symbol;
    int64_t number;
    mlir::Operation *op;
    std::vector<uint64_t> key;
  };
  llvm::ArrayRef<Size> getSizes(unsigned program) const {
    return sizes[program];
  }

private:
  /// What a value depends on: a call that only its program makes, a size that
  /// depends on values, and one that the programs do not determine alike, by
  /// their places in `causes`; and the calls that both programs make, by their
  /// places in `callOfTwin`.
  struct State {
    unsigned call = none;
    unsigned size = none;
    unsigned otherSize = none;
    llvm::SparseBitVector<> twins;
    void add(const State &other) {
      call = std::min(call, other.call);
      size = std::min(size, other.size);
      otherSize = std::min(otherSize, other.otherSize);
      twins |= other.twins;
    }
  };
  static constexpr unsigned none = std::numeric_limits<unsigned>::max();

  bool isMatched(unsigned program, mlir::Operation *op) const;
  const State *getState(mlir::Value value) const;
  bool isMatched(unsigned program, const Size &size) const;
  /// Returns true for calls whose results are unknown unless the other program
  /// makes them alike.
  bool isUnknown(tp::CallOp call) const;
  void collect(unsigned program);
  void propagate(unsigned program);

  mlir::func::FuncOp functions[2];
  /// Whether a program has opaque ops or sizes that depend on values;
  /// otherwise, there is nothing to note.
  bool areThereAny;
  /// What an op computes of which operands, by rank.
  llvm::DenseMap<mlir::Operation *, std::vector<uint64_t>> keys;
  std::set<std::vector<uint64_t>> keysOf[2];
  std::map<std::vector<uint64_t>, unsigned> twins;
  std::vector<mlir::Operation *> callOfTwin;
  std::vector<Size> sizes[2];
  /// In the order of each program.
  std::vector<Undecided> causes;
  llvm::DenseMap<mlir::Value, State> states;
  State ofEffects;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_UNKNOWNRESULTS_H
