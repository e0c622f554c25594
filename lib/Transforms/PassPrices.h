//===- PassPrices.h - the prices that a pass goes by ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_PASSPRICES_H
#define COMMUTE_LIB_TRANSFORMS_PASSPRICES_H

#include "commute/Analysis/Sizes/SymbolicSizes.h"
#include "commute/Target/PriceModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace commute {

/// The target of a pass, and its prices at the sizes of one function: stated
/// sizes, or else examples.
class PassPrices {
public:
  static llvm::Expected<std::unique_ptr<PassPrices>>
  load(llvm::StringRef targetName, mlir::func::FuncOp function);

  const target::PriceModel &getModel() const { return model; }
  const analysis::SymbolicSizes &getSizes() const { return sizes; }

  PassPrices(const PassPrices &) = delete;

private:
  PassPrices(target::Target target, analysis::SymbolicSizes sizes,
             mlir::func::FuncOp function);

  target::Target target;
  analysis::SymbolicSizes sizes;
  target::PriceModel model;
};

/// "12.3 us".
std::string formatMicroseconds(double seconds);

/// Returns the end of a refusal if the rewrite is faster, but by less than the
/// pass's margin; empty if it is not faster.
std::string describeMargin(double before, double after, double margin);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_PASSPRICES_H
