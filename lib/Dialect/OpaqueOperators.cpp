//===- OpaqueOperators.cpp - what calls do besides computing ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/OpaqueOperators.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace commute::tp;

bool commute::tp::isRandomOperator(llvm::StringRef callee) {
  // Names without namespace, overload, and the underscore of in-place forms.
  static const llvm::StringSet<> names = {
      "rand",
      "rand_like",
      "randn",
      "randn_like",
      "randint",
      "randint_like",
      "randperm",
      "bernoulli",
      "binomial",
      "cauchy",
      "dropout",
      "alpha_dropout",
      "feature_dropout",
      "feature_alpha_dropout",
      "exponential",
      "geometric",
      "log_normal",
      "multinomial",
      "normal",
      "normal_functional",
      "poisson",
      "random",
      "rrelu",
      "rrelu_with_noise",
      "rrelu_with_noise_functional",
      "sample_dirichlet",
      "standard_gamma",
      "uniform",
      "native_dropout",
      "fused_dropout",
      "fused_moving_avg_obs_fq_helper",
      "fractional_max_pool2d",
      "fractional_max_pool3d",
      "scaled_dot_product_attention",
      "scaled_dot_product_flash_attention",
      "scaled_dot_product_efficient_attention",
      "scaled_dot_product_cudnn_attention",
      "scaled_dot_product_fused_attention_overrideable",
      "scaled_dot_product_attention_math",
      "scaled_dot_product_attention_math_for_mps",
      "scaled_dot_product_flash_attention_for_cpu",
      "flash_attention_forward",
      "flash_attention_forward_no_dropout_inplace",
      "efficient_attention_forward",
      "cudnn_attention_forward",
      "cudnn_init_dropout_state",
      "triton_scaled_dot_attention",
      "fill_mem_eff_dropout_mask",
      "lstm_mps",
      "lstm",
      "gru",
      "rnn_tanh",
      "rnn_relu",
      "philox_rand",
      "cudnn_rnn",
      "miopen_rnn"};
  llvm::StringRef name = callee;
  // torch.ops.aten.rand.default, aten::rand, torch.nn.functional.dropout.
  if (name.consume_front("torch.ops.")) {
    name = name.split('.').second.split('.').first;
  } else {
    name = name.rsplit("::").second.empty() ? name : name.rsplit("::").second;
    name = name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
  }
  return names.contains(name.trim('_'));
}

/// Returns true if a call takes a process group: by name, as an object, or as
/// an argument that operators of serving engines call so.
static bool takesProcessGroup(llvm::StringRef arguments) {
  return llvm::any_of(
      std::initializer_list<llvm::StringRef>{"group_name\"",
                                             "\"process_group\"", "\"group\"",
                                             "\"pg\"", "c10d.ProcessGroup"},
      [&](llvm::StringRef sign) { return arguments.contains(sign); });
}

std::optional<CallEffects> commute::tp::parseCallEffects(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<CallEffects>>(text)
      .Case("none", CallEffects::None)
      .Case("random", CallEffects::Random)
      .Case("communication", CallEffects::Communication)
      .Default(std::nullopt);
}

/// Returns true for the namespaces of PyTorch's own operators that compute.
static bool isOwnOperator(llvm::StringRef callee) {
  return callee.starts_with("torch.ops.aten.") ||
         callee.starts_with("torch.ops.prims.");
}

CallEffects commute::tp::getCallEffects(CallOp call) {
  if (auto stated = call->getAttrOfType<mlir::StringAttr>(effectsAttrName))
    return parseCallEffects(stated.getValue()).value_or(CallEffects::Unknown);
  if (isSizeComputation(call))
    return CallEffects::None;
  llvm::StringRef callee = call.getCallee();
  if (takesProcessGroup(call.getArguments()) ||
      llvm::any_of(
          std::initializer_list<llvm::StringRef>{
              "torch.ops.c10d.", "torch.ops._c10d_functional.",
              "torch.ops._c10d_functional_autograd.",
              "torch.ops.c10d_functional.", "torch.ops.symm_mem.",
              "torch.ops._dtensor.", "torch.distributed."},
          [&](llvm::StringRef space) { return callee.starts_with(space); }))
    return CallEffects::Communication;
  if (isRandomOperator(callee))
    return CallEffects::Random;
  return isOwnOperator(callee) ? CallEffects::None : CallEffects::Unknown;
}

