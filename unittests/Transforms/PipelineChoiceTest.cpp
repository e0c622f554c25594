//===- PipelineChoiceTest.cpp - no order of passes is faster --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The default pipeline must predict a time that is at most that of every order
// of every subset of the passes that compete. The orders are run one by one
// here, as a user would name them, for the shapes that fusions and splits are
// made for, and for random programs (see COMMUTE_RANDOM_GRAPHS in
// PipelineTest.cpp).
//
//===----------------------------------------------------------------------===//

#include "PassTesting.h"
#include "RandomGraph.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Target/Estimate.h"
#include "commute/Transforms/PassDriver.h"
#include "commute/Transforms/PassTraits.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using commute::test::getNumber;

static double predict(ModuleOp module) {
  target::Target machine = llvm::cantFail(target::loadTarget("h100x8"));
  target::PriceModel model(machine, target::getStatedSizes(module));
  return llvm::cantFail(target::estimate(analysis::getMain(module), model))
      .stepSeconds;
}

static OwningOpRef<ModuleOp> run(ModuleOp module, const std::string &passes,
                                 Policy policy) {
  OwningOpRef<ModuleOp> result = module.clone();
  PassRun request;
  request.passes = passes;
  request.settings.policy = policy;
  std::vector<PassFailure> failures =
      llvm::cantFail(runPasses(*result, module, request));
  EXPECT_TRUE(failures.empty());
  return result;
}

/// All orders of all subsets of the passes that compete, empty one first, with
/// the passes that surround them.
static std::vector<std::string> getOrders() {
  SmallVector<StringRef> names;
  for (const PassTraits &pass : getPassTraits())
    if (pass.competes)
      names.push_back(pass.name);
  std::vector<SmallVector<StringRef>> orders = {{}};
  for (size_t index = 0; index < orders.size(); ++index)
    for (StringRef name : names)
      if (!llvm::is_contained(orders[index], name)) {
        SmallVector<StringRef> longer = orders[index];
        longer.push_back(name);
        orders.push_back(longer);
      }
  std::vector<std::string> texts;
  for (const SmallVector<StringRef> &order : orders) {
    std::string text = "normalize-collectives,";
    for (StringRef name : order)
      text += name.str() + ",";
    texts.push_back(text + "lower-collectives,contiguous-collectives");
  }
  return texts;
}

/// Checks that no order is faster than the default pipeline, and returns
/// whether that is faster than all of them.
static bool checkThatNoneIsFaster(ModuleOp module) {
  double chosen = predict(*run(module, "", Policy::Profitable));
  double fastest = predict(module);
  for (const std::string &order : getOrders()) {
    double seconds = predict(*run(module, order, Policy::Profitable));
    EXPECT_LE(chosen, seconds * 1.001) << order;
    fastest = std::min(fastest, seconds);
  }
  return chosen * 1.001 < fastest;
}

static std::string getGroup(unsigned ranks) {
  return "<\"0\", [" +
         llvm::join(llvm::map_range(
                        llvm::seq(ranks),
                        [](unsigned rank) { return std::to_string(rank); }),
                    ", ") +
         "]>";
}

/// A gather along dim 0 whose blocks are concatenated along dim 1, as PyTorch
/// writes a gather along dim 1, and a product.
static std::string getGatherProgram(int64_t m, int64_t k, int64_t n,
                                    unsigned ranks) {
  std::string group = getGroup(ranks);
  std::string shard = llvm::formatv("tensor<{0}x{1}xbf16>", m, k / ranks);
  std::string text =
      llvm::formatv("module attributes {{tp.groups = [#tp.group{0}]} {{\n"
                    "func.func @main(%x: {1}, %w: tensor<{2}x{3}xbf16>) -> "
                    "tensor<{4}x{3}xbf16> {{\n"
                    "%g = tp.all_gather %x gather_axis 0 group {0} : {1} -> "
                    "tensor<{5}x{6}xbf16>\n",
                    group, shard, k, n, m, m * ranks, k / ranks);
  std::string parts, types;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    text += llvm::formatv("%p{0} = tp.slice %g dim 0 start {1} step 1 : "
                          "tensor<{2}x{3}xbf16> -> {4}\n",
                          rank, rank * m, m * ranks, k / ranks, shard);
    parts += llvm::formatv("{0}%p{1}", rank ? ", " : "", rank);
    types += (rank ? ", " : "") + shard;
  }
  return text + llvm::formatv("%h = tp.concat {0} dim 1 : ({1}) -> "
                              "tensor<{2}x{3}xbf16>\n"
                              "%y = tp.matmul %h, %w : (tensor<{2}x{3}xbf16>, "
                              "tensor<{3}x{4}xbf16>) -> tensor<{2}x{4}xbf16>\n"
                              "return %y : tensor<{2}x{4}xbf16>\n} }",
                              parts, types, m, k, n)
                    .str();
}

