//===- Neighbourhoods.h - the ops around a rewrite --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REPORTPAGE_NEIGHBOURHOODS_H
#define COMMUTE_LIB_REPORTPAGE_NEIGHBOURHOODS_H

#include "commute/ReportPage/RewriteDrawings.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace commute::report {

/// Returns the name of the node that an op was imported from or stands for.
llvm::StringRef getNode(mlir::Operation *op);

/// A program, divided at its matrix products and opaque ops.
class DividedProgram {
public:
  explicit DividedProgram(const DrawnProgram &program);

  /// Returns true for matrix products and opaque ops.
  bool isBorder(mlir::Operation *op) const { return borders.contains(op); }
  double getSeconds(mlir::Operation *op) const { return seconds.lookup(op); }
  /// Returns true if the op and its operands depend only on parameters.
  bool isConstant(mlir::Operation *op) const;
  /// Returns the ops that stand for a node, in program order.
  llvm::ArrayRef<mlir::Operation *> getOps(llvm::StringRef node) const;
  /// Returns a representative of the ops that are connected with `op` without
  /// passing a border; a border represents itself.
  mlir::Operation *getPlace(mlir::Operation *op) const;
  /// Returns ops around `anchors`, all from one place, in program order, with
  /// the adjacent borders.
  std::vector<mlir::Operation *>
  getNeighbourhood(llvm::ArrayRef<mlir::Operation *> anchors) const;

  const DrawnProgram program;

private:
  llvm::DenseMap<mlir::Operation *, double> seconds;
  llvm::DenseSet<mlir::Operation *> borders;
  /// The largest number of borders on a path to the op.
  llvm::DenseMap<mlir::Operation *, unsigned> levels;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::EquivalenceClasses<mlir::Operation *> places;
  llvm::StringMap<llvm::SmallVector<mlir::Operation *, 2>> byNode;
};

} // namespace commute::report

#endif // COMMUTE_LIB_REPORTPAGE_NEIGHBOURHOODS_H
