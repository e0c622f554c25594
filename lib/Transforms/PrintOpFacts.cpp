//===- PrintOpFacts.cpp - what ops say of themselves ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/TestPasses.h"

#include "commute/Analysis/Placements/PlacementAnalysis.h"
#include "commute/Analysis/Sizes/StrideAnalysis.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace commute {
#define GEN_PASS_DEF_PRINTOPFACTS
#include "commute/Transforms/TestPasses.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {
class PrintOpFactsPass
    : public commute::impl::PrintOpFactsBase<PrintOpFactsPass> {
public:
  using PrintOpFactsBase::PrintOpFactsBase;

  void printPlacements() {
    llvm::Expected<analysis::PlacementAnalysis> found =
        analysis::PlacementAnalysis::run(getOperation());
    if (!found) {
      getOperation().emitError() << llvm::toString(found.takeError());
      signalPassFailure();
      return;
    }
    getOperation().walk([&](Operation *op) {
      for (OpResult result : op->getResults()) {
        std::string text;
        llvm::raw_string_ostream os(text);
        llvm::interleaveComma(found->getGroups(), os, [&](tp::GroupAttr group) {
          os << found->getPlacement(result, group).getText() << " on '"
             << group.getName() << "'";
        });
        op->emitRemark() << "result " << result.getResultNumber() << " is "
                         << text;
      }
    });
    for (const analysis::PlacementProblem &problem :
         found->findProblems(getOperation()))
      problem.op->emitWarning() << problem.message;
  }

  void runOnOperation() final {
    if (placements)
      printPlacements();
    analysis::StrideAnalysis analysis(getOperation());
    DictionaryAttr hints;
    if (auto module = getOperation()->getParentOfType<ModuleOp>())
      hints = module->getAttrOfType<DictionaryAttr>(
          tp::TPDialect::symbolHintsAttrName);
    auto symbols = [&](StringRef name) -> std::optional<int64_t> {
      auto hint = hints ? hints.getAs<IntegerAttr>(name) : IntegerAttr();
      return hint ? std::optional(hint.getInt()) : std::nullopt;
    };
    getOperation().walk([&](Operation *op) {
      std::string text;
      llvm::raw_string_ostream os(text);
      if (auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
          ruled && dimensionRules) {
        ruled.getDimensionRule().print(os);
        op->emitRemark() << text;
        text.clear();
      }
      if (auto worker = dyn_cast<tp::WorkOpInterface>(op); worker && work) {
        if (std::optional<tp::Work> found = worker.getWork(symbols))
          os << "matmul flops " << found->matmulFlops << ", elementwise flops "
             << found->elementwiseFlops << ", bytes read " << found->bytesRead
             << ", bytes written " << found->bytesWritten;
        else
          os << "work depends on symbols";
        op->emitRemark() << text;
        text.clear();
      }
      if (!strides || !isa<tp::StrideOpInterface>(op))
        return;
      for (OpResult result : op->getResults()) {
        analysis::LayoutFact fact = analysis.getLayout(result);
        op->emitRemark() << "result " << result.getResultNumber() << " is "
                         << (fact.density == tp::Density::Dense     ? "dense"
                             : fact.density == tp::Density::Strided ? "strided"
                                                                    : "unknown")
                         << ": " << fact.reason;
      }
    });
  }
};
} // namespace
