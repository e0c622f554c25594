//===- OperatorCall.h - the operator that a node calls ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// After functionalization, an operator that writes into its arguments is an
// argument of the operator auto_functionalized, which copies these arguments,
// calls the operator, and returns the copies behind the operator's results. In
// its second version, the arguments are views of a list of tensors.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_OPERATORCALL_H
#define COMMUTE_LIB_VOCABULARY_OPERATORCALL_H

#include "commute/Archive/Graph.h"

namespace commute::vocabulary {

/// How a node calls its operator.
enum class CallForm {
  Direct,
  /// auto_functionalized(operator, arguments by name...)
  Functionalized,
  /// auto_functionalized_v2(operator, arguments by name..., _all_bases=[...])
  FunctionalizedViews,
};
CallForm getCallForm(const archive::Node &node);

/// Returns the operator that a node calls: usually its target.
llvm::StringRef getCalledOperator(const archive::Node &node);

/// A call of an operator, whatever form the node has.
struct OperatorCall {
  CallForm form = CallForm::Direct;
  llvm::StringRef target;
  /// Arguments by the names of the operator's own schema.
  std::vector<archive::NamedArgument> inputs;
  /// The values that the operator returns, and their positions among the
  /// node's outputs.
  std::vector<const archive::Argument *> returned;
  /// The arguments that the operator writes into, with their values after the
  /// call. Empty for a direct call.
  std::vector<std::pair<llvm::StringRef, const archive::Argument *>> written;
};

/// Returns the call of a node whose operator writes into the arguments
/// `mutated`, in the order of its schema. Returns nullopt if an argument is a
/// view of another tensor, or if the results do not match.
std::optional<OperatorCall>
getOperatorCall(const archive::Node &node,
                llvm::ArrayRef<llvm::StringRef> mutated);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_OPERATORCALL_H
