//===- count_collectives.cpp - a program that uses Commute ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Optimizes an archive in memory, and prints the number of its collectives
// before and after.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Compiler/Optimization.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;

static unsigned countCollectives(mlir::ModuleOp module) {
  unsigned count = 0;
  module.walk([&](tp::CollectiveOpInterface) { ++count; });
  return count;
}

static llvm::Error run(llvm::StringRef path) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  report::RemarkCollector remarks;
  if (failed(remarks.attach(context)))
    return llvm::createStringError("the remarks cannot be collected");
  vocabulary::Vocabulary vocabulary;
  llvm::Expected<compiler::LoadedProgram> program =
      compiler::readProgramFile(path, vocabulary, compiler::StatedFacts(),
                                archive::ContainerLimits(), context);
  if (!program)
    return program.takeError();
  llvm::outs() << "before: " << countCollectives(program->getModule()) << '\n';
  compiler::OptimizationOptions options;
  options.settings.policy = Policy::Always;
  llvm::Expected<compiler::Optimization> result =
      compiler::optimize(program->getModule(), options, remarks);
  if (!result)
    return result.takeError();
  llvm::outs() << "after: " << countCollectives(program->getModule()) << '\n';
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: count_collectives ARCHIVE.pt2\n";
    return 2;
  }
  if (llvm::Error error = run(argv[1])) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
    return 2;
  }
  return 0;
}
