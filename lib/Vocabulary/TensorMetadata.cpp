//===- TensorMetadata.cpp - metadata of new tensors -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "TensorMetadata.h"

#include "ElementTypes.h"
#include "SymbolicExpression.h"

#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

TensorMetadata::TensorMetadata(func::FuncOp function, archive::Program &program)
    : program(program), symbols(function.getContext()) {
  if (auto hints =
          function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
              tp::TPDialect::symbolHintsAttrName))
    for (NamedAttribute hint : hints)
      symbolHints[hint.getName().getValue()] =
          cast<IntegerAttr>(hint.getValue()).getInt();
  device.type = "cpu";
  if (!program.graph.tensorValues.empty())
    device = program.graph.tensorValues.begin()->second.device;
}

tp::Size TensorMetadata::readNumber(const archive::SymInt &number) {
  return readSize(number, symbols);
}

archive::SymInt TensorMetadata::getSize(const tp::Size &size) {
  archive::SymInt result;
  if (std::optional<int64_t> constant = tp::getConstant(size)) {
    result.value = constant;
    return result;
  }
  if (writtenSizes.empty()) {
    // Reuse the file's spelling of a size: its symbols may carry assumptions.
    SmallVector<OpaquePart> parts;
    auto note = [&](const archive::SymInt &written) {
      if (!written.isStatic())
        if (AffineExpr expression =
                readSize(written, symbols, &parts).getSymbolic())
          writtenSizes.try_emplace(expression, written);
    };
    for (const auto &[name, meta] : program.graph.tensorValues) {
      llvm::for_each(meta.sizes, note);
      llvm::for_each(meta.strides, note);
    }
    for (const auto &[name, size] : program.graph.symIntValues)
      note(size);
    for (const OpaquePart &part : parts) {
      archive::SymInt written;
      written.expression = part.text;
      writtenSizes.try_emplace(part.symbol, written);
    }
  }
  auto known = writtenSizes.find(size.getSymbolic());
  if (known != writtenSizes.end() && known->second.hint)
    return known->second;
  auto getSpelling = [&](AffineExpr part) -> std::optional<StringRef> {
    auto written = writtenSizes.find(part);
    return written == writtenSizes.end()
               ? std::nullopt
               : std::optional(written->second.expression);
  };
  result.expression =
      program.strings.save(writeSize(size, symbols.getNames(), getSpelling));
  result.hint = tp::evaluate(
      size, symbols.getNames(), [&](StringRef name) -> std::optional<int64_t> {
        auto hint = symbolHints.find(name);
        return hint == symbolHints.end() ? std::nullopt
                                         : std::optional(hint->second);
      });
  return result;
}

archive::TensorMeta TensorMetadata::get(RankedTensorType type,
                                        bool requiresGrad) {
  archive::TensorMeta meta;
  meta.dtype = getScalarType(type.getElementType());
  tp::StridedShape shape = symbols.getShape(type);
  // If strides are unknown, state the layout that most kernels return; PyTorch
  // recomputes strides when the graph runs. Strides that overflow belong to a
  // tensor that does not fit in memory.
  tp::Strides strides =
      shape.strides ? shape.strides : tp::getContiguousStrides(shape.sizes);
  for (const tp::Size &size : shape.sizes)
    meta.sizes.push_back(getSize(size));
  for (const tp::Size &stride :
       strides.value_or(tp::Sizes(shape.sizes.size(), 0)))
    meta.strides.push_back(getSize(stride));
  meta.storageOffset.value = 0;
  meta.requiresGrad = requiresGrad && isa<FloatType>(type.getElementType());
  meta.device = device;
  return meta;
}
