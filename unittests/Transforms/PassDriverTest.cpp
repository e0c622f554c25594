//===- PassDriverTest.cpp - passes that fail --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PassTesting.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/PassDriver.h"

#include "mlir/IR/ExtensibleDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;

namespace {
/// A dialect with one op, which is not legal beside a fused collective: a pass
/// that makes one has made a wrong program.
struct PickyDialect : ExtensibleDialect {
  explicit PickyDialect(MLIRContext *context)
      : ExtensibleDialect("picky", context, TypeID::get<PickyDialect>()) {
    auto verify = [](Operation *op) -> LogicalResult {
      bool isFused = false;
      op->getParentOp()->walk([&](tp::AllGatherMatmulOp) { isFused = true; });
      return isFused ? op->emitOpError("stands beside a fused op") : success();
    };
    auto verifyRegions = [](Operation *op) { return success(); };
    registerDynamicOp(
        DynamicOpDefinition::get("op", this, verify, verifyRegions));
  }
  static StringRef getDialectNamespace() { return "picky"; }
};

class PassDriver : public testing::Test {
protected:
  PassDriver() {
    context.loadDialect<tp::TPDialect, func::FuncDialect, PickyDialect>();
  }

  /// The program, with the picky op or without.
  OwningOpRef<ModuleOp> parse(bool isPicky) {
    std::string text = R"(
      module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
        func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %y: tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
          %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
          %1 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
          %2 = tp.all_reduce sum %y group <"0", [0, 1]> : tensor<8x8xbf16> -> tensor<8x8xbf16>
          %3 = tp.rms_norm %2 epsilon 1.0e-05 dims 1 : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
    )";
    text += isPicky ? "\"picky.op\"() : () -> ()\n" : "";
    text += "return %1, %3 : tensor<8x8xbf16>, tensor<8x8xbf16> } }";
    return parseSourceString<ModuleOp>(text, &context);
  }

  PassRun getRun(StringRef passes) {
    PassRun run;
    run.passes = passes.str();
    run.settings.policy = Policy::Always;
    run.onRestart = [&] { ++numRestarts; };
    return run;
  }

  template <typename Op>
  unsigned count(ModuleOp module) {
    unsigned found = 0;
    module.walk([&](Op) { ++found; });
    return found;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  unsigned numRestarts = 0;
};
} // namespace

