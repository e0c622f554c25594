//===- ConstantInputs.cpp - constants that an archive stores --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ConstantInputs.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"

#include <cstring>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;
using archive::ScalarType;

/// Returns the number of `type` at element `offset` of `bytes` as a 64-bit
/// attribute, or null if there is none, and for types that the checker does not
/// compute with.
static TypedAttr readElement(ScalarType type, ArrayRef<std::byte> bytes,
                             uint64_t offset, Builder &builder) {
  auto read = [&]<typename T>(T number) -> std::optional<T> {
    // The offset is as untrusted as the sizes.
    if (offset >= bytes.size() / sizeof(T))
      return std::nullopt;
    std::memcpy(&number, bytes.data() + offset * sizeof(T), sizeof(T));
    return number;
  };
  auto makeInteger = [&](auto number) -> TypedAttr {
    return number ? builder.getI64IntegerAttr(static_cast<int64_t>(*number))
                  : IntegerAttr();
  };
  auto makeFloat = [&](auto number) -> TypedAttr {
    return number ? builder.getF64FloatAttr(static_cast<double>(*number))
                  : FloatAttr();
  };
  auto makeHalf = [&](const llvm::fltSemantics &semantics) -> TypedAttr {
    std::optional<uint16_t> bits = read(uint16_t());
    if (!bits)
      return FloatAttr();
    APFloat number(semantics, APInt(16, *bits));
    return builder.getF64FloatAttr(number.convertToDouble());
  };
  switch (type) {
  case ScalarType::Bool:
    if (std::optional<uint8_t> number = read(uint8_t()))
      return builder.getBoolAttr(*number != 0);
    return IntegerAttr();
  case ScalarType::Byte:
    return makeInteger(read(uint8_t()));
  case ScalarType::Char:
    return makeInteger(read(int8_t()));
  case ScalarType::Short:
    return makeInteger(read(int16_t()));
  case ScalarType::Int:
    return makeInteger(read(int32_t()));
  case ScalarType::Long:
    return makeInteger(read(int64_t()));
  case ScalarType::Half:
    return makeHalf(APFloat::IEEEhalf());
  case ScalarType::BFloat16:
    return makeHalf(APFloat::BFloat());
  case ScalarType::Float:
    return makeFloat(read(float()));
  case ScalarType::Double:
    return makeFloat(read(double()));
  default:
    return nullptr;
  }
}

TypedAttr compiler::readNumber(const archive::Weights &weights,
                               const archive::StoredTensor &tensor,
                               Builder &builder) {
  if (!tensor.isRaw || !weights.hasBytes(tensor))
    return nullptr;
  llvm::Expected<archive::Weights::Bytes> bytes = weights.load(tensor);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return nullptr;
  }
  // A negative offset becomes a large unsigned one, which is out of range.
  return readElement(tensor.dtype, ArrayRef(bytes->data.get(), bytes->size),
                     static_cast<uint64_t>(tensor.storageOffset), builder);
}

void compiler::forEachStoredInput(
    const archive::ProgramArchive &archive, func::FuncOp function,
    archive::InputKind kind, llvm::function_ref<bool(Type)> selects,
    llvm::function_ref<void(unsigned, const archive::Weights &,
                            const archive::StoredTensor &)>
        visit) {
  auto getText = [&](unsigned index, StringRef name) {
    auto text = function.getArgAttrOfType<StringAttr>(index, name);
    return text ? text.getValue() : StringRef();
  };
  std::optional<archive::Weights> weights;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    if (getText(index, tp::TPDialect::kindAttrName) !=
            archive::inputKindName(kind) ||
        !selects(function.getArgument(index).getType()))
      continue;
    if (!weights) {
      llvm::Expected<archive::Weights> opened = archive::Weights::open(archive);
      if (!opened)
        return llvm::consumeError(opened.takeError());
      weights = std::move(*opened);
    }
    if (const archive::StoredTensor *tensor =
            weights->find(getText(index, tp::TPDialect::parameterAttrName)))
      visit(index, *weights, *tensor);
  }
}

bool compiler::hasOneElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 1;
}

void compiler::stateConstantInputs(const archive::ProgramArchive &archive,
                                   func::FuncOp function) {
  Builder builder(function.getContext());
  forEachStoredInput(
      archive, function, archive::InputKind::TensorConstant, hasOneElement,
      [&](unsigned index, const archive::Weights &weights,
          const archive::StoredTensor &tensor) {
        if (TypedAttr value = readNumber(weights, tensor, builder))
          function.setArgAttr(index, tp::TPDialect::valueAttrName, value);
      });
}
