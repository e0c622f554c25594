//===- Measurement.cpp - timing of small programs ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Measurement.h"

#include "commute/Analysis/MainFunction.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace commute;
using namespace commute::calibration;

Measurement::Measurement(int64_t numRanks, runtime::MpiWorld *processes)
    : ranks(llvm::to_vector(llvm::seq<int64_t>(0, numRanks))),
      processes(processes) {
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
}

/// Returns a tensor of ones, so that products and sums stay normal numbers.
static runtime::TensorValue makeInput(RankedTensorType type) {
  std::shared_ptr<runtime::Tensor> tensor =
      runtime::Tensor::allocate(type.getShape(), type.getElementType());
  std::vector<double> ones(tensor->getNumElements(), 1);
  runtime::storeElements(tensor->getKind(), ones.data(), ones.size(),
                         tensor->getMutableData());
  return tensor;
}

llvm::Expected<Measured> Measurement::measure(StringRef program,
                                              unsigned repetitions) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  if (!module)
    return llvm::createStringError("a calibration program is not legal");
  func::FuncOp function = analysis::getMain(*module);
  llvm::Expected<runtime::RunnableProgram> runnable =
      runtime::RunnableProgram::create(
          function, [](Location) { return std::string("calibration"); });
  if (!runnable)
    return runnable.takeError();
  auto getInput = [&](unsigned argument,
                      int64_t) -> llvm::Expected<runtime::TensorValue> {
    return makeInput(
        cast<RankedTensorType>(function.getArgumentTypes()[argument]));
  };
  runtime::RunOptions options;
  options.repetitions = repetitions + 1;
  llvm::Expected<std::vector<runtime::RankOutcome>> outcomes =
      processes
          ? runtime::runOnProcesses(*runnable, *processes, getInput, options)
          : runtime::runOnThreads(*runnable, ranks, getInput, options);
  if (!outcomes)
    return outcomes.takeError();
  Measured measured;
  for (const runtime::RankOutcome &outcome : *outcomes)
    measured.seconds = std::max(measured.seconds, outcome.seconds.count());
  function.walk([&](tp::WorkOpInterface op) {
    auto noSymbols = [](StringRef) { return std::optional<int64_t>(); };
    tp::Work work = op.getWork(noSymbols).value_or(tp::Work());
    measured.matmulFlops += double(work.matmulFlops);
    measured.elementwiseFlops += double(work.elementwiseFlops);
    measured.memoryBytes += double(work.bytesRead) + double(work.bytesWritten);
  });
  return measured;
}
