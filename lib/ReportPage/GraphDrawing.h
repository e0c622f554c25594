//===- GraphDrawing.h - a few ops as a small graph --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REPORTPAGE_GRAPHDRAWING_H
#define COMMUTE_LIB_REPORTPAGE_GRAPHDRAWING_H

#include "Neighbourhoods.h"

namespace commute::report {

/// The difference between an op and its counterpart in the other program.
enum class Change {
  /// There is an equal op.
  None,
  /// There is one of the same kind with results of other shapes.
  Shape,
  /// There is none.
  Op
};

/// Compares ops with those that stand for the same node in the other program.
class Counterparts {
public:
  explicit Counterparts(const DividedProgram &other) : other(other) {}
  Change getChange(mlir::Operation *op) const;

private:
  const DividedProgram &other;
};

/// A box of a drawing: one op, or connected ops without communication or matrix
/// products.
struct DrawnBox {
  enum class Kind { Collective, Product, Opaque, Group, Other, Input };
  Kind kind = Kind::Other;
  /// "all_reduce", or the distinct operators in the box.
  std::string label;
  std::string shape;
  Change change = Change::None;
  double seconds = 0;
  std::vector<std::string> nodes;
  /// Boxes whose results this one uses.
  llvm::SmallVector<unsigned, 4> operands;
};

/// Draws ops, given in program order. Boxes that only contain views and waits
/// are omitted.
std::vector<DrawnBox> drawGraph(llvm::ArrayRef<mlir::Operation *> ops,
                                const DividedProgram &program,
                                const Counterparts &counterparts);
/// Returns a text that is equal for graphs that differ only in names of nodes.
std::string getSignature(llvm::ArrayRef<DrawnBox> boxes);
llvm::json::Array toJson(llvm::ArrayRef<DrawnBox> boxes);

} // namespace commute::report

#endif // COMMUTE_LIB_REPORTPAGE_GRAPHDRAWING_H
