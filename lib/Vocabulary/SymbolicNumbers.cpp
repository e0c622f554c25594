//===- SymbolicNumbers.cpp - symbolic sizes as values of a graph -*- C++ -*-==//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SymbolicNumbers.h"

#include "TensorMetadata.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentKind;
using archive::ArgumentTag;

static Argument getInteger(int64_t value) {
  Argument argument;
  argument.tag = ArgumentTag::Int;
  argument.integer = value;
  return argument;
}

static Argument getNamed(ArgumentTag tag, StringRef name) {
  Argument argument;
  argument.tag = tag;
  argument.text = name;
  return argument;
}

std::optional<Argument> SymbolicNumbers::get(RankedTensorType type,
                                             unsigned dim, int64_t factor,
                                             Location location) {
  return get(tp::multiply(metadata.getSizes(type)[dim], factor), location);
}

std::optional<Argument> SymbolicNumbers::get(const tp::Size &size,
                                             Location location) {
  if (!size)
    return std::nullopt;
  if (std::optional<int64_t> constant = size.getConstant())
    return getInteger(*constant);
  StringRef name = getName(size.getSymbolic(), location);
  if (name.empty())
    return std::nullopt;
  return getNamed(ArgumentTag::SymInt, name);
}

StringRef SymbolicNumbers::getName(AffineExpr size, Location location) {
  auto known = names.find(size);
  if (known != names.end())
    return known->second;
  StringRef name = find(size, location);
  if (name.empty())
    name = compute(size, location);
  // Do not cache failures: the number may be written later.
  if (!name.empty())
    names.try_emplace(size, name);
  return name;
}

StringRef SymbolicNumbers::find(AffineExpr size, Location location) {
  StringRef tensor;
  int64_t tensorDim = 0;
  auto look = [&](Value value) -> StringRef {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bool isNumber = isa<IndexType>(value.getType());
    if (!isNumber && (!type || type.hasStaticShape() || !tensor.empty()))
      return {};
    StringRef name = writer.findWritten(value);
    if (name.empty())
      return {};
    if (isNumber) {
      auto number = graph.symIntValues.find(name);
      bool isWanted = number != graph.symIntValues.end() &&
                      metadata.readNumber(number->second) == tp::Size(size);
      return isWanted ? name : StringRef();
    }
    for (auto [dim, other] : llvm::enumerate(metadata.getSizes(type)))
      if (other == tp::Size(size)) {
        tensor = name;
        tensorDim = dim;
        break;
      }
    return {};
  };
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (StringRef name = look(argument); !name.empty())
      return name;
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (StringRef name = look(result); !name.empty())
        return name;
  if (tensor.empty())
    return {};
  archive::Node node;
  node.target = "torch.ops.aten.sym_size.int";
  node.inputs.push_back({"self", getNamed(ArgumentTag::Tensor, tensor),
                         ArgumentKind::Positional});
  node.inputs.push_back(
      {"dim", getInteger(tensorDim), ArgumentKind::Positional});
  return add(std::move(node), "sym_size_int", size, location);
}

StringRef SymbolicNumbers::compute(AffineExpr size, Location location) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(size);
  if (!binary)
    return {};
  AffineExpr lhs = binary.getLHS(), rhs = binary.getRHS();
  archive::Node node;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    node.target = "_operator.add";
    break;
  case AffineExprKind::Mul:
    node.target = "_operator.mul";
    break;
  case AffineExprKind::Mod:
    node.target = "_operator.mod";
    break;
  case AffineExprKind::CeilDiv:
    // Python's division rounds down.
    lhs = lhs + (rhs - 1);
    [[fallthrough]];
  case AffineExprKind::FloorDiv:
    node.target = "_operator.floordiv";
    break;
  default:
    return {};
  }
  for (auto [name, part] : {std::pair("a", lhs), std::pair("b", rhs)}) {
    std::optional<Argument> operand = get(part, location);
    if (!operand)
      return {};
    node.inputs.push_back({name, *operand, ArgumentKind::Positional});
  }
  StringRef base = node.target.rsplit('.').second;
  return add(std::move(node), base, size, location);
}

StringRef SymbolicNumbers::add(archive::Node node, StringRef base,
                               const tp::Size &size, Location location) {
  StringRef name = writer.makeNumberName(base);
  node.outputs.push_back(getNamed(ArgumentTag::SymInt, name));
  node.name = name;
  writer.addNumber(std::move(node), name, size, location);
  return name;
}
