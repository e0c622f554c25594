// Collectives whose operand lies in the region that their result begins: they
// read all of it.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- a_sum_of_replicated.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[NORM:.*]] = tp.rms_norm {{.*}} -> tensor<4x16xf32>
// CHECK: %[[WHOLE:.*]] = tp.all_gather %[[NORM]]
// CHECK: tp.reduce_scatter sum %[[WHOLE]] {{.*}} tensor<8x16xf32> -> tensor<4x16xf32>
// CHECK: tp.map add{{.*}} -> tensor<4x16xf32>
// CHECK: return
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %1 = tp.rms_norm %0 epsilon 1.0e-05 dims 1 : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %2 = tp.all_reduce sum %1 group <"0", [0, 1]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %3 = tp.map add(%1, %2) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %3 : tensor<8x16xf32>
  }
}

//--- b_gather_of_replicated.mlir
// CHECK-LABEL: func.func @main
// CHECK: return
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<8x16xf32>, %y: tensor<16x16xf32>) -> tensor<24x16xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %1 = tp.rms_norm %0 epsilon 1.0e-05 dims 1 : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1]> : tensor<8x16xf32> -> tensor<16x16xf32>
    %3 = tp.rms_norm %2 epsilon 1.0e-05 dims 1 : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %4 = tp.concat %1, %3 dim 0 : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<24x16xf32>
    return %4 : tensor<24x16xf32>
  }
}
