//===- PipelinePass.h - what all passes of the pipeline have --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PIPELINEPASS_H
#define COMMUTE_TRANSFORMS_PIPELINEPASS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace commute {

/// A pass of the pipeline, over functions.
class PipelinePass : public mlir::OperationPass<mlir::func::FuncOp> {
public:
  /// Makes runs report nothing: their results are only compared.
  void setTrial() { isTried = true; }

protected:
  using OperationPass::OperationPass;

  bool isTrial() const { return isTried; }

private:
  bool isTried = false;
};

/// The pass as one of the pipeline, by the name that it is registered under;
/// null if it is none.
PipelinePass *getPipelinePass(mlir::Pass &pass);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PIPELINEPASS_H
