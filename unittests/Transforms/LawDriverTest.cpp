//===- LawDriverTest.cpp - rounds, choice and the record --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LawDriver.h"

#include "commute/Transforms/Policy.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::Refusal;
using analysis::RefusalCode;

namespace {

/// relu(relu(x)) = relu(x), at the outer one.
class TwiceFinding : public Finding {
public:
  explicit TwiceFinding(tp::MapOp outer) : outer(outer) {}

  Legal<std::unique_ptr<Draft>> draft() override;
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    tp::MapOp op = outer;
    return {{op.getLoc(), "twice", "removed"}};
  }
  void explain(Refusal &refusal, Operation *site, const Draft &draft,
               const Price &price,
               const target::PriceModel &model) const override {
    refusal.reason = "too expensive";
  }
  std::string describeConflict(const Finding &other) const override {
    return "another one is removed";
  }

  tp::MapOp outer;
};

class TwiceDraft : public ReplacementDraft {
public:
  explicit TwiceDraft(tp::MapOp outer) : ReplacementDraft(outer.getContext()) {
    auto inner = outer.getOperands()[0].getDefiningOp<tp::MapOp>();
    position = outer;
    values.emplace_back(outer.getResult(), inner.getResult());
    replaced.push_back(outer);
    reliedOn.push_back(inner);
    counts.emplace_back("num-removed", 1);
  }
};

class TwiceLaw : public Law {
public:
  StringRef getName() const override { return "twice"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::MapOp>(name);
  }
  void find(Operation *site, Findings &findings) override {
    auto map = cast<tp::MapOp>(site);
    auto inner = map.getOperands()[0].getDefiningOp<tp::MapOp>();
    if (!inner)
      return findings.refuse(site, {});
    if (map.getFunction() != tp::MapFunction::Relu ||
        inner.getFunction() != tp::MapFunction::Relu)
      return findings.refuse(
          site, {nullptr, RefusalCode::Opaque, "they are not both relu"});
    findings.add(site, std::make_unique<TwiceFinding>(map));
  }
  std::string describe(const Refusal &refusal, Operation *) const override {
    return "kept: " + refusal.reason;
  }
};

/// Accepts all but the first `numRefused`.
class CountingStrategy : public Strategy {
public:
  explicit CountingStrategy(unsigned numRefused) : numRefused(numRefused) {}
  Legal<> accept(const Finding &finding, const Draft &draft,
                 const Price &price) const override {
    if (numRefused == 0)
      return {};
    --numRefused;
    return Refusal{nullptr, RefusalCode::UpstreamRule, "one is refused"};
  }

private:
  mutable unsigned numRefused;
};

class LawDriverTest : public testing::Test {
protected:
  LawDriverTest() {
    context.loadDialect<tp::TPDialect, func::FuncDialect>();
    laws.groups.push_back(std::make_unique<LawGroup>());
    laws.groups.back()->add<TwiceLaw>();
    laws.strategy = makeUnpricedStrategy();
  }

  func::FuncOp parse(StringRef body) {
    module = parseSourceString<ModuleOp>(
        ("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n" + body + "}")
            .str(),
        &context);
    return *module->getOps<func::FuncOp>().begin();
  }
  /// Runs the laws, with a record and counts.
  void run(func::FuncOp function) {
    LawDriver::Context driverContext;
    driverContext.pass = "test";
    driverContext.record = &record;
    driverContext.count = [&](StringRef name, unsigned number) {
      counts[name.str()] += number;
    };
    LawDriver driver(function, laws, std::move(driverContext));
    EXPECT_FALSE(llvm::errorToBool(driver.run()));
    hasChanged = driver.hasChanged();
  }
  static unsigned countMaps(func::FuncOp function) {
    unsigned count = 0;
    function.walk([&](tp::MapOp) { ++count; });
    return count;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  LawSet laws;
  DecisionRecord record;
  std::map<std::string, unsigned> counts;
  bool hasChanged = false;
};

} // namespace

Legal<std::unique_ptr<Draft>> TwiceFinding::draft() {
  return std::unique_ptr<Draft>(std::make_unique<TwiceDraft>(outer));
}

