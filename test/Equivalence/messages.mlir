// What verify says of a difference: output, rank, index, and the first value
// where two programs part, with node and source line in both.
// RUN: split-file %s %t
// RUN: not commute verify %t/captured.mlir %t/average.mlir | FileCheck %s
// RUN: not commute verify %t/captured.mlir %t/average.mlir --real-sizes | FileCheck %s --check-prefix=REAL
// RUN: not commute verify %t/captured.mlir %t/average.mlir --json | FileCheck %s --check-prefix=JSON
// RUN: not commute verify %t/captured.mlir %t/last-rank.mlir --real-sizes | FileCheck %s --check-prefix=RANK
// RUN: commute verify %t/captured.mlir %t/captured.mlir | FileCheck %s --check-prefix=SAME
// RUN: commute verify %t/captured.mlir %t/captured.mlir --json | FileCheck %s --check-prefix=SAMEJSON

// CHECK: different: output 0 differs on rank 0 at index [0, 0]
// CHECK-NEXT: first:  neg (model.py:13)
// CHECK-NEXT: second: neg (rewritten.py:23)
// CHECK-NEXT: different: the programs part at value 'all_reduce', on rank 0 at index [0, 0]
// CHECK-NEXT: first:  all_reduce (model.py:12)
// CHECK-NEXT: second: all_reduce (rewritten.py:22)
// CHECK-NOT: {{.}}

// REAL: different: output 0 differs on rank 0 at index [0, 0]{{$}}
// REAL: different: the programs part at value 'all_reduce', on rank 0 at index [0, 0]{{$}}

// JSON: "differences": [
// JSON: "first": "neg (model.py:13)"
// JSON-NEXT: "kind": "value"
// JSON-NEXT: "message": "output 0 differs on rank 0 at index [0, 0]"
// JSON-NEXT: "second": "neg (rewritten.py:23)"
// JSON: "equivalent": false
// JSON: "ranks": 2

// Only the last row of the block of rank 1 is another one.
// RANK: different: output 0 differs on rank 1 at index [3, 0]{{$}}

// SAME: {{^}}equivalent on 2 ranks
// SAME-NOT: {{.}}

// SAMEJSON: "differences": []
// SAMEJSON: "equivalent": true

//--- captured.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x96xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}) -> tensor<4x96xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> {tp.names = ["all_reduce"]} : tensor<4x96xf32> -> tensor<4x96xf32> loc("all_reduce"("model.py":12:0))
    %1 = tp.map neg(%0) {tp.names = ["neg"]} : (tensor<4x96xf32>) -> tensor<4x96xf32> loc("neg"("model.py":13:0))
    return %1 : tensor<4x96xf32>
  }
}

//--- average.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x96xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}) -> tensor<4x96xf32> {
    %0 = tp.all_reduce avg %x group <"0", [0, 1]> {tp.names = ["all_reduce"]} : tensor<4x96xf32> -> tensor<4x96xf32> loc("all_reduce"("rewritten.py":22:0))
    %1 = tp.map neg(%0) {tp.names = ["neg"]} : (tensor<4x96xf32>) -> tensor<4x96xf32> loc("neg"("rewritten.py":23:0))
    return %1 : tensor<4x96xf32>
  }
}

//--- last-rank.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x96xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}) -> tensor<4x96xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x96xf32> -> tensor<4x96xf32>
    %1 = tp.map neg(%0) : (tensor<4x96xf32>) -> tensor<4x96xf32>
    // The last row plus 0 on rank 0 and 1 on rank 1.
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x96xf32> -> tensor<3x96xf32>
    %3 = tp.slice %1 dim 0 start 3 step 1 : tensor<4x96xf32> -> tensor<1x96xf32>
    %4 = tp.iota 0 : i64 step 1 : i64 -> tensor<2xi64>
    %5 = tp.rank_slice %4 slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %6 = tp.cast %5 : tensor<1xi64> -> tensor<1xf32>
    %7 = tp.map add(%3, %6) : (tensor<1x96xf32>, tensor<1xf32>) -> tensor<1x96xf32>
    %8 = tp.concat %2, %7 dim 0 : (tensor<3x96xf32>, tensor<1x96xf32>) -> tensor<4x96xf32>
    return %8 : tensor<4x96xf32>
  }
}
