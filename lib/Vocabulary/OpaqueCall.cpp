//===- OpaqueCall.cpp - nodes imported as opaque calls ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OpaqueCall.h"

#include "ElementTypes.h"
#include "InPlace.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using archive::Node;

Type vocabulary::getValueType(GraphReader &graph, const Argument &value,
                              MLIRContext *context) {
  Type type;
  switch (value.tag) {
  case ArgumentTag::Tensor:
    type = graph.getTensorType(value.text);
    break;
  case ArgumentTag::SymInt:
    type = IndexType::get(context);
    break;
  case ArgumentTag::SymBool:
    type = IntegerType::get(context, 1);
    break;
  case ArgumentTag::SymFloat:
    type = Float64Type::get(context);
    break;
  default:
    break;
  }
  return type ? type : tp::OpaqueType::get(context);
}

/// Returns the text of a node's arguments with operand names replaced by "%0",
/// "%1" and so on. Calls that differ only in operand names must compare equal.
static std::string getOpaqueArguments(GraphReader &graph,
                                      const archive::Program &program,
                                      const Node &node) {
  unsigned operand = 0;
  return program.getInputsText(
      node, [&](const Argument &value) -> std::optional<std::string> {
        if (!graph.getValue(value.text))
          return std::nullopt;
        return "%" + std::to_string(operand++);
      });
}

/// Returns true for an assertion about a tensor's element type alone, which is
/// this one.
static bool assertsElementType(const Node &node, Type type) {
  const Argument *asserted = node.find("dtype");
  if (node.target != "torch.ops.aten._assert_tensor_metadata.default" ||
      !asserted || asserted->tag != ArgumentTag::ScalarType ||
      asserted->integer != static_cast<int64_t>(getScalarType(type)))
    return false;
  for (StringRef name : {"size", "stride"})
    if (const Argument *argument = node.find(name);
        argument && argument->tag != ArgumentTag::None)
      return false;
  return true;
}

tp::CallOp vocabulary::createOpaqueCall(GraphReader &graph,
                                        const archive::Program &program,
                                        const Node &node,
                                        const OperatorEntry *entry,
                                        const OperatorAlias *alias,
                                        OpBuilder &builder, Location location) {
  SmallVector<Value> operands;
  SmallVector<int64_t> dense, mutated;
  SmallVector<size_t, 2> mutatedInputs =
      getMutatedInputs(node, entry, alias, program.graph.holdsFunctions);
  for (auto [position, input] : llvm::enumerate(node.inputs)) {
    bool isDense =
        entry && llvm::any_of(entry->denseArguments, [&](StringRef argument) {
          return input.name == (alias ? alias->getOwnName(argument) : argument);
        });
    bool isMutated = llvm::is_contained(mutatedInputs, position);
    input.value.forEachValue([&](const Argument &value) {
      Value operand = graph.getValue(value.text);
      if (!operand)
        return;
      if (isa<RankedTensorType>(operand.getType())) {
        if (isDense)
          dense.push_back(operands.size());
        if (isMutated)
          mutated.push_back(operands.size());
      }
      operands.push_back(operand);
    });
  }
  SmallVector<Type> types;
  for (const Argument &output : node.outputs)
    output.forEachValue([&](const Argument &value) {
      types.push_back(getValueType(graph, value, builder.getContext()));
    });
  auto call = tp::CallOp::create(
      builder, location, types, builder.getStringAttr(node.target), operands,
      builder.getStringAttr(getOpaqueArguments(graph, program, node)),
      builder.getDenseI64ArrayAttr(dense),
      builder.getDenseI64ArrayAttr(mutated));
  // The result of a known operator that is not a view is fresh memory.
  if (entry && entry->read && !entry->mayAlias && mutatedInputs.empty())
    call.setFreshResults(true);
  if (operands.size() == 1 &&
      assertsElementType(node, getElementTypeOrSelf(operands.front())))
    call.setReadsTypes(true);
  return call;
}
