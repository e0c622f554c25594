// A value of each rank's own, of two values and on two axes of a mesh.
// RUN: commute run %s --print-elements | FileCheck %s

#rows = #tp.group<"rows", [[0, 1], [2, 3]]>
#columns = #tp.group<"columns", [[0, 2], [1, 3]]>
module attributes {tp.groups = [#rows, #columns]} {
  func.func @main() -> (tensor<i64>, tensor<i64>, tensor<2xi64>) {
    %a = tp.constant 10 : i64 -> tensor<i64>
    %b = tp.constant 20 : i64 -> tensor<i64>
    %0 = tp.rank_select %a, %b group #rows : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %1 = tp.rank_select %a, %b group #columns : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %low = tp.iota 0 : i64 step 1 : i64 -> tensor<2xi64>
    %high = tp.iota 2 : i64 step 1 : i64 -> tensor<2xi64>
    %2 = tp.rank_select %low, %high group #rows : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    return %0, %1, %2 : tensor<i64>, tensor<i64>, tensor<2xi64>
  }
}

// CHECK: rank0.output0 I64 []: 10
// CHECK-NEXT: rank0.output1 I64 []: 10
// CHECK-NEXT: rank0.output2 I64 [2]: 0 1
// CHECK-NEXT: rank1.output0 I64 []: 20
// CHECK-NEXT: rank1.output1 I64 []: 10
// CHECK-NEXT: rank1.output2 I64 [2]: 2 3
// CHECK-NEXT: rank2.output0 I64 []: 10
// CHECK-NEXT: rank2.output1 I64 []: 20
// CHECK-NEXT: rank2.output2 I64 [2]: 0 1
// CHECK-NEXT: rank3.output0 I64 []: 20
// CHECK-NEXT: rank3.output1 I64 []: 20
// CHECK-NEXT: rank3.output2 I64 [2]: 2 3
