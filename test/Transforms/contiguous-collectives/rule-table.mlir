// Which collectives need a dense input: each with a transposed operand, beside
// a dense one.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s
// Once more changes nothing.
// RUN: commute-opt %s --contiguous-collectives | commute-opt --contiguous-collectives | FileCheck %s

// CHECK-LABEL: func.func @all_gather(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: tp.all_gather %[[COPY]] gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT: tp.all_gather %arg1 gather_axis 0
// CHECK-NEXT: return
func.func @all_gather(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %d: tensor<4x8xf32>) {
  // expected-remark @below {{copied operand 0 to dense memory: its strides are [1, 4]}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  // expected-remark @below {{operand 0 is dense: the graph declares it as a dense input}}
  %1 = tp.all_gather %d gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @all_gather_along_another_dim(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: tp.all_gather %[[COPY]] gather_axis 1 group <"0", [0, 1]> async :
// CHECK-NEXT: return
func.func @all_gather_along_another_dim(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> async : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: tp.reduce_scatter sum %[[COPY]] scatter_axis 0
// CHECK-NEXT: tp.reduce_scatter sum %arg1 scatter_axis 0
// CHECK-NEXT: return
func.func @reduce_scatter(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %d: tensor<4x8xf32>) {
  // expected-remark @below {{copied operand 0 to dense memory: its strides are [1, 4]}}
  %0 = tp.reduce_scatter sum %t scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<2x8xf32>
  // expected-remark @below {{operand 0 is dense: the graph declares it as a dense input}}
  %1 = tp.reduce_scatter sum %d scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// CHECK-LABEL: func.func @all_to_all(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: tp.all_to_all %[[COPY]]
// CHECK-NEXT: tp.all_to_all %arg1
// CHECK-NEXT: return
func.func @all_to_all(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %d: tensor<4x8xf32>) {
  // expected-remark @below {{copied operand 0 to dense memory: its strides are [1, 4]}}
  %0 = tp.all_to_all %t output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  // expected-remark @below {{operand 0 is dense: the graph declares it as a dense input}}
  %1 = tp.all_to_all %d output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// The functional all-reduce copies its input itself.
// CHECK-LABEL: func.func @all_reduce(
// CHECK-NEXT: tp.all_reduce sum %arg0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: return
func.func @all_reduce(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %0 = tp.all_reduce sum %t group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  return
}

// Fused collectives take any strides, and so does a slice by rank.
// CHECK-LABEL: func.func @no_collectives_of_pytorch(
// CHECK-NEXT: tp.all_gather_matmul %arg0
// CHECK-NEXT: tp.matmul_reduce_scatter sum %arg0
// CHECK-NEXT: tp.rank_slice %arg0
// CHECK-NEXT: return
func.func @no_collectives_of_pytorch(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %w: tensor<8x16xf32>) {
  %0 = tp.all_gather_matmul %t, rhs(%w) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = tp.matmul_reduce_scatter sum %t, %w scatter_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<8x16xf32>) -> tensor<2x16xf32>
  %2 = tp.rank_slice %t slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<2x8xf32, #tp.layout<strides = [1, 4]>>
  return
}
