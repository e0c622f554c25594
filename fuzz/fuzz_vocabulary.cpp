//===- fuzz_vocabulary.cpp - hostile graphs as tp modules ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What parses and can be read as a tp module must verify, must be written back
// unchanged when nothing changed it, and must still be a legal program after a
// pass and with all its nodes written anew. Every op's interfaces are asked, as
// passes do.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/Pipeline.h"
#include "commute/Vocabulary/Translation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/ErrorHandling.h"

#include <memory>

using namespace commute;
using vocabulary::DistributedContext;
using vocabulary::ImportedProgram;

static void require(bool condition, const char *message) {
  if (!condition)
    llvm::report_fatal_error(message);
}

static const vocabulary::Vocabulary &getVocabulary() {
  static const auto vocabulary = [] {
    auto result = std::make_unique<vocabulary::Vocabulary>();
    llvm::cantFail(result->addUserVocabulary(
        R"({"version": 1, "operators": {"torch.ops.mylib.norm.default": {)"
        R"("same_as": "torch.ops.tensor_cast.rms_norm.default", )"
        R"("arguments": {"x": "input"}}}})",
        "fuzz"));
    return result;
  }();
  return *vocabulary;
}

/// What users may state: nothing, groups, or groups and placements.
static std::vector<DistributedContext> getContexts() {
  std::vector<DistributedContext> contexts(3);
  contexts[1].groups = {{"0", {{0, 1}}}, {"1", {{0, 2}, {1, 3}}}};
  contexts[1].rank = 1;
  contexts[2] = contexts[1];
  contexts[2].groups["0"] = {{3, 2, 1, 0}};
  contexts[2].rules = {{".*", "replicated", ""}, {".*", "shard(0)", "0"}};
  return contexts;
}

static void askInterfaces(mlir::ModuleOp module) {
  // Sizes as at capture, absurd ones, and none.
  auto two = [](llvm::StringRef) -> std::optional<int64_t> { return 2; };
  auto huge = [](llvm::StringRef) -> std::optional<int64_t> {
    return INT64_MAX;
  };
  auto unknown = [](llvm::StringRef) -> std::optional<int64_t> {
    return std::nullopt;
  };
  std::string text;
  llvm::raw_string_ostream os(text);
  module.walk([&](mlir::Operation *op) {
    if (auto ruled = llvm::dyn_cast<tp::DimensionRuleOpInterface>(op))
      ruled.getDimensionRule().print(os);
    if (auto worker = llvm::dyn_cast<tp::WorkOpInterface>(op))
      for (tp::SymbolValues symbols :
           {tp::SymbolValues(two), tp::SymbolValues(huge),
            tp::SymbolValues(unknown)})
        (void)worker.getWork(symbols);
  });
  module.print(os);
}

static std::string exportText(const ImportedProgram &imported,
                              archive::Program &program) {
  auto edits = vocabulary::exportProgram(*imported.module, imported, program,
                                         getVocabulary());
  if (!edits)
    llvm::report_fatal_error(edits.takeError());
  return edits->apply(program);
}

/// A program that we have written.
static void checkLegal(std::string text, const DistributedContext &context,
                       mlir::MLIRContext &mlirContext) {
  auto program = archive::parseProgram(std::move(text), "output");
  if (!program)
    llvm::report_fatal_error(program.takeError());
  auto imported = vocabulary::importProgram(**program, getVocabulary(), context,
                                            &mlirContext);
  if (!imported)
    llvm::report_fatal_error(imported.takeError());
  require(succeeded(mlir::verify(*imported->module)),
          "the result does not verify");
}

static void check(archive::Program &program, const DistributedContext &context,
                  mlir::MLIRContext &mlirContext) {
  auto imported = vocabulary::importProgram(program, getVocabulary(), context,
                                            &mlirContext);
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return;
  }
  require(succeeded(mlir::verify(*imported->module)),
          "what was read does not verify");
  auto edits = vocabulary::exportProgram(*imported->module, *imported, program,
                                         getVocabulary());
  if (!edits)
    llvm::report_fatal_error(edits.takeError());
  require(edits->changesNothing(program), "reading and writing is a change");
  askInterfaces(*imported->module);

  mlir::PassManager manager(&mlirContext);
  llvm::cantFail(buildPipeline(manager, "contiguous-collectives"));
  require(succeeded(manager.run(*imported->module)), "a pass fails");
  checkLegal(exportText(*imported, program), context, mlirContext);

  // Everything anew: what no vocabulary can write is an error, and no more.
  for (vocabulary::NodeRecord &record : imported->records)
    record.roots.clear();
  auto anew = vocabulary::exportProgram(*imported->module, *imported, program,
                                        getVocabulary());
  if (!anew) {
    llvm::consumeError(anew.takeError());
    return;
  }
  checkLegal(anew->apply(program), context, mlirContext);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  auto program = archive::parseProgram(std::move(text), "input");
  if (!program) {
    llvm::consumeError(program.takeError());
    return 0;
  }
  for (const DistributedContext &context : getContexts()) {
    // Diagnostics of the verifier belong to hostile graphs.
    mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
    mlir::ScopedDiagnosticHandler handler(
        &mlirContext, [](mlir::Diagnostic &) { return mlir::success(); });
    check(**program, context, mlirContext);
  }
  return 0;
}
