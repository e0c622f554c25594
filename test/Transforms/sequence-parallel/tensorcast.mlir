// The patterns of TensorCast's pass: each all_reduce becomes a reduce_scatter, the
// residual stays local, and each norm is gathered once.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=sequence-parallel && commute opt $f.once.mlir -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- p1_a_norm.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 scatter_axis 0
// CHECK-NEXT: tp.rms_norm {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.all_gather {{.*}} gather_axis 0
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- p1_b_marker.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0
// CHECK-NEXT: tp.region_marker begin {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.rms_norm {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %m = tp.region_marker begin %0 id 0 : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %m weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- p1_c_add_norm_with_replicated_residual.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum
// CHECK-DAG: tp.rank_slice %arg4 slice_axis 0
// CHECK: tp.add_rms_norm {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %r: tensor<8x16xbf16> {tp.placements = {"0,1" = #tp.placement<replicated>}}) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.add_rms_norm %0, %r weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- p2_chain.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.reduce_scatter sum %arg0
// CHECK-NEXT: %[[N:.*]] = tp.rms_norm %[[A]]
// CHECK-NEXT: tp.all_gather %[[N]]
// CHECK-NEXT: tp.matmul
// CHECK-NEXT: %[[B:.*]] = tp.reduce_scatter sum
// CHECK-NEXT: %[[S:.*]], %[[SUM:.*]] = tp.add_rms_norm %[[B]], %[[A]]
// CHECK-NEXT: tp.all_gather %[[S]]
// CHECK-NEXT: tp.matmul
// CHECK-NEXT: %[[C:.*]] = tp.reduce_scatter sum
// CHECK-NEXT: %[[V:.*]], %{{.*}} = tp.add_rms_norm %[[SUM]], %[[C]]
// CHECK-NEXT: tp.all_gather %[[V]]
// CHECK-NOT: tp.all_reduce
// CHECK-NOT: tp.all_gather
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4:2 = tp.add_rms_norm %3, %0 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %5 = tp.matmul %4#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %6 = tp.all_reduce sum %5 group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %7:2 = tp.add_rms_norm %4#1, %6 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %8 = tp.matmul %7#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %8 : tensor<8x16xbf16>
  }
}

//--- p3_view_add_end_copy_norm.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.reduce_scatter sum %arg0
// CHECK-NEXT: %[[B:.*]] = tp.reduce_scatter sum %arg1
// CHECK-NEXT: tp.reshape %[[B]] : tensor<4x16xbf16> -> tensor<1x4x16xbf16>
// CHECK-NEXT: tp.reshape %[[A]]
// CHECK-NEXT: tp.map add
// CHECK-NEXT: tp.region_marker end
// CHECK-NEXT: tp.region_marker copy
// CHECK-NEXT: tp.rms_norm {{.*}} -> tensor<1x4x16xbf16>
// CHECK-NEXT: tp.all_gather {{.*}} gather_axis 1
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<1x8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %q group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %v = tp.reshape %1 : tensor<8x16xbf16> -> tensor<1x8x16xbf16>
    %u = tp.reshape %0 : tensor<8x16xbf16> -> tensor<1x8x16xbf16>
    %2 = tp.map add(%u, %v) : (tensor<1x8x16xbf16>, tensor<1x8x16xbf16>) -> tensor<1x8x16xbf16>
    %3 = tp.region_marker end %2 id 0 : tensor<1x8x16xbf16> -> tensor<1x8x16xbf16>
    %4 = tp.region_marker copy %3 id 0 : tensor<1x8x16xbf16> -> tensor<1x8x16xbf16>
    %5 = tp.rms_norm %4 weight %w epsilon 1.0e-06 dims 1 : (tensor<1x8x16xbf16>, tensor<16xbf16>) -> tensor<1x8x16xbf16>
    %6 = tp.matmul %5, %b : (tensor<1x8x16xbf16>, tensor<16x16xbf16>) -> tensor<1x8x16xbf16>
    return %6 : tensor<1x8x16xbf16>
  }
}
