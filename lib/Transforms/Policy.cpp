//===- Policy.cpp - which legal rewrites passes make ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/Policy.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

using namespace commute;

llvm::StringRef commute::stringify(Policy policy) {
  switch (policy) {
  case Policy::Profitable:
    return "profitable";
  case Policy::Always:
    return "always";
  case Policy::Upstream:
    return "upstream";
  }
  llvm_unreachable("all policies are listed");
}

llvm::Expected<Policy> commute::parsePolicy(llvm::StringRef text) {
  for (Policy policy : {Policy::Profitable, Policy::Always, Policy::Upstream})
    if (text == stringify(policy))
      return policy;
  return llvm::createStringError("unknown policy '" + text +
                                 "'; expected always, profitable or upstream");
}
