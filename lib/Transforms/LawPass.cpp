//===- LawPass.cpp - passes that are lists of laws --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/LawPass.h"

#include "LawDriver.h"
#include "PassPrices.h"
#include "commute/Transforms/PassTraits.h"

using namespace mlir;
using namespace commute;

PipelinePass *commute::getPipelinePass(Pass &pass) {
  return findPassTraits(pass.getArgument()) ? static_cast<PipelinePass *>(&pass)
                                            : nullptr;
}

LawPass *commute::getLawPass(Pass &pass) {
  const PassTraits *traits = findPassTraits(pass.getArgument());
  return traits && traits->hasLaws ? static_cast<LawPass *>(&pass) : nullptr;
}

void LawPass::runOnOperation() {
  isChanged = false;
  func::FuncOp function = getOperation();
  if (!allowsSeveralBlocks() && !function.getBody().hasOneBlock())
    return;
  auto fail = [&](llvm::Error error) {
    function.emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  };
  std::unique_ptr<PassPrices> prices;
  if (!getTargetName().empty()) {
    llvm::Expected<std::unique_ptr<PassPrices>> loaded =
        PassPrices::load(getTargetName(), function);
    if (!loaded)
      return fail(loaded.takeError());
    prices = std::move(*loaded);
  }
  LawSet laws;
  if (llvm::Error error = addLaws(laws, prices.get()))
    return fail(std::move(error));
  laws.reportsRefusals &= reportsRefusals && !isTrial();
  LawDriver::Context context;
  context.pass = getArgument();
  context.model = prices ? &prices->getModel() : nullptr;
  context.record = record;
  context.listener = listener;
  context.isTrial = isTrial();
  context.count = [&](StringRef name, unsigned number) {
    if (Statistic *statistic = findStatistic(name))
      *statistic += number;
  };
  LawDriver driver(function, laws, std::move(context));
  if (llvm::Error error = driver.run())
    return fail(std::move(error));
  isChanged = driver.hasChanged();
  // Avoids verifying an unchanged function again.
  if (!isChanged)
    markAllAnalysesPreserved();
}
