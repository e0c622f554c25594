//===- TorchFunctions.cpp - Python functions of PyTorch ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Graphs captured before autograd contain the functions that the user called:
// torch.cat, F.linear, methods of tensors, Python operators. Each is read as
// the corresponding ATen operator, with its arguments renamed. `detach` is not
// supported: it stops the gradient, which no tp op expresses.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"

using namespace commute;
using namespace commute::vocabulary;
using llvm::StringLiteral;
using llvm::StringRef;

namespace {
/// A function by its Python name, with the corresponding ATen operator.
struct Function {
  StringLiteral target;
  StringLiteral parameters;
  StringLiteral operatorName;
};
} // namespace

static constexpr Function functions[] = {
    {"torch.cat", "tensors dim", "cat.default"},
    {"torch.concat", "tensors dim", "cat.default"},
    {"torch.concatenate", "tensors dim", "cat.default"},
    {"torch.stack", "tensors dim", "stack.default"},

    {"torch.add", "self|input other * alpha", "add.Tensor"},
    {"torch.sub", "self|input other * alpha", "sub.Tensor"},
    {"torch.subtract", "self|input other * alpha", "sub.Tensor"},
    {"torch.mul", "self|input other", "mul.Tensor"},
    {"torch.multiply", "self|input other", "mul.Tensor"},
    {"torch.div", "self|input other * rounding_mode", "div.Tensor_mode"},
    {"torch.true_divide", "self|input other", "div.Tensor"},
    {"torch.Tensor.add", "self other * alpha", "add.Tensor"},
    {"torch.Tensor.sub", "self other * alpha", "sub.Tensor"},
    {"torch.Tensor.mul", "self other", "mul.Tensor"},
    {"torch.Tensor.div", "self other * rounding_mode", "div.Tensor_mode"},
    {"_operator.add", "self other", "add.Tensor"},
    {"_operator.sub", "self other", "sub.Tensor"},
    {"_operator.mul", "self other", "mul.Tensor"},
    {"_operator.truediv", "self other", "div.Tensor"},
    {"_operator.neg", "self", "neg.default"},

    {"torch.nn.functional.relu", "self|input inplace", "relu.default"},
    {"torch.nn.functional.silu", "self|input inplace", "silu.default"},
    {"torch.nn.functional.gelu", "self|input * approximate", "gelu.default"},
    {"torch._C._nn.silu", "self|input", "silu.default"},
    {"torch._C._nn.gelu", "self|input * approximate", "gelu.default"},

    {"torch.reshape", "self|input shape...", "reshape.default"},
    {"torch.flatten", "self|input start_dim end_dim", "flatten.using_ints"},
    {"torch.unflatten", "self|input dim sizes", "unflatten.int"},
    {"torch.squeeze", "self|input dim", "squeeze.dim"},
    {"torch.unsqueeze", "self|input dim", "unsqueeze.default"},
    {"torch.permute", "self|input dims...", "permute.default"},
    {"torch.transpose", "self|input dim0 dim1", "transpose.int"},
    {"torch.swapaxes", "self|input dim0|axis0 dim1|axis1", "transpose.int"},
    {"torch.swapdims", "self|input dim0 dim1", "transpose.int"},
    {"torch.t", "self|input", "t.default"},
    {"torch.broadcast_to", "self|input size...", "expand.default"},
    {"torch.narrow", "self|input dim start length", "narrow.default"},
    {"torch.select", "self|input dim index", "select.int"},
    {"torch.unbind", "self|input dim", "unbind.int"},
    {"torch.split", "self|tensor split_size dim", "split.Tensor"},
    {"torch.split_with_sizes", "self|input split_sizes dim",
     "split_with_sizes.default"},
    {"torch.chunk", "self|input chunks dim", "chunk.default"},
    {"torch.clone", "self|input * memory_format", "clone.default"},

    {"torch.Tensor.view", "self size...", "view.default"},
    {"torch.Tensor.reshape", "self shape...", "reshape.default"},
    {"torch.Tensor.view_as", "self other", "view_as.default"},
    {"torch.Tensor.reshape_as", "self other", "reshape_as.default"},
    {"torch.Tensor.flatten", "self start_dim end_dim", "flatten.using_ints"},
    {"torch.Tensor.unflatten", "self dim sizes...", "unflatten.int"},
    {"torch.Tensor.squeeze", "self dim", "squeeze.dim"},
    {"torch.Tensor.unsqueeze", "self dim", "unsqueeze.default"},
    {"torch.Tensor.permute", "self dims...", "permute.default"},
    {"torch.Tensor.transpose", "self dim0 dim1", "transpose.int"},
    {"torch.Tensor.swapaxes", "self dim0|axis0 dim1|axis1", "transpose.int"},
    {"torch.Tensor.swapdims", "self dim0 dim1", "transpose.int"},
    {"torch.Tensor.t", "self", "t.default"},
    {"torch.Tensor.expand", "self size...", "expand.default"},
    {"torch.Tensor.expand_as", "self other", "expand.default"},
    {"torch.Tensor.narrow", "self dim start length", "narrow.default"},
    {"torch.Tensor.select", "self dim index", "select.int"},
    {"torch.Tensor.unbind", "self dim", "unbind.int"},
    {"torch.Tensor.split", "self split_size dim", "split.Tensor"},
    {"torch.Tensor.split_with_sizes", "self split_sizes dim",
     "split_with_sizes.default"},
    {"torch.Tensor.chunk", "self chunks dim", "chunk.default"},
    {"torch.Tensor.contiguous", "self * memory_format", "contiguous.default"},
    {"torch.Tensor.clone", "self * memory_format", "clone.default"},
};

