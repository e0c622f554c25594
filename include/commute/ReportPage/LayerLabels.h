//===- LayerLabels.h - the layer that an op belongs to ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORTPAGE_LAYERLABELS_H
#define COMMUTE_REPORTPAGE_LAYERLABELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::report {

/// Assigns the ops of a program to the layers of its model by the names of the
/// parameters that they use: an op that uses `model.layers.3.mlp.weight`
/// belongs to `model.layers.3`. An op without parameters belongs to the layer
/// of the last op whose result it uses.
class LayerLabels {
public:
  explicit LayerLabels(mlir::func::FuncOp function);

  /// Returns the layer, or "" for an op outside the layers, such as the
  /// embedding.
  llvm::StringRef getLayer(mlir::Operation *op) const;
  /// Returns true if the value depends only on parameters and constants.
  bool isConstant(mlir::Value value) const;

private:
  struct Label {
    llvm::StringRef layer;
    /// Position of the op in the program; 0 for arguments.
    unsigned position = 0;
    bool isConstant = false;
  };
  Label getLabel(mlir::Operation &op, unsigned position) const;

  llvm::DenseMap<mlir::Value, Label> ofValues;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> ofOps;
};

/// Returns the part of a parameter's name up to its first number:
/// "model.layers.3" of "model.layers.3.mlp.weight", "p_layers_3" of
/// "p_layers_3_norm", and "" of "model.norm.weight".
llvm::StringRef getLayerOfParameter(llvm::StringRef name);

} // namespace commute::report

#endif // COMMUTE_REPORTPAGE_LAYERLABELS_H
