// Eight-bit floats that travel as bytes, through views of their bits.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute run $f --seed=5 --print-elements || exit 1; done | FileCheck %s --implicit-check-not=": 0"
// The same with the bytes gathered as what they are.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --quiet --policy=always --passes=normalize-collectives || exit 1; commute run $f.out.mlir --seed=5 --print-elements || exit 1; done | FileCheck %s --implicit-check-not=": 0"

//--- a_e4m3_2.mlir
// CHECK: rank0.output0 BOOL []: 1
// CHECK: rank0.output1 BOOL []: 1
// CHECK: rank0.output2 BOOL []: 1
// CHECK: rank0.output3 BOOL []: 1
// CHECK: rank1.output0 BOOL []: 1
// CHECK: rank1.output1 BOOL []: 1
// CHECK: rank1.output2 BOOL []: 1
// CHECK: rank1.output3 BOOL []: 1
#world = #tp.group<"0", [1, 0]>
module attributes {tp.groups = [#world]} {
  func.func @main(%x: tensor<2x6xf32>, %b: tensor<6x4xf32>) -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
    // Bytes that travel, and numbers that become bytes where they arrive.
    %e = tp.cast %x : tensor<2x6xf32> -> tensor<2x6xf8E4M3FN>
    %bits = tp.bitcast %e : tensor<2x6xf8E4M3FN> -> tensor<2x6xui8>
    %h = tp.all_gather %bits gather_axis 0 group #world async : tensor<2x6xui8> -> tensor<4x6xui8>
    %q = tp.wait %h : tensor<4x6xui8> -> tensor<4x6xui8>
    %g = tp.bitcast %q : tensor<4x6xui8> -> tensor<4x6xf8E4M3FN>
    %n = tp.cast %g : tensor<4x6xf8E4M3FN> -> tensor<4x6xf32>
    %a = tp.all_gather %x gather_axis 0 group #world : tensor<2x6xf32> -> tensor<4x6xf32>
    %ae = tp.cast %a : tensor<4x6xf32> -> tensor<4x6xf8E4M3FN>
    %an = tp.cast %ae : tensor<4x6xf8E4M3FN> -> tensor<4x6xf32>
    %abits = tp.bitcast %ae : tensor<4x6xf8E4M3FN> -> tensor<4x6xui8>
    %e0 = tp.map equal(%n, %an) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    %e1 = tp.map equal(%q, %abits) : (tensor<4x6xui8>, tensor<4x6xui8>) -> tensor<4x6xi1>
    // What was rounded is not what was there before: the test can fail.
    %e2 = tp.map not_equal(%n, %a) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    // A scaled product of the gathered bytes, apart and fused.
    %s = tp.constant 0.5 : f32 -> tensor<f32>
    %be = tp.cast %b : tensor<6x4xf32> -> tensor<6x4xf8E4M3FN>
    %p = tp.matmul %g, %be lhs_scale %s rhs_scale %s : (tensor<4x6xf8E4M3FN>, tensor<6x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x4xbf16>
    %f = tp.all_gather_matmul %e, rhs(%be) shard_scale %s rhs_scales(%s) gather_axis 0 group #world : (tensor<2x6xf8E4M3FN>, tensor<6x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x4xbf16>
    %e3 = tp.map equal(%p, %f) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xi1>
    %a0 = tp.reduce min %e0 dims [0, 1] : tensor<4x6xi1> -> tensor<i1>
    %a1 = tp.reduce min %e1 dims [0, 1] : tensor<4x6xi1> -> tensor<i1>
    %a2 = tp.reduce max %e2 dims [0, 1] : tensor<4x6xi1> -> tensor<i1>
    %a3 = tp.reduce min %e3 dims [0, 1] : tensor<4x4xi1> -> tensor<i1>
    return %a0, %a1, %a2, %a3 : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
  }
}

//--- b_e5m2_4.mlir
// CHECK: rank0.output0 BOOL []: 1
// CHECK: rank0.output1 BOOL []: 1
// CHECK: rank0.output2 BOOL []: 1
// CHECK: rank0.output3 BOOL []: 1
// CHECK: rank1.output0 BOOL []: 1
// CHECK: rank1.output1 BOOL []: 1
// CHECK: rank1.output2 BOOL []: 1
// CHECK: rank1.output3 BOOL []: 1
// CHECK: rank2.output0 BOOL []: 1
// CHECK: rank2.output1 BOOL []: 1
// CHECK: rank2.output2 BOOL []: 1
// CHECK: rank2.output3 BOOL []: 1
// CHECK: rank3.output0 BOOL []: 1
// CHECK: rank3.output1 BOOL []: 1
// CHECK: rank3.output2 BOOL []: 1
// CHECK: rank3.output3 BOOL []: 1
#world = #tp.group<"0", [3, 2, 1, 0]>
module attributes {tp.groups = [#world]} {
  func.func @main(%x: tensor<2x6xf32>, %b: tensor<6x4xf32>) -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
    // Bytes that travel, and numbers that become bytes where they arrive.
    %e = tp.cast %x : tensor<2x6xf32> -> tensor<2x6xf8E5M2>
    %bits = tp.bitcast %e : tensor<2x6xf8E5M2> -> tensor<2x6xui8>
    %h = tp.all_gather %bits gather_axis 0 group #world async : tensor<2x6xui8> -> tensor<8x6xui8>
    %q = tp.wait %h : tensor<8x6xui8> -> tensor<8x6xui8>
    %g = tp.bitcast %q : tensor<8x6xui8> -> tensor<8x6xf8E5M2>
    %n = tp.cast %g : tensor<8x6xf8E5M2> -> tensor<8x6xf32>
    %a = tp.all_gather %x gather_axis 0 group #world : tensor<2x6xf32> -> tensor<8x6xf32>
    %ae = tp.cast %a : tensor<8x6xf32> -> tensor<8x6xf8E5M2>
    %an = tp.cast %ae : tensor<8x6xf8E5M2> -> tensor<8x6xf32>
    %abits = tp.bitcast %ae : tensor<8x6xf8E5M2> -> tensor<8x6xui8>
    %e0 = tp.map equal(%n, %an) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xi1>
    %e1 = tp.map equal(%q, %abits) : (tensor<8x6xui8>, tensor<8x6xui8>) -> tensor<8x6xi1>
    // What was rounded is not what was there before: the test can fail.
    %e2 = tp.map not_equal(%n, %a) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xi1>
    // A scaled product of the gathered bytes, apart and fused.
    %s = tp.constant 0.5 : f32 -> tensor<f32>
    %be = tp.cast %b : tensor<6x4xf32> -> tensor<6x4xf8E5M2>
    %p = tp.matmul %g, %be lhs_scale %s rhs_scale %s : (tensor<8x6xf8E5M2>, tensor<6x4xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<8x4xbf16>
    %f = tp.all_gather_matmul %e, rhs(%be) shard_scale %s rhs_scales(%s) gather_axis 0 group #world : (tensor<2x6xf8E5M2>, tensor<6x4xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<8x4xbf16>
    %e3 = tp.map equal(%p, %f) : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xi1>
    %a0 = tp.reduce min %e0 dims [0, 1] : tensor<8x6xi1> -> tensor<i1>
    %a1 = tp.reduce min %e1 dims [0, 1] : tensor<8x6xi1> -> tensor<i1>
    %a2 = tp.reduce max %e2 dims [0, 1] : tensor<8x6xi1> -> tensor<i1>
    %a3 = tp.reduce min %e3 dims [0, 1] : tensor<8x4xi1> -> tensor<i1>
    return %a0, %a1, %a2, %a3 : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
  }
}

//--- c_e4m3_8.mlir
// CHECK: rank0.output0 BOOL []: 1
// CHECK: rank0.output1 BOOL []: 1
// CHECK: rank0.output2 BOOL []: 1
// CHECK: rank0.output3 BOOL []: 1
// CHECK: rank1.output0 BOOL []: 1
// CHECK: rank1.output1 BOOL []: 1
// CHECK: rank1.output2 BOOL []: 1
// CHECK: rank1.output3 BOOL []: 1
// CHECK: rank2.output0 BOOL []: 1
// CHECK: rank2.output1 BOOL []: 1
// CHECK: rank2.output2 BOOL []: 1
// CHECK: rank2.output3 BOOL []: 1
// CHECK: rank3.output0 BOOL []: 1
// CHECK: rank3.output1 BOOL []: 1
// CHECK: rank3.output2 BOOL []: 1
// CHECK: rank3.output3 BOOL []: 1
// CHECK: rank4.output0 BOOL []: 1
// CHECK: rank4.output1 BOOL []: 1
// CHECK: rank4.output2 BOOL []: 1
// CHECK: rank4.output3 BOOL []: 1
// CHECK: rank5.output0 BOOL []: 1
// CHECK: rank5.output1 BOOL []: 1
// CHECK: rank5.output2 BOOL []: 1
// CHECK: rank5.output3 BOOL []: 1
// CHECK: rank6.output0 BOOL []: 1
// CHECK: rank6.output1 BOOL []: 1
// CHECK: rank6.output2 BOOL []: 1
// CHECK: rank6.output3 BOOL []: 1
// CHECK: rank7.output0 BOOL []: 1
// CHECK: rank7.output1 BOOL []: 1
// CHECK: rank7.output2 BOOL []: 1
// CHECK: rank7.output3 BOOL []: 1
#world = #tp.group<"0", [7, 6, 5, 4, 3, 2, 1, 0]>
module attributes {tp.groups = [#world]} {
  func.func @main(%x: tensor<2x6xf32>, %b: tensor<6x4xf32>) -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
    // Bytes that travel, and numbers that become bytes where they arrive.
    %e = tp.cast %x : tensor<2x6xf32> -> tensor<2x6xf8E4M3FN>
    %bits = tp.bitcast %e : tensor<2x6xf8E4M3FN> -> tensor<2x6xui8>
    %h = tp.all_gather %bits gather_axis 0 group #world async : tensor<2x6xui8> -> tensor<16x6xui8>
    %q = tp.wait %h : tensor<16x6xui8> -> tensor<16x6xui8>
    %g = tp.bitcast %q : tensor<16x6xui8> -> tensor<16x6xf8E4M3FN>
    %n = tp.cast %g : tensor<16x6xf8E4M3FN> -> tensor<16x6xf32>
    %a = tp.all_gather %x gather_axis 0 group #world : tensor<2x6xf32> -> tensor<16x6xf32>
    %ae = tp.cast %a : tensor<16x6xf32> -> tensor<16x6xf8E4M3FN>
    %an = tp.cast %ae : tensor<16x6xf8E4M3FN> -> tensor<16x6xf32>
    %abits = tp.bitcast %ae : tensor<16x6xf8E4M3FN> -> tensor<16x6xui8>
    %e0 = tp.map equal(%n, %an) : (tensor<16x6xf32>, tensor<16x6xf32>) -> tensor<16x6xi1>
    %e1 = tp.map equal(%q, %abits) : (tensor<16x6xui8>, tensor<16x6xui8>) -> tensor<16x6xi1>
    // What was rounded is not what was there before: the test can fail.
    %e2 = tp.map not_equal(%n, %a) : (tensor<16x6xf32>, tensor<16x6xf32>) -> tensor<16x6xi1>
    // A scaled product of the gathered bytes, apart and fused.
    %s = tp.constant 0.5 : f32 -> tensor<f32>
    %be = tp.cast %b : tensor<6x4xf32> -> tensor<6x4xf8E4M3FN>
    %p = tp.matmul %g, %be lhs_scale %s rhs_scale %s : (tensor<16x6xf8E4M3FN>, tensor<6x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x4xbf16>
    %f = tp.all_gather_matmul %e, rhs(%be) shard_scale %s rhs_scales(%s) gather_axis 0 group #world : (tensor<2x6xf8E4M3FN>, tensor<6x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x4xbf16>
    %e3 = tp.map equal(%p, %f) : (tensor<16x4xbf16>, tensor<16x4xbf16>) -> tensor<16x4xi1>
    %a0 = tp.reduce min %e0 dims [0, 1] : tensor<16x6xi1> -> tensor<i1>
    %a1 = tp.reduce min %e1 dims [0, 1] : tensor<16x6xi1> -> tensor<i1>
    %a2 = tp.reduce max %e2 dims [0, 1] : tensor<16x6xi1> -> tensor<i1>
    %a3 = tp.reduce min %e3 dims [0, 1] : tensor<16x4xi1> -> tensor<i1>
    return %a0, %a1, %a2, %a3 : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
  }
}
