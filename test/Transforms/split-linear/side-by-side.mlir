// Along rows, columns and batches products lie side by side: parts of operands,
// and operands of parts that are joined.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=split-linear && commute opt $f.once.mlir -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s

//--- a_rows.mlir
// Wide rows, narrow products: rather these are joined.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = tp.matmul %arg0, %arg2 bias %arg3
// CHECK: %[[Q:.*]] = tp.matmul %arg1, %arg2 bias %arg3
// CHECK: tp.concat %[[P]], %[[Q]] dim 0
module {
  func.func @main(%a: tensor<4x16xf32>, %b: tensor<2x16xf32>, %w: tensor<16x5xf32>, %c: tensor<5xf32>) -> tensor<6x5xf32> {
    %x = tp.concat %a, %b dim 0 : (tensor<4x16xf32>, tensor<2x16xf32>) -> tensor<6x16xf32>
    %y = tp.matmul %x, %w bias %c : (tensor<6x16xf32>, tensor<16x5xf32>, tensor<5xf32>) -> tensor<6x5xf32>
    return %y : tensor<6x5xf32>
  }
}

//--- b_rows_joined.mlir
// Narrow rows, wide products: rather the rows are joined.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = tp.concat %arg0, %arg1 dim 0
// CHECK: %[[Y:.*]] = tp.matmul %[[X]], %arg2 bias %arg3
// CHECK: return %[[Y]]
module {
  func.func @main(%a: tensor<4x5xf32>, %b: tensor<2x5xf32>, %w: tensor<5x16xf32>, %c: tensor<16xf32>) -> tensor<6x16xf32> {
    %p = tp.matmul %a, %w bias %c : (tensor<4x5xf32>, tensor<5x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
    %q = tp.matmul %b, %w bias %c : (tensor<2x5xf32>, tensor<5x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
    %y = tp.concat %p, %q dim 0 : (tensor<4x16xf32>, tensor<2x16xf32>) -> tensor<6x16xf32>
    return %y : tensor<6x16xf32>
  }
}

//--- c_rows_of_which_parts_are_read.mlir
// Nothing is joined at all.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK: %[[P:.*]] = tp.matmul %arg0, %arg2
// CHECK: %[[Q:.*]] = tp.matmul %arg1, %arg2
// CHECK: return %[[P]], %[[Q]]
module {
  func.func @main(%a: tensor<4x5xf32>, %b: tensor<2x5xf32>, %w: tensor<5x16xf32>) -> (tensor<4x16xf32>, tensor<2x16xf32>) {
    %x = tp.concat %a, %b dim 0 : (tensor<4x5xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
    %y = tp.matmul %x, %w : (tensor<6x5xf32>, tensor<5x16xf32>) -> tensor<6x16xf32>
    %p = tp.slice %y dim 0 start 0 step 1 : tensor<6x16xf32> -> tensor<4x16xf32>
    %q = tp.slice %y dim 0 start 4 step 1 : tensor<6x16xf32> -> tensor<2x16xf32>
    return %p, %q : tensor<4x16xf32>, tensor<2x16xf32>
  }
}

//--- d_columns.mlir
// Many weights and few rows, as in decoding.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = tp.matmul %arg0, %arg1 transpose_rhs
// CHECK: %[[Q:.*]] = tp.matmul %arg0, %arg2 transpose_rhs
// CHECK: tp.concat %[[P]], %[[Q]] dim 1
module {
  func.func @main(%a: tensor<2x16xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) -> tensor<2x12xf32> {
    %w = tp.concat %b, %c dim 0 : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<12x16xf32>
    %y = tp.matmul %a, %w transpose_rhs : (tensor<2x16xf32>, tensor<12x16xf32>) -> tensor<2x12xf32>
    return %y : tensor<2x12xf32>
  }
}

//--- e_columns_joined.mlir
// Many rows: weights are joined, and biases with them.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = tp.concat %arg1, %arg2 dim 1
// CHECK-DAG: %[[C:.*]] = tp.concat %arg3, %arg4 dim 0
// CHECK: %[[Y:.*]] = tp.matmul %arg0, %[[W]] bias %[[C]]
// CHECK: return %[[Y]]
module {
  func.func @main(%a: tensor<32x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x5xf32>, %d: tensor<8xf32>, %e: tensor<5xf32>) -> tensor<32x13xf32> {
    %p = tp.matmul %a, %b bias %d : (tensor<32x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<32x8xf32>
    %q = tp.matmul %a, %c bias %e : (tensor<32x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<32x5xf32>
    %y = tp.concat %p, %q dim 1 : (tensor<32x8xf32>, tensor<32x5xf32>) -> tensor<32x13xf32>
    return %y : tensor<32x13xf32>
  }
}

//--- f_neighbours_of_one_weight.mlir
// Joined slices of a weight are a slice of it; behind views; beside others.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = tp.slice %arg1 dim 1 start 1 step 1 : {{.*}} -> tensor<4x5xf32
// CHECK: %[[Y:.*]] = tp.matmul %arg0, %[[W]]
// CHECK: %[[V:.*]] = tp.reshape %[[Y]] : tensor<6x5xf32> -> tensor<2x3x5xf32>
// CHECK: tp.concat %[[V]], %arg2 dim 2
module {
  func.func @main(%a: tensor<6x4xf32>, %w: tensor<4x8xf32>, %o: tensor<2x3x1xf32>) -> tensor<2x3x6xf32> {
    %b = tp.slice %w dim 1 start 1 step 1 : tensor<4x8xf32> -> tensor<4x3xf32, #tp.layout<strides = [8, 1]>>
    %c = tp.slice %w dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
    %p = tp.matmul %a, %b : (tensor<6x4xf32>, tensor<4x3xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x3xf32>
    %q = tp.matmul %a, %c : (tensor<6x4xf32>, tensor<4x2xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x2xf32>
    %u = tp.reshape %p : tensor<6x3xf32> -> tensor<2x3x3xf32>
    %v = tp.reshape %q : tensor<6x2xf32> -> tensor<2x3x2xf32>
    %y = tp.concat %u, %v, %o dim 2 : (tensor<2x3x3xf32>, tensor<2x3x2xf32>, tensor<2x3x1xf32>) -> tensor<2x3x6xf32>
    return %y : tensor<2x3x6xf32>
  }
}

//--- g_batches.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul %arg0, %{{.*}} -> tensor<1x3x5xf32>
// CHECK: tp.matmul %arg1, %{{.*}} -> tensor<2x3x5xf32>
// CHECK: tp.concat %{{.*}} dim 0
module {
  func.func @main(%a: tensor<1x3x16xf32>, %b: tensor<2x3x16xf32>, %w: tensor<3x16x5xf32>) -> tensor<3x3x5xf32> {
    %x = tp.concat %a, %b dim 0 : (tensor<1x3x16xf32>, tensor<2x3x16xf32>) -> tensor<3x3x16xf32>
    %y = tp.matmul %x, %w : (tensor<3x3x16xf32>, tensor<3x16x5xf32>) -> tensor<3x3x5xf32>
    return %y : tensor<3x3x5xf32>
  }
}

//--- h_cache_of_keys.mlir
// The cache of keys is not copied for one new key.
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul %arg0, %arg1 transpose_rhs
// CHECK: tp.matmul %arg0, %arg2 transpose_rhs
// CHECK: tp.concat %{{.*}} dim 2
module {
  func.func @main(%q: tensor<2x1x16xf32>, %k: tensor<2x8x16xf32>, %n: tensor<2x1x16xf32>) -> tensor<2x1x9xf32> {
    %x = tp.concat %k, %n dim 1 : (tensor<2x8x16xf32>, tensor<2x1x16xf32>) -> tensor<2x9x16xf32>
    %y = tp.matmul %q, %x transpose_rhs : (tensor<2x1x16xf32>, tensor<2x9x16xf32>) -> tensor<2x1x9xf32>
    return %y : tensor<2x1x9xf32>
  }
}

//--- i_part_of_a_concatenation.mlir
// A reader that needs one part only is no reason to join them.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK: tp.map silu(%arg1)
module {
  func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x2xf32>, %w: tensor<6x5xf32>) -> (tensor<4x5xf32>, tensor<4x2xf32>) {
    %x = tp.concat %a, %b dim 1 : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
    %y = tp.matmul %x, %w : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    %p = tp.slice %x dim 1 start 4 step 1 : tensor<4x6xf32> -> tensor<4x2xf32, #tp.layout<strides = [6, 1]>>
    %s = tp.map silu(%p) : (tensor<4x2xf32, #tp.layout<strides = [6, 1]>>) -> tensor<4x2xf32>
    return %y, %s : tensor<4x5xf32>, tensor<4x2xf32>
  }
}