/// A product whose blocks of columns are reduce-scattered.
static std::string getScatterProgram(int64_t m, int64_t k, int64_t n,
                                     unsigned ranks) {
  std::string group = getGroup(ranks);
  std::string part = llvm::formatv("tensor<{0}x{1}xbf16>", m, n / ranks);
  std::string strided = llvm::formatv(
      "tensor<{0}x{1}xbf16, #tp.layout<strides = [{2}, 1]>>", m, n / ranks, n);
  std::string text = llvm::formatv(
      "module attributes {{tp.groups = [#tp.group{0}]} {{\n"
      "func.func @main(%x: tensor<{1}x{2}xbf16>, %w: tensor<{2}x{3}xbf16>) -> "
      "{4} {{\n"
      "%y = tp.matmul %x, %w : (tensor<{1}x{2}xbf16>, tensor<{2}x{3}xbf16>) -> "
      "tensor<{1}x{3}xbf16>\n",
      group, m, k, n, part);
  std::string parts, types;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    text += llvm::formatv("%p{0} = tp.slice %y dim 1 start {1} step 1 : "
                          "tensor<{2}x{3}xbf16> -> {4}\n",
                          rank, rank * (n / ranks), m, n, strided);
    parts += llvm::formatv("{0}%p{1}", rank ? ", " : "", rank);
    types += (rank ? ", " : "") + strided;
  }
  return text +
         llvm::formatv("%c = tp.concat {0} dim 0 : ({1}) -> "
                       "tensor<{2}x{3}xbf16>\n"
                       "%s = tp.reduce_scatter sum %c scatter_axis 0 group {4} "
                       ": tensor<{2}x{3}xbf16> -> {5}\n"
                       "return %s : {5}\n} }",
                       parts, types, m * ranks, n / ranks, group, part)
             .str();
}

/// Two products of gathered values, the second of parts of the first one's
/// result. Rows and columns are odd, so no rank can have a part of them.
static std::string getTwoProducts(int64_t firstDepth, int64_t secondDepth) {
  constexpr int64_t size = 8191;
  std::string whole = llvm::formatv("tensor<{0}x{0}xbf16>", size);
  auto getProduct = [&](int64_t number, int64_t depth) {
    std::string x = llvm::formatv("tensor<{0}x{1}xbf16>", size, depth / 2);
    std::string v = llvm::formatv("tensor<{1}x{0}xbf16>", size, depth / 2);
    std::string h = llvm::formatv("tensor<{0}x{1}xbf16>", size, depth);
    std::string g = llvm::formatv("tensor<{1}x{0}xbf16>", size, depth);
    return llvm::formatv(
               "%h{0} = tp.all_gather %x{0} gather_axis 1 group <\"0\", [0, 1]>"
               " : {1} -> {2}\n"
               "%g{0} = tp.all_gather %v{0} gather_axis 0 group <\"0\", [0, 1]>"
               " : {3} -> {4}\n"
               "%y{0} = tp.matmul %h{0}, %g{0} : ({2}, {4}) -> {5}\n",
               number, x, h, v, g, whole)
        .str();
  };
  return llvm::formatv(
      "module attributes {{tp.groups = [#tp.group<\"0\", [0, 1]>]} {{\n"
      "func.func @main(%x0: tensor<{0}x{1}xbf16>, %v0: tensor<{1}x{0}xbf16>) "
      "-> {3} {{\n{4}"
      "%s = tp.slice %y0 dim 1 start 0 step 1 : {3} -> tensor<{0}x{2}xbf16, "
      "#tp.layout<strides = [{0}, 1]>>\n"
      "%x1 = tp.copy %s : tensor<{0}x{2}xbf16, #tp.layout<strides = [{0}, 1]>>"
      " -> tensor<{0}x{2}xbf16>\n"
      "%v1 = tp.slice %y0 dim 0 start 0 step 1 : {3} -> "
      "tensor<{2}x{0}xbf16>\n{5}"
      "return %y1 : {3}\n} }",
      size, firstDepth / 2, secondDepth / 2, whole, getProduct(0, firstDepth),
      getProduct(1, secondDepth));
}

