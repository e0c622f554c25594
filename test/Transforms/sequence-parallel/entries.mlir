// A replicated first residual: cut by rank where the program is one rank's own, by a
// reduce_scatter of equal values where all ranks share it.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=sequence-parallel && commute opt $f.once.mlir -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- a_known_rank.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0
// CHECK: tp.rank_slice %arg4 slice_axis 0
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 1 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %x: tensor<8x16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map add(%x, %0) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3 : tensor<8x16xbf16>
  }
}

//--- b_shared_program.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0
// CHECK: tp.reduce_scatter max %arg4
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %x: tensor<8x16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map add(%x, %0) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3 : tensor<8x16xbf16>
  }
}

//--- c_rank_slice_of_an_all_reduce.mlir
// What XLA calls creating a reduce-scatter.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = tp.reduce_scatter sum %arg0
// CHECK-NEXT: return %[[S]]
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<4x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rank_slice %0 slice_axis 0 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<4x16xbf16>
    return %1 : tensor<4x16xbf16>
  }
}

//--- d_all_gather_sinks.mlir
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[N:.*]] = tp.rms_norm %arg0 {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.all_gather %[[N]]
// CHECK-NOT: tp.all_gather
// CHECK: return
module {
  func.func @main(%p: tensor<4x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_gather %p gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}
