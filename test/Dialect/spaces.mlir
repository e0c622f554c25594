// An op and the function that it names are one space apart.
// RUN: commute-opt %s | FileCheck %s --strict-whitespace

// CHECK: {{^}}    %0 = tp.map relu(%arg0) : {{.*$}}
// CHECK-NEXT: {{^}}    %1 = tp.reduce sum %0 dims [1] : {{.*$}}
// CHECK-NEXT: {{^}}    %2 = tp.rowwise softmax %0 dim 1 : {{.*$}}
// CHECK-NEXT: {{^}}    %3 = tp.all_reduce sum %2 group <"0", [0, 1]> : {{.*$}}
// CHECK-NEXT: {{^}}    %4 = tp.reduce_scatter avg %3 scatter_axis 0 group <"0", [0, 1]> : {{.*$}}
// CHECK-NEXT: {{^}}    %5 = tp.matmul_reduce_scatter sum %0, %arg1 scatter_axis 0 group <"0", [0, 1]> : {{.*$}}
// CHECK-NEXT: {{^}}    %6 = tp.region_marker begin %0 id 3 : {{.*$}}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) {
  %0 = tp.map relu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tp.reduce sum %0 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = tp.rowwise softmax %0 dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = tp.all_reduce sum %2 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = tp.reduce_scatter avg %3 scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  %5 = tp.matmul_reduce_scatter sum %0, %w scatter_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
  %6 = tp.region_marker begin %0 id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
