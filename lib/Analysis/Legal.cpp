//===- Legal.cpp - a finding, or why there is none --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Legal.h"

#include "llvm/Support/ErrorHandling.h"

llvm::StringRef commute::analysis::stringify(RefusalCode code) {
  switch (code) {
  case RefusalCode::NotApplicable:
    return "not-applicable";
  case RefusalCode::OtherUsers:
    return "other-users";
  case RefusalCode::Strides:
    return "strides";
  case RefusalCode::MemoryWrite:
    return "memory-write";
  case RefusalCode::Dependence:
    return "dependence";
  case RefusalCode::ElementTypes:
    return "element-types";
  case RefusalCode::SymbolicSize:
    return "symbolic-size";
  case RefusalCode::Limit:
    return "limit";
  case RefusalCode::Layout:
    return "layout";
  case RefusalCode::Duplicate:
    return "duplicate";
  case RefusalCode::Gap:
    return "gap";
  case RefusalCode::Order:
    return "order";
  case RefusalCode::Window:
    return "window";
  case RefusalCode::Overlap:
    return "overlap";
  case RefusalCode::Trim:
    return "trim";
  case RefusalCode::Count:
    return "count";
  case RefusalCode::Mesh:
    return "mesh";
  case RefusalCode::MissingGroup:
    return "missing-group";
  case RefusalCode::UnknownGroup:
    return "unknown-group";
  case RefusalCode::UnnamedGroup:
    return "unnamed-group";
  case RefusalCode::SingleRank:
    return "single-rank";
  case RefusalCode::Reduction:
    return "reduction";
  case RefusalCode::NoProduct:
    return "no-product";
  case RefusalCode::Batched:
    return "batched";
  case RefusalCode::Bias:
    return "bias";
  case RefusalCode::Scaled:
    return "scaled";
  case RefusalCode::Transposed:
    return "transposed";
  case RefusalCode::Contraction:
    return "contraction";
  case RefusalCode::Constant:
    return "constant";
  case RefusalCode::Indirect:
    return "indirect";
  case RefusalCode::Opaque:
    return "opaque";
  case RefusalCode::Output:
    return "output";
  case RefusalCode::Collective:
    return "collective";
  case RefusalCode::WholeRows:
    return "whole-rows";
  case RefusalCode::MinorDim:
    return "minor-dim";
  case RefusalCode::TwoDims:
    return "two-dims";
  case RefusalCode::OfRank:
    return "of-rank";
  case RefusalCode::Varying:
    return "varying";
  case RefusalCode::UnknownRanks:
    return "unknown-ranks";
  case RefusalCode::Indivisible:
    return "indivisible";
  case RefusalCode::Unpaddable:
    return "unpaddable";
  case RefusalCode::Vocabulary:
    return "vocabulary";
  case RefusalCode::Unprofitable:
    return "unprofitable";
  case RefusalCode::Unpriced:
    return "unpriced";
  case RefusalCode::NoProgress:
    return "no-progress";
  case RefusalCode::Rounding:
    return "rounding";
  case RefusalCode::UpstreamRule:
    return "upstream-rule";
  case RefusalCode::Conflict:
    return "conflict";
  }
  llvm_unreachable("all codes are listed");
}
