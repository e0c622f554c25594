//===- ArrivalChecks.cpp - values that are used too early -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/ArrivalChecks.h"

#include "commute/Report/RemarkCollector.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using analysis::Arrivals;

std::string equivalence::describe(const analysis::EarlyRead &read,
                                  StringRef owner) {
  std::string text = "read before it has arrived: " +
                     report::describeLocation(read.pending.getLoc());
  if (!owner.empty())
    text += (" of " + owner).str();
  return text + ", by " + report::describeLocation(read.reader->getLoc());
}

void equivalence::checkArrivals(func::FuncOp first, func::FuncOp second,
                                VerifyResult &result) {
  // An input that one of the programs waits for is pending in both.
  Arrivals ofFirst(first), ofSecond(second);
  if (llvm::BitVector inputs = ofFirst.getAwaitedInputs();
      inputs != ofSecond.getAwaitedInputs()) {
    inputs |= ofSecond.getAwaitedInputs();
    ofFirst = Arrivals(first, inputs);
    ofSecond = Arrivals(second, inputs);
  }
  for (const analysis::EarlyRead &read : ofFirst.getEarlyReads())
    result.differences.push_back({describe(read, "the first program"),
                                  read.reader->getLoc(), second.getLoc()});
  for (const analysis::EarlyRead &read : ofSecond.getEarlyReads())
    result.differences.push_back({describe(read, "the second program"),
                                  first.getLoc(), read.reader->getLoc()});
  auto firstOutputs = first.getBody().front().getTerminator()->getOperands();
  auto secondOutputs = second.getBody().front().getTerminator()->getOperands();
  for (auto [index, a, b] : llvm::enumerate(firstOutputs, secondOutputs)) {
    Value pending = ofSecond.getPendingOutput(index);
    if (!pending)
      continue;
    std::string what = "output " + std::to_string(index) + ": " +
                       report::describeLocation(pending.getLoc());
    if (ofFirst.getPendingOutput(index))
      result.notes.push_back("callers must wait for " + what +
                             " has not arrived when the programs return");
    else
      result.differences.push_back(
          {"returned before it has arrived: " + what + " of the second program",
           a.getLoc(), b.getLoc(), static_cast<unsigned>(index)});
  }
}