bool commute::tp::isSizeComputation(CallOp call) {
  if (!call.getMutatedOperands().empty() || call->getNumResults() == 0 ||
      llvm::any_of(call->getResultTypes(),
                   llvm::IsaPred<mlir::RankedTensorType>))
    return false;
  llvm::StringRef callee = call.getCallee();
  return callee.starts_with("torch.ops.aten.sym_") ||
         callee.starts_with("torch.sym_") || callee.starts_with("_operator.") ||
         callee.starts_with("operator.") || callee.starts_with("math.") ||
         callee.starts_with("builtins.");
}

bool commute::tp::isAssertion(CallOp call) {
  llvm::StringRef name = call.getCallee();
  return call.getMutatedOperands().empty() && call->getNumResults() == 0 &&
         name.consume_front("torch.ops.aten.") &&
         llvm::is_contained({"_assert_tensor_metadata.default",
                             "_assert_scalar.default", "_assert_async.msg",
                             "sym_constrain_range.default",
                             "sym_constrain_range_for_size.default"},
                            name);
}

bool commute::tp::hasKnownEffects(CallOp call) {
  return call.getMutatedOperands().empty() &&
         (isAssertion(call) || getCallEffects(call) == CallEffects::Random);
}

bool commute::tp::readsTypesAlone(CallOp call) {
  if (call.getReadsTypes())
    return true;
  llvm::StringRef name = call.getCallee();
  if (!name.consume_front("torch.ops.aten.") ||
      !call.getMutatedOperands().empty())
    return false;
  name = name.split('.').first;
  // Numbers among the operands are read, too.
  return (name.ends_with("_like") || name.starts_with("new_")) &&
         llvm::all_of(call.getOperandTypes(),
                      llvm::IsaPred<mlir::RankedTensorType>);
}

bool commute::tp::mayHaveEffects(CallOp call) {
  // An assertion about element types holds in the program as it is.
  if (isSizeComputation(call) ||
      (call.getReadsTypes() && call->getNumResults() == 0))
    return false;
  if (!call.getMutatedOperands().empty() ||
      getCallEffects(call) != CallEffects::None)
    return true;
  llvm::StringRef callee = call.getCallee();
  if (!isOwnOperator(callee))
    return false;
  // The operator's name without namespace and overload.
  llvm::StringRef name = callee.rsplit('.').first.rsplit('.').second;
  return call->getNumResults() == 0 || name.ends_with("_") ||
         name.starts_with("_assert") || name.starts_with("_functional_assert");
}

/// Returns the name of an operator of PyTorch's functional collectives, which
/// have several libraries; empty for any other operator.
static llvm::StringRef getFunctionalCollective(CallOp call) {
  llvm::StringRef name = call.getCallee();
  for (llvm::StringRef library :
       {"torch.ops._c10d_functional.", "torch.ops._c10d_functional_autograd.",
        "torch.ops.c10d_functional."})
    if (name.consume_front(library))
      return name.split('.').first;
  return "";
}

bool commute::tp::startsCommunication(CallOp call) {
  llvm::StringRef name = getFunctionalCollective(call);
  if (!name.empty())
    return name != "wait_tensor" && name != "_wrap_tensor_autograd";
  name = call.getCallee();
  return name.consume_front("torch.ops.symm_mem.") &&
         name.starts_with("_low_contention_");
}

mlir::Value commute::tp::getAwaited(CallOp call) {
  bool isWait = getFunctionalCollective(call) == "wait_tensor" &&
                call->getNumOperands() > 0;
  return isWait ? call->getOperand(0) : mlir::Value();
}

bool commute::tp::readsNoElements(CallOp call) {
  // The tensor that _wrap_tensor_autograd returns waits when it is used.
  return isSizeComputation(call) || readsTypesAlone(call) ||
         call.getCallee() == "commute.share_memory" ||
         getFunctionalCollective(call) == "_wrap_tensor_autograd";
}
