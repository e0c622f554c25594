//===- TestPasses.td - passes that show analyses -----------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_TESTPASSES
#define COMMUTE_TRANSFORMS_TESTPASSES

include "mlir/Pass/PassBase.td"

def PrintOpFacts : Pass<"print-op-facts", "::mlir::func::FuncOp"> {
  let summary = "Emits a remark with what each op says of itself";
  let description = [{
    For tests and for people who add ops: dimension rule, work, and the layout
    that stride analysis finds for each result.
  }];
  let options = [
    Option<"dimensionRules", "dimension-rules", "bool", "false",
           "Print dimension rules">,
    Option<"work", "work", "bool", "false", "Print work">,
    Option<"strides", "strides", "bool", "false",
           "Print what stride analysis finds">,
    Option<"placements", "placements", "bool", "false",
           "Print what placement analysis finds, and misuses of partial "
           "values">];
}

#endif // COMMUTE_TRANSFORMS_TESTPASSES
