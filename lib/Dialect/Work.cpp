//===- Work.cpp - what an op costs, free of any machine ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/Work.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute::tp;

std::optional<int64_t> commute::tp::getNumBytes(Type type,
                                                SymbolValues symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  std::optional<int64_t> elements = evaluateNumElements(tensor, symbols);
  if (!elements)
    return std::nullopt;
  Type element = tensor.getElementType();
  int64_t components = 1;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    element = complex.getElementType();
    components = 2;
  }
  return llvm::checkedMul<int64_t>(
      *elements,
      components * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

std::optional<Work> commute::tp::getStreamingWork(Operation *op,
                                                  int64_t flopsPerElement,
                                                  SymbolValues symbols) {
  auto getTotal = [&](TypeRange types) {
    std::optional<int64_t> total = 0;
    for (Type type : types) {
      std::optional<int64_t> bytes = getNumBytes(type, symbols);
      total = total && bytes ? llvm::checkedAdd(*total, *bytes) : std::nullopt;
    }
    return total;
  };
  std::optional<int64_t> read = getTotal(op->getOperandTypes());
  std::optional<int64_t> written = getTotal(op->getResultTypes());
  if (!read || !written)
    return std::nullopt;
  Work work;
  work.bytesRead = *read;
  work.bytesWritten = *written;
  if (op->getNumResults() > 0 && flopsPerElement > 0) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    std::optional<int64_t> elements =
        type ? evaluateNumElements(type, symbols) : 0;
    std::optional<int64_t> flops =
        elements ? llvm::checkedMul(*elements, flopsPerElement) : std::nullopt;
    if (!flops)
      return std::nullopt;
    work.elementwiseFlops = *flops;
  }
  return work;
}
