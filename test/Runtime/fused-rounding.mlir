// What a fused reduce-scatter moves has the type of its result, as that of a
// plain one: the bits are those of the product and the collective apart.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute run $f --seed=3 --print-elements || exit 1; done | FileCheck %s --implicit-check-not=": 0"

//--- bf16_2.mlir
// CHECK: rank0.output0 BOOL []: 1
// CHECK: rank0.output1 BOOL []: 1
// CHECK: rank0.output2 BOOL []: 1
// CHECK: rank1.output2 BOOL []: 1
#world = #tp.group<"0", [0, 1]>
module attributes {tp.groups = [#world]} {
  func.func @main(%x: tensor<8x96xbf16>, %w: tensor<96x16xbf16>) -> (tensor<i1>, tensor<i1>, tensor<i1>) {
    %p = tp.matmul %x, %w : (tensor<8x96xbf16>, tensor<96x16xbf16>) -> tensor<8x16xbf16>
    %r0 = tp.reduce_scatter sum %p scatter_axis 0 group #world : tensor<8x16xbf16> -> tensor<4x16xbf16>
    %r1 = tp.reduce_scatter sum %p scatter_axis 1 group #world : tensor<8x16xbf16> -> tensor<8x8xbf16>
    %r2 = tp.reduce_scatter avg %p scatter_axis 0 group #world : tensor<8x16xbf16> -> tensor<4x16xbf16>
    %f0 = tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 group #world : (tensor<8x96xbf16>, tensor<96x16xbf16>) -> tensor<4x16xbf16>
    %f1 = tp.matmul_reduce_scatter sum %x, %w scatter_axis 1 group #world : (tensor<8x96xbf16>, tensor<96x16xbf16>) -> tensor<8x8xbf16>
    %f2 = tp.matmul_reduce_scatter avg %x, %w scatter_axis 0 group #world : (tensor<8x96xbf16>, tensor<96x16xbf16>) -> tensor<4x16xbf16>
    %e0 = tp.map equal(%r0, %f0) : (tensor<4x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xi1>
    %e1 = tp.map equal(%r1, %f1) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xi1>
    %e2 = tp.map equal(%r2, %f2) : (tensor<4x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xi1>
    %a0 = tp.reduce min %e0 dims [0, 1] : tensor<4x16xi1> -> tensor<i1>
    %a1 = tp.reduce min %e1 dims [0, 1] : tensor<8x8xi1> -> tensor<i1>
    %a2 = tp.reduce min %e2 dims [0, 1] : tensor<4x16xi1> -> tensor<i1>
    return %a0, %a1, %a2 : tensor<i1>, tensor<i1>, tensor<i1>
  }
}

//--- bf16_and_f16_4.mlir
// CHECK: rank0.output0 BOOL []: 1
// CHECK: rank0.output1 BOOL []: 1
// CHECK: rank3.output0 BOOL []: 1
// CHECK: rank3.output1 BOOL []: 1
#world = #tp.group<"0", [2, 0, 3, 1]>
module attributes {tp.groups = [#world]} {
  func.func @main(%x: tensor<8x96xbf16>, %w: tensor<96x16xbf16>, %y: tensor<8x96xf16>, %v: tensor<96x16xf16>) -> (tensor<i1>, tensor<i1>) {
    %p = tp.matmul %x, %w : (tensor<8x96xbf16>, tensor<96x16xbf16>) -> tensor<8x16xbf16>
    %r0 = tp.reduce_scatter sum %p scatter_axis 0 group #world : tensor<8x16xbf16> -> tensor<2x16xbf16>
    %f0 = tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 group #world : (tensor<8x96xbf16>, tensor<96x16xbf16>) -> tensor<2x16xbf16>
    %q = tp.matmul %y, %v : (tensor<8x96xf16>, tensor<96x16xf16>) -> tensor<8x16xf16>
    %r1 = tp.reduce_scatter sum %q scatter_axis 0 group #world : tensor<8x16xf16> -> tensor<2x16xf16>
    %f1 = tp.matmul_reduce_scatter sum %y, %v scatter_axis 0 group #world : (tensor<8x96xf16>, tensor<96x16xf16>) -> tensor<2x16xf16>
    %e0 = tp.map equal(%r0, %f0) : (tensor<2x16xbf16>, tensor<2x16xbf16>) -> tensor<2x16xi1>
    %e1 = tp.map equal(%r1, %f1) : (tensor<2x16xf16>, tensor<2x16xf16>) -> tensor<2x16xi1>
    %a0 = tp.reduce min %e0 dims [0, 1] : tensor<2x16xi1> -> tensor<i1>
    %a1 = tp.reduce min %e1 dims [0, 1] : tensor<2x16xi1> -> tensor<i1>
    return %a0, %a1 : tensor<i1>, tensor<i1>
  }
}
