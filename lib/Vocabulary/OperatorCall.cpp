//===- OperatorCall.cpp - the operator that a node calls ------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OperatorCall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using archive::Node;
using llvm::StringRef;

/// The operator that an auto_functionalized node calls; null for other nodes.
static const Argument *findCallee(const Node &node) {
  if (!node.target.starts_with("torch.ops.higher_order.auto_functionalized") ||
      node.inputs.empty() || !node.inputs.front().name.empty() ||
      node.inputs.front().value.tag != ArgumentTag::Operator)
    return nullptr;
  return &node.inputs.front().value;
}

CallForm vocabulary::getCallForm(const Node &node) {
  if (!findCallee(node))
    return CallForm::Direct;
  return node.target == "torch.ops.higher_order.auto_functionalized"
             ? CallForm::Functionalized
             : CallForm::FunctionalizedViews;
}

StringRef vocabulary::getCalledOperator(const Node &node) {
  const Argument *callee = findCallee(node);
  return callee ? callee->text : node.target;
}

namespace {
/// The mutated arguments of one auto_functionalized_v2 node.
class ViewReader {
public:
  explicit ViewReader(const Node &node) : node(node) {}

  /// Returns the tensor that is the argument `name`, or null if it is only a
  /// part of one.
  const Argument *find(StringRef name, size_t &position);
  /// Returns true for an optional argument that was not passed.
  bool isNone(StringRef name) {
    const Argument *index = take("_" + name + "_base_index");
    return index && index->tag == ArgumentTag::None;
  }

  const Argument *bases = nullptr;
  /// The arguments that state where other arguments are.
  llvm::SmallPtrSet<const Argument *, 8> used;

private:
  const Argument *take(const llvm::Twine &name) {
    const Argument *found = node.find(name.str());
    if (found)
      used.insert(found);
    return found;
  }

  const Node &node;
  llvm::SmallSet<int64_t, 4> seen;
};
} // namespace

const Argument *ViewReader::find(StringRef name, size_t &position) {
  bases = take("_all_bases");
  const Argument *index = take("_" + name + "_base_index");
  // An alias is the whole tensor; other views have further arguments, which
  // nobody reads.
  take("_" + name + "_alias");
  if (!bases || !index || index->tag != ArgumentTag::Int ||
      index->integer < 0 ||
      index->integer >= static_cast<int64_t>(bases->elements.size()) ||
      !seen.insert(index->integer).second)
    return nullptr;
  position = static_cast<size_t>(index->integer);
  return &bases->elements[position];
}

std::optional<OperatorCall>
vocabulary::getOperatorCall(const Node &node,
                            llvm::ArrayRef<StringRef> mutated) {
  OperatorCall call;
  call.form = getCallForm(node);
  call.target = getCalledOperator(node);
  if (call.form == CallForm::Direct) {
    call.inputs = node.inputs;
    for (const Argument &output : node.outputs)
      call.returned.push_back(&output);
    return call;
  }
  ViewReader views(node);
  // Positions of the written arguments among the outputs behind the results.
  llvm::SmallVector<size_t> positions;
  for (auto [index, name] : llvm::enumerate(mutated)) {
    if (call.form == CallForm::Functionalized) {
      positions.push_back(index);
      continue;
    }
    if (views.isNone(name)) {
      positions.push_back(SIZE_MAX);
      continue;
    }
    const Argument *tensor = views.find(name, positions.emplace_back());
    if (!tensor)
      return std::nullopt;
    call.inputs.push_back({name, *tensor, archive::ArgumentKind::Keyword});
  }
  for (const archive::NamedArgument &input : llvm::drop_begin(node.inputs))
    if (!views.used.contains(&input.value))
      call.inputs.push_back(input);
  size_t numWritten = call.form == CallForm::Functionalized ? mutated.size()
                      : views.bases ? views.bases->elements.size()
                                    : 0;
  // An operator without results returns None.
  if (numWritten == 0 || node.outputs.size() <= numWritten)
    return std::nullopt;
  llvm::ArrayRef<Argument> outputs(node.outputs);
  for (const Argument &output : outputs.drop_back(numWritten))
    if (output.tag != ArgumentTag::None)
      call.returned.push_back(&output);
  static const Argument none;
  for (auto [name, position] : llvm::zip_equal(mutated, positions))
    call.written.emplace_back(
        name, position < numWritten ? &outputs.take_back(numWritten)[position]
                                    : &none);
  return call;
}