TEST_F(PassDriver, RunsOnWithoutAPassThatFails) {
  OwningOpRef<ModuleOp> module = parse(/*isPicky=*/true);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> original = module->clone();
  PassRun run = getRun("sequence-parallel,micro-pipeline,lower-collectives");
  std::string reproducer = testing::TempDir() + "driver.reproducer.mlir";
  run.getReproducer = [&](unsigned number) {
    return number == 1 ? reproducer : "";
  };
  llvm::Expected<std::vector<PassFailure>> failures =
      runPasses(*module, *original, run);
  ASSERT_TRUE(bool(failures)) << llvm::toString(failures.takeError());
  ASSERT_EQ(failures->size(), 1u);
  const PassFailure &failure = failures->front();
  EXPECT_EQ(failure.pass, "micro-pipeline");
  EXPECT_NE(failure.message.find("stands beside a fused op"), std::string::npos)
      << failure.message;
  EXPECT_EQ(failure.reproducer, reproducer);
  EXPECT_TRUE(llvm::sys::fs::exists(reproducer));
  EXPECT_EQ(numRestarts, 1u);
  // No option turns MLIR's verifier off, --no-verify of commute opt least of
  // all. What the other passes do is there, and nothing of the one that failed.
  EXPECT_EQ(count<tp::AllGatherMatmulOp>(*module), 0u);
  EXPECT_EQ(count<tp::ReduceScatterOp>(*module), 1u);
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(PassDriver, RecordsWhatLawsDecide) {
  OwningOpRef<ModuleOp> module = parse(/*isPicky=*/false);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> original = module->clone();
  PassRun run = getRun("sequence-parallel,micro-pipeline");
  DecisionRecord record;
  run.record = &record;
  ASSERT_TRUE(bool(runPasses(*module, *original, run)));
  auto isApplied = [&](StringRef law) {
    return llvm::any_of(record.getSites(), [&](const auto &site) {
      return llvm::any_of(site.decisions, [&](const Decision &decision) {
        return decision.law == law && decision.secondsBefore &&
               decision.outcome == Decision::Outcome::Applied;
      });
    });
  };
  EXPECT_TRUE(isApplied("shard-region"));
  EXPECT_TRUE(isApplied("gather-fusion"));
  EXPECT_FALSE(isApplied("scatter-fusion"));
}

TEST_F(PassDriver, RecordsWhatNeedsNoRewrite) {
  OwningOpRef<ModuleOp> module = parse(/*isPicky=*/false);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> original = module->clone();
  PassRun run = getRun("contiguous-collectives");
  DecisionRecord record;
  run.record = &record;
  ASSERT_TRUE(bool(runPasses(*module, *original, run)));
  ASSERT_FALSE(record.getSites().empty());
  for (const DecisionRecord::Site &site : record.getSites())
    for (const Decision &decision : site.decisions) {
      EXPECT_EQ(decision.law, "dense-operand");
      EXPECT_EQ(decision.outcome, Decision::Outcome::NotApplicable);
      EXPECT_NE(decision.text.find("operand 0 is dense: "), std::string::npos)
          << decision.text;
    }
}

TEST_F(PassDriver, RunsAllPassesWhereNoneFails) {
  OwningOpRef<ModuleOp> module = parse(/*isPicky=*/false);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> original = module->clone();
  llvm::Expected<std::vector<PassFailure>> failures =
      runPasses(*module, *original,
                getRun("sequence-parallel,micro-pipeline,lower-collectives"));
  ASSERT_TRUE(bool(failures)) << llvm::toString(failures.takeError());
  EXPECT_TRUE(failures->empty());
  EXPECT_EQ(numRestarts, 0u);
  EXPECT_EQ(count<tp::AllGatherMatmulOp>(*module), 1u);
  EXPECT_EQ(count<tp::ReduceScatterOp>(*module), 1u);
}

/// The names of the passes that a text asks for.
static std::string plan(StringRef passes, bool isForPyTorch = true) {
  PassSettings settings;
  settings.isForPyTorch = isForPyTorch;
  llvm::Expected<std::vector<PassStep>> steps = planPipeline(passes, settings);
  if (!steps)
    return llvm::toString(steps.takeError());
  return llvm::join(
      llvm::map_range(*steps, [](const PassStep &step) { return step.name; }),
      ",");
}

TEST_F(PassDriver, LowersWhatPyTorchCannotSay) {
  EXPECT_EQ(plan("normalize-collectives"),
            "normalize-collectives,lower-collectives");
  EXPECT_EQ(plan("micro-pipeline,contiguous-collectives"),
            "micro-pipeline,lower-collectives,contiguous-collectives");
  EXPECT_EQ(plan("lower-collectives,sequence-parallel"),
            "lower-collectives,sequence-parallel,lower-collectives");
  // It is there, or not needed.
  EXPECT_EQ(plan("sequence-parallel,lower-collectives"),
            "sequence-parallel,lower-collectives");
  EXPECT_EQ(plan("contiguous-collectives"), "contiguous-collectives");
  EXPECT_EQ(plan("normalize-collectives", /*isForPyTorch=*/false),
            "normalize-collectives");
}

TEST_F(PassDriver, NormalizesWhatSequenceParallelMakes) {
  EXPECT_EQ(plan("normalize-collectives,sequence-parallel,micro-pipeline",
                 /*isForPyTorch=*/false),
            "normalize-collectives,sequence-parallel,normalize-collectives,"
            "micro-pipeline");
  EXPECT_EQ(plan("sequence-parallel,micro-pipeline", /*isForPyTorch=*/false),
            "sequence-parallel,micro-pipeline");
}

TEST_F(PassDriver, ChecksOptionsBeforeAnyPassRuns) {
  EXPECT_EQ(plan("micro-pipeline{policy=upstream}", false), "micro-pipeline");
  EXPECT_EQ(plan("sequence-parallel{policy=upstream}"),
            "sequence-parallel: unknown policy 'upstream'; expected always or "
            "profitable");
  EXPECT_EQ(plan("split-linear{policy=never margin=0.1}"),
            "split-linear: unknown policy 'never'; expected always, profitable "
            "or upstream");
  EXPECT_NE(plan("sequence-parallel{target=nowhere}").find("nowhere"),
            std::string::npos);
}

TEST_F(PassDriver, RefusesAModuleThatContradictsItself) {
  OwningOpRef<ModuleOp> module = parse(/*isPicky=*/false);
  ASSERT_TRUE(module);
  module->getOperation()->setAttr(
      "tp.assumptions",
      Builder(&context).getStrArrayAttr({"s0 == 4", "s0 == 8"}));
  OwningOpRef<ModuleOp> original = module->clone();
  llvm::Expected<std::vector<PassFailure>> failures =
      runPasses(*module, *original, getRun(""));
  ASSERT_FALSE(bool(failures));
  EXPECT_NE(llvm::toString(failures.takeError()).find("s0"), std::string::npos);
}