static constexpr StringRef chain = R"(
  %a = tp.map relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = tp.map relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = tp.map relu(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %d = tp.map relu(%c) : (tensor<4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
)";

TEST_F(LawDriverTest, RunsUntilNothingIsLeft) {
  func::FuncOp function = parse(chain);
  run(function);
  EXPECT_TRUE(hasChanged);
  EXPECT_EQ(countMaps(function), 1u);
  EXPECT_EQ(counts["num-removed"], 3u);
  EXPECT_EQ(counts["num-refused"], 0u);
}

TEST_F(LawDriverTest, LeavesWhatTheStrategyRefuses) {
  laws.strategy = std::make_unique<CountingStrategy>(/*numRefused=*/100);
  func::FuncOp function = parse(chain);
  run(function);
  EXPECT_FALSE(hasChanged);
  EXPECT_EQ(countMaps(function), 4u);
  EXPECT_EQ(counts["num-refused"], 3u);
}

TEST_F(LawDriverTest, TriesAgainWhatHasWaited) {
  laws.groups.back()->createsSites = false;
  func::FuncOp function = parse(chain);
  run(function);
  EXPECT_EQ(countMaps(function), 1u);
}

TEST_F(LawDriverTest, VisitsSiteBySite) {
  laws.groups.clear();
  laws.groups.push_back(
      std::make_unique<LawGroup>(LawGroup::Choice::SiteBySite));
  laws.groups.back()->add<TwiceLaw>();
  func::FuncOp function = parse(chain);
  run(function);
  EXPECT_EQ(countMaps(function), 1u);
  EXPECT_EQ(counts["num-removed"], 3u);
}

TEST_F(LawDriverTest, RecordsEveryAttempt) {
  func::FuncOp function = parse(R"(
    %a = tp.map relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = tp.map relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %c = tp.map exp(%b) : (tensor<4xf32>) -> tensor<4xf32>
    return %c : tensor<4xf32>
  )");
  run(function);
  ASSERT_EQ(record.getSites().size(), 3u);
  // A later round does not replace what was applied, and says nothing twice.
  const DecisionRecord::Site &first = record.getSites()[0];
  ASSERT_EQ(first.decisions.size(), 1u);
  EXPECT_EQ(first.decisions[0].outcome, Decision::Outcome::NotApplicable);
  const DecisionRecord::Site &third = record.getSites()[1];
  ASSERT_EQ(third.decisions.size(), 1u);
  EXPECT_EQ(third.decisions[0].outcome, Decision::Outcome::Refused);
  EXPECT_EQ(third.decisions[0].code, RefusalCode::Opaque);
  EXPECT_EQ(third.decisions[0].text, "kept: they are not both relu");
  EXPECT_EQ(third.decisions[0].law, "twice");
  EXPECT_EQ(third.decisions[0].pass, "test");
  const DecisionRecord::Site &second = record.getSites()[2];
  ASSERT_EQ(second.decisions.size(), 1u);
  EXPECT_EQ(second.decisions[0].outcome, Decision::Outcome::Applied);
  EXPECT_EQ(second.decisions[0].text, "removed");
}

TEST(Policy, IsSpelledAsItIsParsed) {
  for (Policy policy : {Policy::Profitable, Policy::Always, Policy::Upstream}) {
    llvm::Expected<Policy> parsed = parsePolicy(stringify(policy));
    ASSERT_TRUE(bool(parsed));
    EXPECT_EQ(*parsed, policy);
  }
  llvm::Expected<Policy> unknown = parsePolicy("seldom");
  ASSERT_FALSE(bool(unknown));
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "unknown policy 'seldom'; expected always, profitable or upstream");
}

TEST(Strategy, ComparesTimesWithAMargin) {
  auto strategy = makeProfitableStrategy(0.1);
  TwiceFinding finding({});
  MLIRContext context;
  ReplacementDraft draft(&context);
  EXPECT_TRUE(bool(strategy->accept(finding, draft, Price::get(1.2, 1.0))));
  Legal<> refused = strategy->accept(finding, draft, Price::get(1.05, 1.0));
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.getRefusal().code, RefusalCode::Unprofitable);
  refused = strategy->accept(finding, draft, Price::get(std::nullopt, 1.0));
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.getRefusal().code, RefusalCode::Unpriced);
}
