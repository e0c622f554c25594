//===- ElementTypes.cpp - PyTorch's element types in MLIR -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace commute;
using archive::ScalarType;

Type vocabulary::getElementType(ScalarType type, MLIRContext *context) {
  auto getInteger = [&](unsigned width,
                        IntegerType::SignednessSemantics signedness =
                            IntegerType::Signless) -> Type {
    return IntegerType::get(context, width, signedness);
  };
  switch (type) {
  case ScalarType::Unknown:
    return {};
  case ScalarType::Byte:
    return getInteger(8, IntegerType::Unsigned);
  case ScalarType::Char:
    return getInteger(8);
  case ScalarType::Short:
    return getInteger(16);
  case ScalarType::Int:
    return getInteger(32);
  case ScalarType::Long:
    return getInteger(64);
  case ScalarType::Half:
    return Float16Type::get(context);
  case ScalarType::Float:
    return Float32Type::get(context);
  case ScalarType::Double:
    return Float64Type::get(context);
  case ScalarType::ComplexHalf:
    return ComplexType::get(Float16Type::get(context));
  case ScalarType::ComplexFloat:
    return ComplexType::get(Float32Type::get(context));
  case ScalarType::ComplexDouble:
    return ComplexType::get(Float64Type::get(context));
  case ScalarType::Bool:
    return getInteger(1);
  case ScalarType::BFloat16:
    return BFloat16Type::get(context);
  case ScalarType::UInt16:
    return getInteger(16, IntegerType::Unsigned);
  case ScalarType::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ScalarType::Float8E5M2:
    return Float8E5M2Type::get(context);
  case ScalarType::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ScalarType::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ScalarType::Float8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case ScalarType::UInt32:
    return getInteger(32, IntegerType::Unsigned);
  case ScalarType::UInt64:
    return getInteger(64, IntegerType::Unsigned);
  }
  return {};
}

ScalarType vocabulary::getScalarType(Type type) {
  static constexpr ScalarType all[] = {
      ScalarType::Byte,           ScalarType::Char,
      ScalarType::Short,          ScalarType::Int,
      ScalarType::Long,           ScalarType::Half,
      ScalarType::Float,          ScalarType::Double,
      ScalarType::ComplexHalf,    ScalarType::ComplexFloat,
      ScalarType::ComplexDouble,  ScalarType::Bool,
      ScalarType::BFloat16,       ScalarType::UInt16,
      ScalarType::Float8E4M3FN,   ScalarType::Float8E5M2,
      ScalarType::Float8E4M3FNUZ, ScalarType::Float8E5M2FNUZ,
      ScalarType::Float8E8M0FNU,  ScalarType::UInt32,
      ScalarType::UInt64};
  for (ScalarType candidate : all)
    if (getElementType(candidate, type.getContext()) == type)
      return candidate;
  return ScalarType::Unknown;
}
