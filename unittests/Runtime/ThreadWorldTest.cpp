//===- ThreadWorldTest.cpp - collectives between threads --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/ThreadWorld.h"

#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace mlir;
using namespace commute::runtime;
using testing::AllOf;
using testing::HasSubstr;

namespace {
class ThreadWorldTest : public testing::Test {
protected:
  using Rank = std::function<llvm::Error(Transport &)>;

  /// Runs each rank in a thread; the message of the run, empty for success.
  static std::string run(std::vector<Rank> ranks,
                         std::chrono::seconds timeout = forever) {
    SmallVector<int64_t> numbers;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      numbers.push_back(rank);
    ThreadWorld world(numbers, timeout);
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      threads.emplace_back([&, rank] {
        std::unique_ptr<Transport> transport = world.makeTransport(rank);
        world.finish(rank, ranks[rank](*transport));
      });
    for (std::thread &thread : threads)
      thread.join();
    return llvm::toString(world.takeError());
  }

  /// Takes part in a collective, with one number for all members.
  Rank call(const std::string &operation, const SmallVector<int64_t> &members,
            std::vector<int64_t> *received = nullptr) {
    return [=, this](Transport &transport) -> llvm::Error {
      std::shared_ptr<Tensor> tensor = Tensor::allocate({}, i64);
      *tensor->getMutableDataAs<int64_t>() = transport.getRank();
      CollectiveCall call;
      call.operation = operation;
      call.members = members;
      llvm::Expected<SmallVector<TensorValue>> values = transport.exchange(
          call, SmallVector<TensorValue>(members.size(), tensor));
      if (!values)
        return values.takeError();
      for (const TensorValue &value : *values)
        if (received)
          received->push_back(*value->getDataAs<int64_t>());
      return llvm::Error::success();
    };
  }
  static Rank inOrder(const std::vector<Rank> &steps) {
    return [=](Transport &transport) -> llvm::Error {
      for (const Rank &step : steps)
        if (llvm::Error error = step(transport))
          return error;
      return llvm::Error::success();
    };
  }
  static Rank doNothing() {
    return [](Transport &) { return llvm::Error::success(); };
  }

  /// No test gets there.
  static constexpr std::chrono::seconds forever{600};
  MLIRContext context;
  Type i64 = IntegerType::get(&context, 64);
};
} // namespace

TEST_F(ThreadWorldTest, ValuesComeInTheOrderOfTheMembers) {
  std::vector<int64_t> received[3];
  std::vector<Rank> ranks;
  for (auto &values : received)
    ranks.push_back(call("gather", {2, 0, 1}, &values));
  EXPECT_EQ(run(ranks), "");
  for (auto &values : received)
    EXPECT_EQ(values, (std::vector<int64_t>{2, 0, 1}));
}

TEST_F(ThreadWorldTest, GroupsDoNotWaitForEachOther) {
  // Ranks 0 and 1 meet many times while 2 and 3 meet once.
  std::vector<Rank> often(100, call("a", {0, 1}));
  EXPECT_EQ(run({inOrder(often), inOrder(often), call("b", {3, 2}),
                 call("b", {3, 2})}),
            "");
}

TEST_F(ThreadWorldTest, MismatchNamesBothOps) {
  EXPECT_THAT(run({call("sum", {0, 1}), call("max", {0, 1})}),
              AllOf(HasSubstr("mismatched collectives: rank "),
                    HasSubstr("runs sum in group [0, 1]"),
                    HasSubstr("runs max in group [0, 1]")));
}

TEST_F(ThreadWorldTest, OrderOfGroupsThatDiffersIsReported) {
  std::string message = run({inOrder({call("a", {0, 1}), call("b", {1, 0})}),
                             inOrder({call("b", {1, 0}), call("a", {0, 1})})});
  EXPECT_EQ(
      message,
      "mismatched collectives: no rank can continue: rank 0 is "
      "waiting in a in group [0, 1]; rank 1 is waiting in b in group [1, 0]");
}

TEST_F(ThreadWorldTest, RankThatHasFinishedIsNotWaitedFor) {
  EXPECT_EQ(
      run({call("a", {0, 1}), doNothing()}),
      "mismatched collectives: no rank can continue: rank 0 is waiting in "
      "a in group [0, 1]; rank 1 has finished");
}

TEST_F(ThreadWorldTest, FailingRankEndsAll) {
  auto fail = [](Transport &) { return llvm::createStringError("broken"); };
  EXPECT_EQ(run({call("a", {0, 1, 2}), fail, call("a", {0, 1, 2})}),
            "rank 1: broken");
}

TEST_F(ThreadWorldTest, RankThatComputesLearnsOfAFailure) {
  auto fail = [](Transport &) { return llvm::createStringError("broken"); };
  auto compute = [](Transport &transport) -> llvm::Error {
    while (true)
      if (llvm::Error error = transport.checkPeers())
        return error;
  };
  EXPECT_EQ(run({compute, fail}), "rank 1: broken");
}

TEST_F(ThreadWorldTest, RankThatNeverComesIsNamedWhenTimeIsUp) {
  auto computeForever = [](Transport &transport) -> llvm::Error {
    while (true)
      if (llvm::Error error = transport.checkPeers())
        return error;
  };
  EXPECT_EQ(run({call("a", {0, 1}), computeForever}, std::chrono::seconds(1)),
            "no answer within 1 s: rank 0 is waiting in a in group [0, 1]; "
            "rank 1 is computing");
}
