// A linear of a concatenation with its gradients, as a joint graph has them: all
// that read the parts are decided together.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=split-linear && commute opt $f.once.mlir -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s
// RUN: commute opt %t/a_joint_graph.mlir -o %t/out.mlir --policy=always --passes=split-linear | FileCheck %s --check-prefix=REMARK
// RUN: commute opt %t/b_gradient_of_the_parts_is_read_whole.mlir -o %t/out.mlir --policy=always --passes=split-linear | FileCheck %s --check-prefix=WHOLE

// REMARK: applied {{.*}}a_joint_graph.mlir:18): split into a sum of 2 products {{.*}}, for all users of the same parts together
// REMARK: applied {{.*}}a_joint_graph.mlir:19): split into 2 products, one for each part of {{.*}}, for all users of the same parts together
// REMARK: applied {{.*}}a_joint_graph.mlir:20): reduced to 2 products that compute only the slices that are used
// WHOLE: refused {{.*}}the rewrite would not reduce multiplications, concatenations or slices; tp.map needs the whole value
// WHOLE: refused {{.*}}the rewrite would not reduce multiplications, concatenations or slices; tp.map needs the whole value
// WHOLE-NOT: applied

//--- a_joint_graph.mlir
// y = cat(a, b) W + c; dW = cat(a, b)^T dy, as rows that are written; the
// gradients of a and b. Slices of the weight are shared.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[U:.*]] = tp.slice %arg2 dim 0 start 0
// CHECK-DAG: %[[V:.*]] = tp.slice %arg2 dim 0 start 4
// CHECK-DAG: %[[S:.*]] = tp.matmul %arg0, %[[U]] bias %arg3
// CHECK-DAG: tp.matmul %arg1, %[[V]] bias %[[S]]
// CHECK-DAG: %[[P:.*]] = tp.matmul %arg0, %arg4 transpose_lhs
// CHECK-DAG: %[[Q:.*]] = tp.matmul %arg1, %arg4 transpose_lhs
// CHECK-DAG: tp.concat %[[P]], %[[Q]] dim 0
// CHECK-DAG: tp.matmul %arg4, %[[U]] transpose_rhs
// CHECK-DAG: tp.matmul %arg4, %[[V]] transpose_rhs
// CHECK-NOT: tp.slice
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>, %c: tensor<5xf32>, %dy: tensor<8x5xf32>) -> (tensor<8x5xf32>, tensor<6x5xf32>, tensor<8x4xf32>, tensor<8x2xf32>) {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w bias %c : (tensor<8x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    %dw = tp.matmul %x, %dy transpose_lhs : (tensor<8x6xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    %dx = tp.matmul %dy, %w transpose_rhs : (tensor<8x5xf32>, tensor<6x5xf32>) -> tensor<8x6xf32>
    %da = tp.slice %dx dim 1 start 0 step 1 : tensor<8x6xf32> -> tensor<8x4xf32, #tp.layout<strides = [6, 1]>>
    %db = tp.slice %dx dim 1 start 4 step 1 : tensor<8x6xf32> -> tensor<8x2xf32, #tp.layout<strides = [6, 1]>>
    %ra = tp.copy %da : tensor<8x4xf32, #tp.layout<strides = [6, 1]>> -> tensor<8x4xf32>
    %rb = tp.copy %db : tensor<8x2xf32, #tp.layout<strides = [6, 1]>> -> tensor<8x2xf32>
    return %y, %dw, %ra, %rb : tensor<8x5xf32>, tensor<6x5xf32>, tensor<8x4xf32>, tensor<8x2xf32>
  }
}

//--- b_gradient_of_the_parts_is_read_whole.mlir
// The twin: another reader of the parts keeps them together, in forward and
// backward, and one of their gradient keeps that whole.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = tp.concat %arg0, %arg1
// CHECK: tp.matmul %[[X]], %arg2 bias %arg3
// CHECK: tp.matmul %[[X]], %arg4 transpose_lhs
// CHECK: tp.matmul %arg4, %arg2 transpose_rhs
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>, %c: tensor<5xf32>, %dy: tensor<8x5xf32>) -> (tensor<8x5xf32>, tensor<6x5xf32>, tensor<8x4xf32>, tensor<8x6xf32>, tensor<8x6xf32>) {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w bias %c : (tensor<8x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    %dw = tp.matmul %x, %dy transpose_lhs : (tensor<8x6xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    %dx = tp.matmul %dy, %w transpose_rhs : (tensor<8x5xf32>, tensor<6x5xf32>) -> tensor<8x6xf32>
    %da = tp.slice %dx dim 1 start 0 step 1 : tensor<8x6xf32> -> tensor<8x4xf32, #tp.layout<strides = [6, 1]>>
    %ra = tp.copy %da : tensor<8x4xf32, #tp.layout<strides = [6, 1]>> -> tensor<8x4xf32>
    %s = tp.map silu(%x) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %t = tp.map silu(%dx) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %y, %dw, %ra, %s, %t : tensor<8x5xf32>, tensor<6x5xf32>, tensor<8x4xf32>, tensor<8x6xf32>, tensor<8x6xf32>
  }
}
