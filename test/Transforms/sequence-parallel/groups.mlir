// Several groups, and the same ones under several names.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=sequence-parallel && commute opt $f.once.mlir -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- a_residual_of_another_group.mlir
// The sizes are equal, the members are not (defect B3): a residual that is a
// shard on rows of the mesh is never added to one of its columns.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.reduce_scatter sum %arg0 scatter_axis 0 group <"row"
// CHECK: %[[G:.*]] = tp.all_gather
// CHECK-NOT: tp.map add({{.*}}) : (tensor<4x16xbf16>, tensor<4x16xbf16>)
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"row" = #tp.placement<replicated>, "column" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"row", [[0, 1], [2, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"column", [[0, 2], [1, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4 = tp.map add(%0, %3) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %5 = tp.matmul %4, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %5 : tensor<8x16xbf16>
  }
}

//--- b_one_group_two_names.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0
// CHECK: tp.reduce_scatter sum %arg1
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"a" = #tp.placement<replicated>, "b" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"a", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %q group <"b", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.map add(%0, %1) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.rms_norm %2 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %3, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %4 : tensor<8x16xbf16>
  }
}

//--- c_sizes_two_and_four.mlir
// Groups of two and of four (defect B8): a shard of the one is none of the
// other.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 {{.*}} group <"row"
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"row" = #tp.placement<replicated>, "all" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"row", [[0, 1], [2, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"all", [0, 1, 2, 3]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4 = tp.map add(%0, %3) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %5 = tp.rms_norm %4 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %6 = tp.matmul %5, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %6 : tensor<8x16xbf16>
  }
}

//--- d_other_axis_in_between.mlir
// A collective over the other axis of the mesh runs on shards: its ranks hold the
// same rows.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 {{.*}} group <"row"
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"row" = #tp.placement<replicated>, "column" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"row", [[0, 1], [2, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce max %0 group <"column", [[0, 2], [1, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3 : tensor<8x16xbf16>
  }
}
