//===- ProgramBuilder.h - small exported programs for tests -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Writes programs as PyTorch 2.13 does, from lists of inputs and nodes, and
// reads them as tp modules.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_VOCABULARY_PROGRAMBUILDER_H
#define COMMUTE_UNITTESTS_VOCABULARY_PROGRAMBUILDER_H

#include "commute/Archive/Program.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Vocabulary/Translation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace commute::test {

/// A size or stride: a number, or a symbolic expression.
struct Size {
  Size(int number) : text(std::to_string(number)) {}
  Size(int64_t number) : text(std::to_string(number)) {}
  /// SymPy text, with the value at capture.
  Size(std::string expression, int64_t hint)
      : text(std::move(expression)), hint(hint) {}
  std::string toJson() const;

  std::string text;
  std::optional<int64_t> hint;
};

/// Numbers of element types in the export schema.
enum Dtype { i32 = 4, i64 = 5, f16 = 6, f32 = 7, boolean = 12, bf16 = 13 };

/// A tensor of the graph; without strides it is dense.
struct Tensor {
  std::string name;
  std::vector<Size> sizes;
  int dtype = f32;
  std::vector<Size> strides = {};
};

/// Arguments of a node, as JSON: PyTorch writes them in schema order.
std::string argument(llvm::StringRef name, llvm::StringRef json);
std::string tensor(llvm::StringRef name, llvm::StringRef value);
std::string tensors(llvm::StringRef name,
                    const std::vector<std::string> &values);
std::string integer(llvm::StringRef name, int64_t value);
std::string integers(llvm::StringRef name, const std::vector<int64_t> &values);
std::string number(llvm::StringRef name, llvm::StringRef value);
std::string truth(llvm::StringRef name, bool value);
std::string text(llvm::StringRef name, llvm::StringRef value);
std::string none(llvm::StringRef name);

class ProgramBuilder {
public:
  ProgramBuilder &input(const Tensor &tensor);
  ProgramBuilder &parameter(const Tensor &tensor, llvm::StringRef target);
  ProgramBuilder &customObject(llvm::StringRef name);
  /// `target` without "torch.ops."; one tensor result after the other.
  ProgramBuilder &node(llvm::StringRef target,
                       const std::vector<std::string> &arguments,
                       const std::vector<Tensor> &results);
  /// The same with one list of tensors as the result.
  ProgramBuilder &listNode(llvm::StringRef target,
                           const std::vector<std::string> &arguments,
                           const std::vector<Tensor> &results);
  /// A call of a Python function, whose target is given whole; arguments
  /// without name are positional. With `isFunctional` its producer states that
  /// it writes into nothing.
  ProgramBuilder &functionNode(llvm::StringRef target,
                               const std::vector<std::string> &arguments,
                               const std::vector<Tensor> &results,
                               bool isFunctional = false);
  /// A node whose outputs are given as JSON.
  ProgramBuilder &rawNode(llvm::StringRef target, llvm::StringRef name,
                          const std::vector<std::string> &arguments,
                          llvm::StringRef outputs);
  ProgramBuilder &output(llvm::StringRef name);
  /// Metadata for a tensor that is in no list of results.
  ProgramBuilder &value(const Tensor &tensor);
  std::string text() const;

private:
  ProgramBuilder &addNode(llvm::StringRef target, llvm::StringRef name,
                          const std::vector<std::string> &arguments,
                          llvm::StringRef outputs, bool isFunctional);
  /// The results as outputs of a node, whose metadata is noted.
  std::string addResults(const std::vector<Tensor> &results);

  std::vector<std::string> inputs, inputSpecs, nodes, values, outputs,
      outputSpecs;
  bool holdsFunctions = false;
};

/// A program with the module that was read from it.
struct Imported {
  std::unique_ptr<archive::Program> program;
  vocabulary::ImportedProgram imported;

  mlir::ModuleOp getModule() const { return *imported.module; }
  mlir::Block &getBody() const;
  /// The op that gives the value of this graph name; fails the test when there
  /// is none.
  mlir::Operation *getOp(llvm::StringRef name) const;
  /// The module without what ties it to the graph.
  std::string print() const;
};

/// Everything a test needs to translate: one context, and the vocabulary.
class Translator {
public:
  Translator();

  llvm::Expected<Imported> tryImport(std::string text);
  /// Fails the test on an error.
  Imported import(std::string text);
  Imported import(const ProgramBuilder &builder) {
    return import(builder.text());
  }
  /// The message of the error, "" where there is none.
  std::string getImportError(const ProgramBuilder &builder);
  /// What is remarked while the program is read, "" for nothing.
  std::string getImportRemarks(const ProgramBuilder &builder);
  llvm::Expected<archive::ProgramEdits> exportEdits(Imported &imported) const;
  /// The program with the module's changes; fails the test on an error.
  std::string exportText(Imported &imported) const;

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  report::RemarkCollector remarks;
  vocabulary::Vocabulary vocabulary;
  vocabulary::DistributedContext distributed;
};

} // namespace commute::test

#endif // COMMUTE_UNITTESTS_VOCABULARY_PROGRAMBUILDER_H