namespace {
class PipelineChoice : public testing::Test {
protected:
  PipelineChoice() { context.loadDialect<tp::TPDialect, func::FuncDialect>(); }
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  template <typename Op>
  static bool has(ModuleOp module) {
    return module.walk([](Op) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};
} // namespace

TEST_F(PipelineChoice, NoOrderIsFasterForShapes) {
  int numFaster = 0;
  for (unsigned ranks : {2, 4, 8})
    for (int64_t m : {4096, 16384})
      for (int64_t k : {4096, 16384})
        for (int64_t n : {512, 2048, 8192})
          for (const std::string &text : {getGatherProgram(m, k, n, ranks),
                                          getScatterProgram(m, k, n, ranks)}) {
            SCOPED_TRACE(text);
            OwningOpRef<ModuleOp> module = parse(text);
            ASSERT_TRUE(module);
            numFaster += checkThatNoneIsFaster(*module);
          }
  RecordProperty("fasterThanAllOrders", numFaster);
}

TEST_F(PipelineChoice, NoOrderIsFasterForRandomPrograms) {
  uint64_t numGraphs = getNumber("COMMUTE_RANDOM_GRAPHS", 100);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  int numFaster = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numGraphs; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = test::makeRandomGraph(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module);
    numFaster += checkThatNoneIsFaster(*module);
  }
  RecordProperty("fasterThanAllOrders", numFaster);
}

TEST_F(PipelineChoice, GathersAreFusedWhereThatIsFasterThanSplitting) {
  // On 8 ranks, the pieces of smaller products are too small to pay.
  for (auto [ranks, size] : {std::pair(2, 4096), {2, 8192}, {8, 8192}}) {
    OwningOpRef<ModuleOp> module =
        parse(getGatherProgram(size, size, size, ranks));
    ASSERT_TRUE(module);
    OwningOpRef<ModuleOp> chosen = run(*module, "", Policy::Profitable);
    EXPECT_TRUE(has<tp::AllGatherMatmulOp>(*chosen)) << ranks << " " << size;
  }
}

TEST_F(PipelineChoice, PlacesChooseForThemselves) {
  // The fusion is faster for the first product, the split for the second.
  OwningOpRef<ModuleOp> module = parse(getTwoProducts(3584, 5120));
  ASSERT_TRUE(module);
  EXPECT_TRUE(checkThatNoneIsFaster(*module));
  OwningOpRef<ModuleOp> chosen = run(*module, "", Policy::Profitable);
  EXPECT_TRUE(has<tp::AllGatherMatmulOp>(*chosen));
  EXPECT_TRUE(has<tp::AllReduceOp>(*chosen));
}

TEST_F(PipelineChoice, AlwaysMakesTheCheaperOfTwoThatExcludeEachOther) {
  for (unsigned ranks : {2, 8})
    for (int64_t size : {64, 4096}) {
      OwningOpRef<ModuleOp> module =
          parse(getGatherProgram(size, size, size, ranks));
      ASSERT_TRUE(module);
      OwningOpRef<ModuleOp> chosen = run(*module, "", Policy::Always);
      EXPECT_TRUE(has<tp::AllGatherMatmulOp>(*chosen)) << ranks << " " << size;
      module = parse(getScatterProgram(size, size, size, ranks));
      chosen = run(*module, "", Policy::Always);
      EXPECT_TRUE(has<tp::MatmulReduceScatterOp>(*chosen))
          << ranks << " " << size;
    }
}
