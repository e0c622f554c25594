// Of a product only what is read is computed.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=split-linear && commute opt $f.once.mlir -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s

//--- a_columns.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = tp.slice %arg1 dim 1 start 2 step 1
// CHECK: %[[C:.*]] = tp.slice %arg2 dim 0 start 2 step 1
// CHECK: %[[Y:.*]] = tp.matmul %arg0, %[[W]] bias %[[C]] {{.*}} -> tensor<8x3xf32>
// CHECK: tp.map silu(%[[Y]])
module {
  func.func @main(%a: tensor<8x4xf32>, %w: tensor<4x6xf32>, %c: tensor<6xf32>) -> tensor<8x3xf32> {
    %y = tp.matmul %a, %w bias %c : (tensor<8x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
    %s = tp.slice %y dim 1 start 2 step 1 : tensor<8x6xf32> -> tensor<8x3xf32, #tp.layout<strides = [6, 1]>>
    %r = tp.map silu(%s) : (tensor<8x3xf32, #tp.layout<strides = [6, 1]>>) -> tensor<8x3xf32>
    return %r : tensor<8x3xf32>
  }
}

//--- b_last_row.mlir
// The logits of the last token.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.slice %arg0 dim 1 start 7 step 1
// CHECK: tp.matmul %[[A]], %arg1 transpose_rhs {{.*}} -> tensor<2x1x6xf32>
module {
  func.func @main(%a: tensor<2x8x4xf32>, %w: tensor<6x4xf32>) -> tensor<2x1x6xf32> {
    %y = tp.matmul %a, %w transpose_rhs : (tensor<2x8x4xf32>, tensor<6x4xf32>) -> tensor<2x8x6xf32>
    %s = tp.slice %y dim 1 start 7 step 1 : tensor<2x8x6xf32> -> tensor<2x1x6xf32, #tp.layout<strides = [48, 6, 1]>>
    %r = tp.copy %s : tensor<2x1x6xf32, #tp.layout<strides = [48, 6, 1]>> -> tensor<2x1x6xf32>
    return %r : tensor<2x1x6xf32>
  }
}

//--- c_behind_a_view.mlir
// Every other column, of rows in their batches.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = tp.slice %arg1 dim 1 start 1 step 2
// CHECK: %[[Y:.*]] = tp.matmul %arg0, %[[W]]
// CHECK: tp.reshape %[[Y]] : tensor<6x3xf32> -> tensor<2x3x3xf32>
module {
  func.func @main(%a: tensor<6x4xf32>, %w: tensor<4x6xf32>) -> tensor<2x3x3xf32> {
    %y = tp.matmul %a, %w : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %v = tp.reshape %y : tensor<6x6xf32> -> tensor<2x3x6xf32>
    %s = tp.slice %v dim 2 start 1 step 2 : tensor<2x3x6xf32> -> tensor<2x3x3xf32, #tp.layout<strides = [18, 6, 2]>>
    %r = tp.map silu(%s) : (tensor<2x3x3xf32, #tp.layout<strides = [18, 6, 2]>>) -> tensor<2x3x3xf32>
    return %r : tensor<2x3x3xf32>
  }
}

//--- d_gradient_of_parts.mlir
// The gradient of a concatenation is one of its parts: of slices of the weight.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[U:.*]] = tp.slice %arg1 dim 1 start 0
// CHECK-DAG: %[[V:.*]] = tp.slice %arg1 dim 1 start 4
// CHECK-DAG: %[[P:.*]] = tp.matmul %arg0, %[[U]]
// CHECK-DAG: %[[Q:.*]] = tp.matmul %arg0, %[[V]]
// CHECK: tp.permute %[[P]] [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
// CHECK: return
module {
  func.func @main(%dy: tensor<8x5xf32>, %w: tensor<5x6xf32>, %z: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<8x2xf32>) {
    %dx = tp.matmul %dy, %w : (tensor<8x5xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
    %p = tp.slice %dx dim 1 start 0 step 1 : tensor<8x6xf32> -> tensor<8x4xf32, #tp.layout<strides = [6, 1]>>
    %q = tp.slice %dx dim 1 start 4 step 1 : tensor<8x6xf32> -> tensor<8x2xf32, #tp.layout<strides = [6, 1]>>
    %t = tp.permute %p [1, 0] : tensor<8x4xf32, #tp.layout<strides = [6, 1]>> -> tensor<4x8xf32, #tp.layout<strides = [1, 6]>>
    %g = tp.matmul %t, %z : (tensor<4x8xf32, #tp.layout<strides = [1, 6]>>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %c = tp.copy %q : tensor<8x2xf32, #tp.layout<strides = [6, 1]>> -> tensor<8x2xf32>
    return %g, %c : tensor<4x3xf32>, tensor<8x2xf32>
  }
}

//--- e_symbolic.mlir
// Blocks of a symbolic size.
// CHECK-LABEL: func.func @main
// CHECK: tp.slice %arg0 dim 0 start 1 blocks
// CHECK: tp.matmul
module attributes {tp.symbol_hints = {s0 = 7 : i64}} {
  func.func @main(%a: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>, %w: tensor<4x6xf32>) -> tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>> {
    %y = tp.matmul %a, %w : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>, tensor<4x6xf32>) -> tensor<?x6xf32, #tp.layout<[s0] sizes = [s0 * 2, 6]>>
    %s = tp.slice %y dim 0 start 1 blocks step 1 : tensor<?x6xf32, #tp.layout<[s0] sizes = [s0 * 2, 6]>> -> tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>
    return %s : tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>
  }
}

//--- f_last_row_of_each_batch.mlir
// Rows of all batches in one matrix, as decompositions write it.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.reshape %arg0 : tensor<16x4xf32> -> tensor<2x8x4xf32>
// CHECK: %[[A:.*]] = tp.slice %[[R]] dim 1 start 7 step 1
// CHECK: tp.matmul %[[A]], %arg1 bias %arg2 {{.*}} -> tensor<2x1x6xf32>
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<16x4xf32>, %w: tensor<4x6xf32>, %c: tensor<6xf32>) -> tensor<2x1x6xf32> {
    %y = tp.matmul %a, %w bias %c : (tensor<16x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<16x6xf32>
    %v = tp.reshape %y : tensor<16x6xf32> -> tensor<2x8x6xf32>
    %s = tp.slice %v dim 1 start 7 step 1 : tensor<2x8x6xf32> -> tensor<2x1x6xf32, #tp.layout<strides = [48, 6, 1]>>
    %r = tp.copy %s : tensor<2x1x6xf32, #tp.layout<strides = [48, 6, 1]>> -> tensor<2x1x6xf32>
    return %r : tensor<2x1x6xf32>
  }
}
