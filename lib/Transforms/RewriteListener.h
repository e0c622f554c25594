//===- RewriteListener.h - who is asked and told about rewrites -----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REWRITELISTENER_H
#define COMMUTE_LIB_TRANSFORMS_REWRITELISTENER_H

#include "Draft.h"

#include "commute/Analysis/Legal.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute {

/// Is asked by the driver of a pass which sites it may rewrite, and told what
/// it rewrites.
class RewriteListener {
public:
  virtual ~RewriteListener() = default;

  /// Called before the pass looks at a function.
  virtual void begin(mlir::func::FuncOp function) {}
  virtual bool mayRewrite(mlir::Operation *site) const { return true; }
  /// Why a law may not rewrite a site that it could rewrite; null if there is
  /// nothing to tell.
  virtual const analysis::Refusal *findRefusal(llvm::StringRef law,
                                               mlir::Operation *site) const {
    return nullptr;
  }
  /// Called before a draft is applied, whose ops are still in no block.
  virtual void willRewrite(llvm::StringRef law, mlir::Operation *site,
                           const Draft &draft) {}
  virtual void willErase(mlir::Operation *op) {}
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REWRITELISTENER_H
