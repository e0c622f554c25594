//===- SequenceParallelTest.cpp - the pass on random programs -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Random programs are rewritten, proven equivalent on four ranks, and rewritten
// once more, which must change nothing; where the price decides, it falls.
// COMMUTE_RANDOM_GRAPHS says how many, COMMUTE_RANDOM_SEED where they begin;
// `make fuzz` runs many.
//
//===----------------------------------------------------------------------===//

#include "PassTesting.h"
#include "RandomGraph.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Target/PriceModel.h"
#include "commute/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using commute::test::getNumber;
using commute::test::isFixedPoint;
using commute::test::isProvenEquivalent;
using commute::test::print;

namespace {

/// A target whose memory is so slow that shards of small tensors pay, at times.
class SlowMemory {
public:
  SlowMemory() : target(llvm::cantFail(target::loadTarget("h100x8"))) {
    target.memoryBytesPerSecond.value = 3e7;
    int descriptor;
    std::error_code error = llvm::sys::fs::createTemporaryFile(
        "slow-memory", "json", descriptor, path);
    EXPECT_FALSE(error) << error.message();
    remover.setFile(path);
    llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << target.toJson();
  }

  StringRef getPath() const { return path; }
  /// Seconds of all ops one after the other. `allowsCopies`: but for copies in
  /// views and in front of collectives, since whether a shard is dense is not
  /// known when the choice is made.
  double getSeconds(ModuleOp module, bool allowsCopies) const {
    target::PriceModel price(target, target::getStatedSizes(module));
    double seconds = 0;
    module.walk([&](Operation *op) {
      auto strided = dyn_cast<tp::StrideOpInterface>(op);
      bool isView = strided && strided.mayShareMemory();
      bool isInFrontOfCollective =
          isa<tp::CopyOp>(op) && !op->use_empty() &&
          llvm::all_of(op->getUsers(),
                       llvm::IsaPred<tp::DenseOperandsOpInterface>);
      if (strided && !(allowsCopies && (isView || isInFrontOfCollective)))
        seconds += price.getSeconds(op).value_or(0);
    });
    return seconds;
  }

private:
  target::Target target;
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
};

} // namespace

static LogicalResult runPass(ModuleOp module, Policy policy, bool pad,
                             StringRef targetName) {
  SequenceParallelOptions options;
  options.policy = policy;
  options.targetName = targetName.str();
  options.pad = pad;
  // The price is that of this pass alone.
  options.pipelined = false;
  PassManager manager(module.getContext());
  manager.addNestedPass<func::FuncOp>(createSequenceParallel(options));
  return manager.run(module);
}

static unsigned count(ModuleOp module, StringRef name) {
  unsigned number = 0;
  module.walk(
      [&](Operation *op) { number += op->getName().getStringRef() == name; });
  return number;
}

TEST(SequenceParallel, RandomProgramsStayEquivalent) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  uint64_t numGraphs = getNumber("COMMUTE_RANDOM_GRAPHS", 400);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  SlowMemory slowMemory;
  unsigned numRewritten = 0, numSliced = 0, numKept = 0, numCheaper = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numGraphs; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = test::makeRandomGraph(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    OwningOpRef<ModuleOp> before = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(before);
    if (seed % 2)
      (*before)->setAttr(tp::TPDialect::rankSpecificAttrName,
                         UnitAttr::get(&context));
    OwningOpRef<ModuleOp> after = before->clone();
    bool isProfitable = seed % 3 == 2;
    Policy policy = isProfitable ? Policy::Profitable : Policy::Always;
    StringRef targetName = isProfitable ? slowMemory.getPath() : "h100x8";
    bool pad = seed % 5 == 4;
    ASSERT_TRUE(succeeded(runPass(*after, policy, pad, targetName)));
    if (isProfitable) {
      double secondsBefore =
          slowMemory.getSeconds(*before, /*allowsCopies=*/false);
      double secondsAfter =
          slowMemory.getSeconds(*after, /*allowsCopies=*/true);
      EXPECT_LE(secondsAfter, secondsBefore * (1 + 1e-9)) << print(*after);
      numCheaper += secondsAfter < secondsBefore;
    }
    unsigned numScatters = count(*after, "tp.reduce_scatter");
    numRewritten += numScatters > 0;
    numKept += numScatters == 0;
    numSliced += count(*after, "tp.rank_slice") > 0;

    ASSERT_TRUE(isProvenEquivalent(*before, *after));
    EXPECT_TRUE(isFixedPoint(*after, [&](ModuleOp module) {
      return runPass(module, policy, pad, targetName);
    }));
  }
  // The programs exercise what they are for, where there are many.
  if (numGraphs < 100)
    return;
  EXPECT_GT(numRewritten * 4, numGraphs);
  EXPECT_GT(numSliced * 20, numGraphs);
  EXPECT_GT(numKept * 20, numGraphs);
  EXPECT_GT(numCheaper * 10, numGraphs);
}

// Defect L8 of docs/known-defects.md: neither recursion nor a search through
// the program for each op.
TEST(SequenceParallel, LongChainsNeedNoStack) {
  constexpr unsigned numOps = 20000;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "func.func @main(%p: tensor<8x16xf32>) -> tensor<8x16xf32> {\n"
        "%0 = tp.all_reduce sum %p group <\"0\", [0, 1]> : tensor<8x16xf32> -> "
        "tensor<8x16xf32>\n";
  for (unsigned index = 0; index < numOps; ++index)
    os << "%" << index + 1 << " = tp.map silu(%" << index
       << ") : (tensor<8x16xf32>) -> tensor<8x16xf32>\n";
  os << "return %" << numOps << " : tensor<8x16xf32>\n}\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  ASSERT_TRUE(
      succeeded(runPass(*module, Policy::Always, /*pad=*/false, "h100x8")));
  EXPECT_EQ(count(*module, "tp.all_reduce"), 0u);
  EXPECT_EQ(count(*module, "tp.reduce_scatter"), 1u);
  EXPECT_EQ(count(*module, "tp.all_gather"), 1u);
}
