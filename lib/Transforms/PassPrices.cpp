//===- PassPrices.cpp - the prices that a pass goes by ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PassPrices.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/SymbolNames.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace commute;

/// Values for all symbols of a function: stated values, else examples.
static target::SizeTable getSizes(func::FuncOp function,
                                  const analysis::SymbolicSizes &sizes) {
  target::SizeTable table =
      target::getStatedSizes(function->getParentOfType<ModuleOp>());
  auto addSymbols = [&](Type type) {
    for (StringAttr symbol : tp::getSymbolNames(type))
      table.try_emplace(symbol.str(), sizes.getExample(symbol.getValue()));
  };
  // A rewrite must pay at the smallest size that the program is compiled for:
  // sharding and fusion pay for the work on many rows.
  if (auto ranges =
          function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
              tp::sizeRangesAttrName))
    for (NamedAttribute range : ranges) {
      StringRef symbol = range.getName();
      auto ends = cast<DenseI64ArrayAttr>(range.getValue());
      table[symbol.str()] =
          sizes.getValueFrom(symbol, ends[0]).value_or(ends[0]);
    }
  llvm::for_each(function.getArgumentTypes(), addSymbols);
  function.walk(
      [&](Operation *op) { llvm::for_each(op->getResultTypes(), addSymbols); });
  return table;
}

PassPrices::PassPrices(target::Target target, analysis::SymbolicSizes sizes,
                       func::FuncOp function)
    : target(std::move(target)), sizes(std::move(sizes)),
      model(this->target, ::getSizes(function, this->sizes)) {}

llvm::Expected<std::unique_ptr<PassPrices>>
PassPrices::load(StringRef targetName, func::FuncOp function) {
  llvm::Expected<target::Target> target = target::loadTarget(targetName);
  if (!target)
    return target.takeError();
  llvm::Expected<analysis::SymbolicSizes> sizes =
      analysis::SymbolicSizes::resolve(function->getParentOfType<ModuleOp>());
  if (!sizes)
    return sizes.takeError();
  return std::unique_ptr<PassPrices>(
      new PassPrices(std::move(*target), std::move(*sizes), function));
}

std::string commute::formatMicroseconds(double seconds) {
  double microseconds = seconds * 1e6;
  return llvm::formatv(microseconds < 10 ? "{0:f2} us" : "{0:f1} us",
                       microseconds);
}

std::string commute::describeMargin(double before, double after,
                                    double margin) {
  if (after >= before)
    return "";
  return llvm::formatv("; the gain of {0:f1} % is below the margin of {1:f1} %",
                       (before / after - 1) * 100, margin * 100);
}
