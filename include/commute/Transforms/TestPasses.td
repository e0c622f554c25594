//===- TestPasses.td - passes that print analyses ----------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_TESTPASSES
#define COMMUTE_TRANSFORMS_TESTPASSES

include "mlir/Pass/PassBase.td"

def PrintOpFacts : Pass<"print-op-facts", "::mlir::func::FuncOp"> {
  let summary = "Emit remarks with what ops and analyses report about each op";
  let description = [{
    For tests and for authors of new ops: prints the dimension rule, the work,
    and the layout that stride analysis infers for each result.
  }];
  let options = [
    Option<"dimensionRules", "dimension-rules", "bool", "false",
           "Print dimension rules">,
    Option<"work", "work", "bool", "false", "Print work">,
    Option<"strides", "strides", "bool", "false",
           "Print the results of stride analysis">,
    Option<"placements", "placements", "bool", "false",
           "Print the results of placement analysis, and misuses of "
           "partial values">];
}

#endif // COMMUTE_TRANSFORMS_TESTPASSES
