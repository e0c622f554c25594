// Scales of gathered eight-bit products.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute opt %t/tensor.mlir -o - --quiet --policy=always --passes=micro-pipeline | FileCheck %s --check-prefix=TENSOR
// RUN: commute opt %t/one_row.mlir -o %t/out.mlir --policy=always --passes=micro-pipeline | FileCheck %s --check-prefix=ONE-ROW
// RUN: commute opt %t/apart.mlir -o - --quiet --passes=lower-collectives | FileCheck %s --check-prefix=APART
// RUN: commute opt %t/symbolic.mlir -o - --quiet --passes=lower-collectives | FileCheck %s --check-prefix=SYMBOLIC
// RUN: commute opt %t/symbolic_gather.mlir -o - --quiet --policy=always --passes=micro-pipeline | FileCheck %s --check-prefix=SYMBOLIC-GATHER

// One scale for the whole tensor, of a shard with one row along the gathered dim.
// TENSOR: tp.all_gather_matmul %arg0, rhs(%arg1)
//--- tensor.mlir
module {
  func.func @main(%x: tensor<1x4x16xf8E4M3FN>, %w: tensor<16x16xf8E4M3FN>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<2x4x16xf8E4M3FN> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<1x4x16xf8E4M3FN> -> tensor<2x4x16xf8E4M3FN>
    %1 = tp.matmul %0, %w lhs_scale %s rhs_scale %t : (tensor<2x4x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<2x4x16xf8E4M3FN>
    return %1 : tensor<2x4x16xf8E4M3FN>
  }
}

// PyTorch would gather it.
// ONE-ROW: PyTorch would take its scale of one element for the scale of a shard of one row
//--- one_row.mlir
module {
  func.func @main(%x: tensor<1x16xf8E4M3FN>, %w: tensor<16x16xf8E4M3FN>, %s: tensor<1x1xf32>, %t: tensor<1x1xf32>) -> tensor<2x16xbf16> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<1x16xf8E4M3FN> -> tensor<2x16xf8E4M3FN>
    %1 = tp.matmul %0, %w lhs_scale %s rhs_scale %t : (tensor<2x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x16xbf16>
    return %1 : tensor<2x16xbf16>
  }
}

// Decomposed, PyTorch's product with scales is one of matrices.
// APART: %[[G:.*]] = tp.all_gather %arg0
// APART: %[[ROWS:.*]] = tp.reshape %[[G]] : tensor<4x4x16xf8E4M3FN> -> tensor<16x16xf8E4M3FN>
// APART: %[[P:.*]] = tp.matmul %[[ROWS]], %arg1 {{.*}} -> tensor<16x16xbf16>
// APART: tp.reshape %[[P]] : tensor<16x16xbf16> -> tensor<4x4x16xbf16>
//--- apart.mlir
module {
  func.func @main(%x: tensor<2x4x16xf8E4M3FN>, %w: tensor<16x16xf8E4M3FN>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<4x4x16xbf16> {
    %0 = tp.all_gather_matmul %x, rhs(%w) shard_scale %s rhs_scales(%t) gather_axis 0 group <"0", [0, 1]> : (tensor<2x4x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x4x16xbf16>
    return %0 : tensor<4x4x16xbf16>
  }
}

// A scale of symbolic size is one a row, which is gathered with its row.
// SYMBOLIC: tp.all_gather %arg0
// SYMBOLIC: tp.all_gather %arg2
// SYMBOLIC: tp.matmul
//--- symbolic.mlir
module {
  func.func @main(%x: tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0, 16]>>, %w: tensor<16x16xf8E4M3FN>, %s: tensor<?x1xf32, #tp.layout<[s0] sizes = [s0, 1]>>, %t: tensor<f32>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 2, 16]>> {
    %0 = tp.all_gather_matmul %x, rhs(%w) shard_scale %s rhs_scales(%t) gather_axis 0 group <"0", [0, 1]> : (tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0, 16]>>, tensor<16x16xf8E4M3FN>, tensor<?x1xf32, #tp.layout<[s0] sizes = [s0, 1]>>, tensor<f32>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 2, 16]>>
    return %0 : tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 2, 16]>>
  }
}

// The same around a product that is not fused yet.
// SYMBOLIC-GATHER: tp.matmul {{.*}} lhs_scale
//--- symbolic_gather.mlir
module {
  func.func @main(%x: tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0, 16]>>, %w: tensor<16x16xf8E4M3FN>, %s: tensor<?x1xf32, #tp.layout<[s0] sizes = [s0 * 2, 1]>>, %t: tensor<f32>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 2, 16]>> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0, 16]>> -> tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0 * 2, 16]>>
    %1 = tp.matmul %0, %w lhs_scale %s rhs_scale %t : (tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0 * 2, 16]>>, tensor<16x16xf8E4M3FN>, tensor<?x1xf32, #tp.layout<[s0] sizes = [s0 * 2, 1]>>, tensor<f32>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 2, 16]>>
    return %1 : tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 2, 16]>>
  }
}
