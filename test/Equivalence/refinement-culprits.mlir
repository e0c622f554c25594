// RUN: split-file %s %t
// RUN: commute verify --reference=%t/mean.mlir %t/averaged.mlir --relations=%t/rows.json \
// RUN:   | FileCheck %s --check-prefix=AVERAGED
// RUN: not commute verify --reference=%t/mean.mlir %t/alone.mlir --relations=%t/rows.json \
// RUN:   | FileCheck %s --check-prefix=ALONE
// RUN: not commute verify --reference=%t/mean.mlir %t/summed.mlir --relations=%t/rows.json \
// RUN:   | FileCheck %s --check-prefix=SUMMED
// RUN: commute verify --reference=%t/scaled.mlir %t/added.mlir \
// RUN:   | FileCheck %s --check-prefix=ADDED
// RUN: not commute verify --reference=%t/scaled.mlir %t/other.mlir \
// RUN:   | FileCheck %s --check-prefix=OTHER
// RUN: not commute verify --reference=%t/sum.mlir %t/rank0.mlir %t/rank1.mlir \
// RUN:   --relations=%t/summands.json | FileCheck %s --check-prefix=LACKS
// RUN: commute verify --reference=%t/sum.mlir %t/rank0.mlir %t/rank0.mlir \
// RUN:   --relations=%t/summands.json | FileCheck %s --check-prefix=MATCHED

// A rank's own mean is right, until it is used as that of all rows.
// AVERAGED: refines on 2 ranks
// ALONE: does not refine on 2 ranks
// ALONE-NEXT: difference: output 0 (y): 'm' on each rank is that of its own part of the batch (dp): no rank has averaged it
// SUMMED: does not refine on 2 ranks
// SUMMED-NEXT: difference: 's' is 2 times the reference's 'y': it is summed over dp

// Twice the value is nothing of the reference, but the sum that follows is: only the last
// op is wrong.
// ADDED: refines on 1 rank
// OTHER: difference: 'z' is not the reference's 'z'

// Rank 1 lacks the first of two collectives, which take the same.
// LACKS: deadlock on 2 ranks
// LACKS-NEXT: difference: rank 0 runs tp.all_reduce sum of tensor<4xf32>, second, and waits for rank 1, which returns without taking part; the first collective that only one of them has is 'first' of rank 0
// LACKS-NEXT: at first
// MATCHED: refines on 2 ranks

//--- mean.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %y = tp.reduce avg %x dims [0] {tp.names = ["y"]} : tensor<8x4xf32> -> tensor<4xf32> loc("y")
  return %y : tensor<4xf32>
}
//--- averaged.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %m = tp.reduce avg %x dims [0] {tp.names = ["m"]} : tensor<4x4xf32> -> tensor<4xf32> loc("m")
  %s = tp.all_reduce avg %m group <"dp", [0, 1]> {tp.names = ["s"]} : tensor<4xf32> -> tensor<4xf32> loc("s")
  return %s : tensor<4xf32>
}
//--- alone.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %m = tp.reduce avg %x dims [0] {tp.names = ["m"]} : tensor<4x4xf32> -> tensor<4xf32> loc("m")
  return %m : tensor<4xf32>
}
//--- summed.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %m = tp.reduce avg %x dims [0] {tp.names = ["m"]} : tensor<4x4xf32> -> tensor<4xf32> loc("m")
  %s = tp.all_reduce sum %m group <"dp", [0, 1]> {tp.names = ["s"]} : tensor<4xf32> -> tensor<4xf32> loc("s")
  return %s : tensor<4xf32>
}
//--- scaled.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %y: tensor<4x4xf32> {tp.name = "y"}) -> tensor<4x4xf32> {
  %e = tp.map exp(%x) {tp.names = ["e"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("e")
  %f = tp.map mul(%e, %y) {tp.names = ["f"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("f")
  %g = tp.map add(%f, %e) {tp.names = ["g"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("g")
  %z = tp.map tanh(%g) {tp.names = ["z"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("z")
  return %z : tensor<4x4xf32>
}
//--- added.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %y: tensor<4x4xf32> {tp.name = "y"}) -> tensor<4x4xf32> {
  %e = tp.map exp(%x) {tp.names = ["e"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("e")
  %yy = tp.map add(%y, %y) {tp.names = ["yy"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("yy")
  %z1 = tp.map sub(%yy, %y) {tp.names = ["z1"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("z1")
  %f = tp.map mul(%z1, %e) {tp.names = ["f"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("f")
  %g = tp.map add(%e, %f) {tp.names = ["g"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("g")
  %z = tp.map tanh(%g) {tp.names = ["z"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("z")
  return %z : tensor<4x4xf32>
}
//--- other.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %y: tensor<4x4xf32> {tp.name = "y"}) -> tensor<4x4xf32> {
  %e = tp.map exp(%x) {tp.names = ["e"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("e")
  %yy = tp.map add(%y, %y) {tp.names = ["yy"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("yy")
  %z1 = tp.map sub(%yy, %y) {tp.names = ["z1"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("z1")
  %f = tp.map mul(%z1, %e) {tp.names = ["f"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("f")
  %g = tp.map add(%e, %f) {tp.names = ["g"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("g")
  %z = tp.map sigmoid(%g) {tp.names = ["z"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("z")
  return %z : tensor<4x4xf32>
}
//--- sum.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %y: tensor<4xf32> {tp.name = "y"}) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}
//--- rank0.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %y: tensor<4xf32> {tp.name = "y"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tp.all_reduce sum %x group <"tp", [0, 1]> {tp.names = ["first"]} : tensor<4xf32> -> tensor<4xf32> loc("first")
  %1 = tp.all_reduce sum %y group <"tp", [0, 1]> {tp.names = ["second"]} : tensor<4xf32> -> tensor<4xf32> loc("second")
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
//--- rank1.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %y: tensor<4xf32> {tp.name = "y"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tp.all_reduce sum %y group <"tp", [0, 1]> {tp.names = ["second"]} : tensor<4xf32> -> tensor<4xf32> loc("second")
  return %x, %0 : tensor<4xf32>, tensor<4xf32>
}
//--- rows.json
{"version": 1, "mesh": {"dp": [[0, 1]]}, "inputs": {"x": "shard(x, 0)"}, "outputs": {"0": "replicated"}}
//--- summands.json
{"version": 1, "mesh": {"tp": [[0, 1]]}, "inputs": {"x": "partial(x)", "y": "partial(y)"},
 "outputs": {"0": "replicated", "1": "replicated"}}