/// Products compute in the element type of their operands, except under
/// autocast.
static constexpr Function products[] = {
    {"torch.nn.functional.linear", "input weight bias", "linear.default"},
    {"torch._C._nn.linear", "input weight bias", "linear.default"},
    {"torch.matmul", "self|input other", "matmul.default"},
    {"torch.mm", "self|input mat2", "mm.default"},
    {"torch.bmm", "self|input mat2", "bmm.default"},
    {"torch.addmm", "self|input mat1 mat2 * beta alpha", "addmm.default"},
    {"torch.baddbmm", "self|input batch1 batch2 * beta alpha",
     "baddbmm.default"},
    {"torch.Tensor.matmul", "self other|tensor2", "matmul.default"},
    {"torch.Tensor.mm", "self mat2", "mm.default"},
    {"torch.Tensor.bmm", "self mat2", "bmm.default"},
    {"torch.Tensor.addmm", "self mat1 mat2 * beta alpha", "addmm.default"},
    {"torch.Tensor.baddbmm", "self batch1 batch2 * beta alpha",
     "baddbmm.default"},
    {"_operator.matmul", "self other", "matmul.default"},
};

/// Functions of one tensor that are available in `torch` and as a method under
/// the same name.
static constexpr StringLiteral unaryFunctions[] = {
    "neg", "abs", "exp", "log",     "sqrt", "rsqrt", "reciprocal",
    "sin", "cos", "erf", "sigmoid", "tanh", "relu",
};

void vocabulary::addTorchFunctions(Vocabulary &vocabulary) {
  auto getOperator = [](StringRef name) {
    return ("torch.ops.aten." + name).str();
  };
  for (const Function &function : functions)
    vocabulary.addFunction(function.target, function.parameters,
                           getOperator(function.operatorName));
  for (const Function &product : products) {
    vocabulary.addFunction(product.target, product.parameters,
                           getOperator(product.operatorName));
    vocabulary.getOrAdd(product.target).needsOneElementType = true;
  }
  for (StringRef name : unaryFunctions) {
    std::string sameAs = getOperator(name.str() + ".default");
    vocabulary.addFunction(("torch." + name).str(), "self|input", sameAs);
    vocabulary.addFunction(("torch.Tensor." + name).str(), "self", sameAs);
  }
  addTorchIndexing(vocabulary);
  addTorchWriters(vocabulary);
}
