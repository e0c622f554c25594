//===- RandomOperators.cpp - operators that draw random numbers -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RandomOperators.h"

#include "llvm/ADT/StringSet.h"

using namespace commute;

bool equivalence::isRandomOperator(llvm::StringRef callee) {
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
      "lstm",
      "gru",
      "rnn_tanh",
      "rnn_relu",
      "philox_rand"};
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
