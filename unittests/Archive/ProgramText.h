//===- ProgramText.h - JSON of small exported programs ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A complete small program as PyTorch 2.13 writes it, with parts to replace.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_ARCHIVE_PROGRAMTEXT_H
#define COMMUTE_UNITTESTS_ARCHIVE_PROGRAMTEXT_H

#include "llvm/ADT/StringRef.h"

#include "gtest/gtest.h"

#include <string>

/// Replaces the only occurrence of `from`.
inline std::string replaced(std::string text, llvm::StringRef from,
                            llvm::StringRef to) {
  size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    ADD_FAILURE() << "not exactly once in the text: " << from.str();
    return text;
  }
  return text.replace(at, from.size(), to);
}

/// The metadata of a float32 tensor of 2 x 3.
inline constexpr llvm::StringLiteral tensorMetaText =
    R"({"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 3}], )"
    R"("requires_grad": false, "device": {"type": "cpu", "index": null}, )"
    R"("strides": [{"as_int": 3}, {"as_int": 1}], )"
    R"("storage_offset": {"as_int": 0}, "layout": 7})";

/// y = relu(x); z = add(y, p)
inline std::string programText() {
  std::string meta = tensorMetaText.str();
  return R"({"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "p"}}, )"
         R"({"as_tensor": {"name": "x"}}], )"
         R"("outputs": [{"as_tensor": {"name": "z"}}], "nodes": [)"
         R"({"target": "torch.ops.aten.relu.default", "inputs": [)"
         R"({"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}], )"
         R"("outputs": [{"as_tensor": {"name": "y"}}], "metadata": )"
         R"({"stack_trace": "File \"m.py\", line 7, in forward\n    return relu(x) + 1"}, )"
         R"("is_hop_single_tensor_return": null, "name": "y"}, )"
         R"({"target": "torch.ops.aten.add.Tensor", "inputs": [)"
         R"({"name": "self", "arg": {"as_tensor": {"name": "y"}}, "kind": 1}, )"
         R"({"name": "other", "arg": {"as_tensor": {"name": "p"}}, "kind": 1}], )"
         R"("outputs": [{"as_tensor": {"name": "z"}}], "metadata": {}, )"
         R"("is_hop_single_tensor_return": null, "name": "z"}], )"
         R"("tensor_values": {"p": )" +
         meta + R"(, "x": )" + meta + R"(, "y": )" + meta + R"(, "z": )" +
         meta +
         R"(}, "sym_int_values": {}, "sym_bool_values": {}, )"
         R"("is_single_tensor_return": false, "custom_obj_values": {}, )"
         R"("sym_float_values": {}}, "signature": {"input_specs": [)"
         R"({"parameter": {"arg": {"name": "p"}, "parameter_name": "m.weight"}}, )"
         R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}], )"
         R"("output_specs": [{"user_output": {"arg": {"as_tensor": )"
         R"({"name": "z"}}}}]}, "module_call_graph": [{"fqn": "", "signature": )"
         R"({"inputs": [], "outputs": [], "in_spec": "", "out_spec": "", )"
         R"("forward_arg_names": ["x"]}}, {"fqn": "m", "signature": null}], )"
         R"("metadata": {}, "treespec_namedtuple_fields": {}}, )"
         R"("opset_version": {"aten": 10}, "range_constraints": {}, )"
         R"("schema_version": {"major": 8, "minor": 20}, )"
         R"("verifiers": ["TRAINING"], "torch_version": "2.13.0+cpu", )"
         R"("guards_code": []})";
}

/// The program with this as a third argument of its second node.
inline std::string programWithArgument(llvm::StringRef argument) {
  return replaced(programText(),
                  R"({"name": "other", "arg": {"as_tensor": {"name": "p"}}, )"
                  R"("kind": 1}])",
                  (R"({"name": "other", "arg": {"as_tensor": {"name": "p"}}, )"
                   R"("kind": 1}, {"name": "extra", "arg": )" +
                   argument + R"(, "kind": 2}])")
                      .str());
}

#endif // COMMUTE_UNITTESTS_ARCHIVE_PROGRAMTEXT_H
