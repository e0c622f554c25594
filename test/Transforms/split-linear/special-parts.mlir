// Parts of zeros, constant parts, parts that rows share, parts that repeat.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=split-linear && commute opt $f.once.mlir -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s

//--- a_zeros.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.constant
// CHECK: %[[W:.*]] = tp.slice %arg1 dim 1 start 0
// CHECK-NEXT: %[[Y:.*]] = tp.matmul %arg0, %[[W]] transpose_rhs bias %arg2
// CHECK-NEXT: return %[[Y]]
module {
  func.func @main(%a: tensor<2x3x4xf32>, %w: tensor<5x6xf32>, %c: tensor<5xf32>) -> tensor<2x3x5xf32> {
    %z = tp.constant 0.0 : f32 -> tensor<2x3x2xf32>
    %x = tp.concat %a, %z dim 2 : (tensor<2x3x4xf32>, tensor<2x3x2xf32>) -> tensor<2x3x6xf32>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<2x3x6xf32>, tensor<5x6xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
    return %y : tensor<2x3x5xf32>
  }
}

//--- b_only_zeros.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.matmul
// CHECK: %[[Z:.*]] = tp.constant 0.0{{.*}} -> tensor<8x5xf32>
// CHECK: tp.map add(%[[Z]], %arg1)
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%w: tensor<5x6xf32>, %c: tensor<5xf32>) -> tensor<8x5xf32> {
    %z = tp.constant 0.0 : f32 -> tensor<8x2xf32>
    %zz = tp.constant 0.0 : f32 -> tensor<8x4xf32>
    %x = tp.concat %z, %zz dim 1 : (tensor<8x2xf32>, tensor<8x4xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<8x6xf32>, tensor<5x6xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- c_ones_and_twos.mlir
// A row of a constant for all rows, as part of the bias.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[O:.*]] = tp.constant 1.0{{.*}} -> tensor<1x1xf32>
// CHECK-DAG: %[[T:.*]] = tp.constant 2.0{{.*}} -> tensor<1x2xf32>
// CHECK-DAG: tp.matmul %[[O]]
// CHECK-DAG: tp.matmul %[[T]]
// CHECK: %[[C:.*]] = tp.map add(%arg2, {{.*}} -> tensor<5xf32>
// CHECK: tp.matmul %arg0, %{{.*}} transpose_rhs bias %[[C]]
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %w: tensor<5x7xf32>, %c: tensor<5xf32>) -> tensor<8x5xf32> {
    %one = tp.constant 1.0 : f32 -> tensor<8x1xf32>
    %s = tp.constant 2.0 : f32 -> tensor<1x2xf32>
    %two = tp.broadcast %s : tensor<1x2xf32> -> tensor<8x2xf32, #tp.layout<strides = [0, 1]>>
    %x = tp.concat %one, %a, %two dim 1 : (tensor<8x1xf32>, tensor<8x4xf32>, tensor<8x2xf32, #tp.layout<strides = [0, 1]>>) -> tensor<8x7xf32>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<8x7xf32>, tensor<5x7xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- d_row_for_all.mlir
// One row that all share becomes a bias.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = tp.matmul %arg1, {{.*}} -> tensor<1x5xf32>
// CHECK: %[[R:.*]] = tp.reshape %[[P]] : tensor<1x5xf32> -> tensor<5xf32>
// CHECK: %[[C:.*]] = tp.map add(%arg3, %[[R]])
// CHECK: tp.matmul %arg0, %{{.*}} transpose_rhs bias %[[C]]
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<1x2xf32>, %w: tensor<5x6xf32>, %c: tensor<5xf32>) -> tensor<8x5xf32> {
    %r = tp.broadcast %b : tensor<1x2xf32> -> tensor<8x2xf32, #tp.layout<strides = [0, 1]>>
    %x = tp.concat %a, %r dim 1 : (tensor<8x4xf32>, tensor<8x2xf32, #tp.layout<strides = [0, 1]>>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<8x6xf32>, tensor<5x6xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- e_context_of_each_batch.mlir
// A row for each batch, added to all rows of the batch.
// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = tp.reshape %arg1 : tensor<2x1x2xf32> -> tensor<2x2xf32>
// CHECK: %[[P:.*]] = tp.matmul %[[B]], {{.*}} -> tensor<2x5xf32>
// CHECK: %[[R:.*]] = tp.reshape %[[P]] : tensor<2x5xf32> -> tensor<2x1x5xf32>
// CHECK: %[[Y:.*]] = tp.matmul %arg0, {{.*}} transpose_rhs bias %arg3
// CHECK: tp.map add(%[[Y]], %[[R]]) : {{.*}} -> tensor<2x3x5xf32>
module {
  func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x1x2xf32>, %w: tensor<5x6xf32>, %c: tensor<5xf32>) -> tensor<2x3x5xf32> {
    %r = tp.broadcast %b : tensor<2x1x2xf32> -> tensor<2x3x2xf32, #tp.layout<strides = [2, 0, 1]>>
    %x = tp.concat %a, %r dim 2 : (tensor<2x3x4xf32>, tensor<2x3x2xf32, #tp.layout<strides = [2, 0, 1]>>) -> tensor<2x3x6xf32>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<2x3x6xf32>, tensor<5x6xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
    return %y : tensor<2x3x5xf32>
  }
}

//--- f_context_of_regrouped_rows.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul {{.*}} -> tensor<2x5xf32>
// CHECK: %[[S:.*]] = tp.map add({{.*}} -> tensor<2x3x5xf32>
// CHECK: tp.reshape %[[S]] : tensor<2x3x5xf32> -> tensor<6x5xf32>
module {
  func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x1x2xf32>, %w: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %r = tp.broadcast %b : tensor<2x1x2xf32> -> tensor<2x3x2xf32, #tp.layout<strides = [2, 0, 1]>>
    %x = tp.concat %a, %r dim 2 : (tensor<2x3x4xf32>, tensor<2x3x2xf32, #tp.layout<strides = [2, 0, 1]>>) -> tensor<2x3x6xf32>
    %v = tp.reshape %x : tensor<2x3x6xf32> -> tensor<6x6xf32>
    %y = tp.matmul %v, %w : (tensor<6x6xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
    return %y : tensor<6x5xf32>
  }
}

//--- g_twice_the_same.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = tp.map add({{.*}} -> tensor<5x4xf32>
// CHECK: tp.matmul %arg0, %[[W]] transpose_rhs
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %w: tensor<5x8xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %a dim 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x8xf32>, tensor<5x8xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- h_weights_twice_the_same.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.map add(%arg0, %arg1)
// CHECK: tp.matmul %[[A]], %arg2
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    %v = tp.concat %w, %w dim 0 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
    %y = tp.matmul %x, %v : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- i_zeros_among_kept_parts.mlir
// Somebody else reads the concatenation: less is multiplied all the same.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = tp.concat
// CHECK: %[[Y:.*]] = tp.matmul %arg0
// CHECK: return %[[Y]], %[[X]]
module {
  func.func @main(%a: tensor<8x4xf32>, %w: tensor<5x6xf32>) -> (tensor<8x5xf32>, tensor<8x6xf32>) {
    %z = tp.constant 0.0 : f32 -> tensor<8x2xf32>
    %x = tp.concat %a, %z dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x6xf32>, tensor<5x6xf32>) -> tensor<8x5xf32>
    return %y, %x : tensor<8x5xf32>, tensor<8x6xf32>
  }
}
