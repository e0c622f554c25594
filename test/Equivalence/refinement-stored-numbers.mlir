// A buffer with one integer is the number that the archive stores, if the ranks
// and the reference store different ones.
// RUN: split-file %s %t
// RUN: commute verify --reference=%t/reference.mlir %t/rank0.mlir %t/rank1.mlir \
// RUN:   | FileCheck %s --check-prefix=GOOD
// RUN: not commute verify --reference=%t/reference.mlir %t/rank0.mlir %t/wrong1.mlir \
// RUN:   | FileCheck %s --check-prefix=WRONG
// RUN: not commute verify --reference=%t/reference.mlir %t/rank0.mlir %t/rank1.mlir \
// RUN:   --relations=%t/stated.json | FileCheck %s --check-prefix=STATED

// GOOD: refines on 2 ranks
// GOOD: input first: as stored (rank 0: 0, rank 1: 3, reference: 0)
// WRONG: does not refine on 2 ranks
// WRONG: input first: as stored (rank 0: 0, rank 1: 2, reference: 0)
// STATED: does not refine on 2 ranks
// STATED-NOT: as stored

//--- stated.json
{"version": 1, "inputs": {"first": "first"}}
//--- reference.mlir
func.func @main(%x: tensor<1xi64> {tp.name = "x"}, %first: tensor<1xi64> {tp.name = "first", tp.stored = 0 : i64}) -> tensor<1xi64> {
  %three = tp.constant 3 : i64 -> tensor<1xi64>
  %a = tp.map sub(%x, %three) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %b = tp.map add(%x, %a) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %y = tp.map sub(%b, %first) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %y : tensor<1xi64>
}
//--- rank0.mlir
func.func @main(%x: tensor<1xi64> {tp.name = "x"}, %first: tensor<1xi64> {tp.name = "first", tp.stored = 0 : i64}) -> tensor<1xi64> {
  %p = tp.map sub(%x, %first) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %y = tp.all_reduce sum %p group <"tp", [0, 1]> : tensor<1xi64> -> tensor<1xi64>
  return %y : tensor<1xi64>
}
//--- rank1.mlir
func.func @main(%x: tensor<1xi64> {tp.name = "x"}, %first: tensor<1xi64> {tp.name = "first", tp.stored = 3 : i64}) -> tensor<1xi64> {
  %p = tp.map sub(%x, %first) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %y = tp.all_reduce sum %p group <"tp", [0, 1]> : tensor<1xi64> -> tensor<1xi64>
  return %y : tensor<1xi64>
}
//--- wrong1.mlir
func.func @main(%x: tensor<1xi64> {tp.name = "x"}, %first: tensor<1xi64> {tp.name = "first", tp.stored = 2 : i64}) -> tensor<1xi64> {
  %p = tp.map sub(%x, %first) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %y = tp.all_reduce sum %p group <"tp", [0, 1]> : tensor<1xi64> -> tensor<1xi64>
  return %y : tensor<1xi64>
}
