// What the command line states overrides what a module says, too.
// RUN: commute opt %s -o - --passes=contiguous-collectives --quiet --group=0=2-3 --rank=3 --input-placement='x=shard(0)' --input-placement='w=replicated@0' --assume='s0 % 8 == 0' | FileCheck %s --check-prefix=STATED
// STATED: tp.assumptions = ["s0 >= 2", "s0 % 8 == 0"]
// STATED-SAME: tp.groups = [#tp.group<"0", [2, 3]>]
// STATED-SAME: tp.rank = 3
// STATED: tp.name = "x", tp.placements = {"0" = #tp.placement<shard(0)>}
// STATED-SAME: tp.name = "w", tp.placements = {"0" = #tp.placement<replicated>}
// STATED: tp.all_reduce {{.*}} group <"0", [2, 3]>

// What is not stated stays.
// RUN: commute opt %s -o - --passes=contiguous-collectives --quiet | FileCheck %s --check-prefix=UNSTATED
// UNSTATED: tp.assumptions = ["s0 >= 2"]
// UNSTATED-SAME: tp.groups = [#tp.group<"0", [0, 1]>]
// UNSTATED: tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}

// A placement of both programs, on the command line: sizes follow assumptions.
// RUN: commute verify %s %s --assume='s0 % 8 == 0' | FileCheck %s --check-prefix=VERIFY
// VERIFY: equivalent on 2 ranks
// VERIFY: of sizes: s0 >= 2
// VERIFY-NEXT: of sizes: s0 % 8 == 0

// RUN: not commute show %s --group=0=0-2 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: error: {{.*}}stated-context-module.mlir: with the groups that --group states: {{[0-9]+:[0-9]+: .*}}
// RUN: not commute show %s --input-placement='y=replicated' 2>&1 | FileCheck %s --check-prefix=NO-INPUT
// NO-INPUT: no input matches --input-placement=y=replicated
// RUN: not commute show %s --input-placement='x=replicated@tp' 2>&1 | FileCheck %s --check-prefix=NO-GROUP
// NO-GROUP: --input-placement=x=replicated@tp: the program has no such group
// RUN: not commute show %s --rank=7 2>&1 | FileCheck %s --check-prefix=NO-RANK
// NO-RANK: rank 7 is not a member of any of the graph's groups
// RUN: not commute verify %s %s --assume='s0 == 1' 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// CONTRADICTION: no value of s0 satisfies all assumptions about it

module attributes {tp.groups = [#tp.group<"0", [0, 1]>], tp.assumptions = ["s0 >= 2"]} {
  func.func @main(%x: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}},
                  %w: tensor<8xf32> {tp.name = "w"}) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>> {
    %0 = tp.map mul(%x, %w) : (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>, tensor<8xf32>) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
    %1 = tp.all_reduce sum %0 group <"0", [0, 1]> : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
    %2 = tp.reduce_scatter sum %w scatter_axis 0 group <"0", [0, 1]> : tensor<8xf32> -> tensor<4xf32>
    return %1 : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
  }
}
