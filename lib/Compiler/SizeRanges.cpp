//===- SizeRanges.cpp - programs for ranges of sizes ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SizeRanges.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Target/Estimate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace commute;

std::optional<double>
compiler::predictSeconds(ModuleOp module, const target::PriceModel &model) {
  double seconds = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    llvm::Expected<target::Estimate> estimate =
        target::estimate(function, model);
    if (!estimate) {
      llvm::consumeError(estimate.takeError());
      return std::nullopt;
    }
    seconds += estimate->stepSeconds;
  }
  return seconds;
}

std::optional<std::string> compiler::findLossAtLargestSizes(ModuleOp before,
                                                            ModuleOp after,
                                                            StringRef target) {
  auto ranges = before->getAttrOfType<DictionaryAttr>(tp::sizeRangesAttrName);
  if (!ranges)
    return std::nullopt;
  target::SizeTable sizes = target::getStatedSizes(before);
  std::string text;
  for (NamedAttribute range : ranges) {
    int64_t largest = cast<DenseI64ArrayAttr>(range.getValue())[1];
    sizes[range.getName().str()] = largest;
    text += (text.empty() ? "" : ", ") + range.getName().str() + " = " +
            std::to_string(largest);
  }
  llvm::Expected<target::Target> machine = target::loadTarget(target);
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return std::nullopt;
  }
  target::PriceModel model(*machine, std::move(sizes));
  std::optional<double> old = predictSeconds(before, model);
  std::optional<double> now = predictSeconds(after, model);
  if (!old || !now || *now <= *old)
    return std::nullopt;
  return llvm::formatv("the graph is unchanged: at the largest sizes ({0}) a "
                       "step would take {1:f1} us instead of {2:f1} us on {3}",
                       text, *now * 1e6, *old * 1e6, machine->name)
      .str();
}
