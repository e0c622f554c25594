// Text, generic and bytecode forms of collectives, waits and markers.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @all_reduce(
func.func @all_reduce(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.all_reduce sum %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.all_reduce sum %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.all_reduce avg %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = tp.all_reduce avg %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %2 = tp.all_reduce max %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = tp.all_reduce max %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %3 = tp.all_reduce min %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = tp.all_reduce min %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %4 = tp.all_reduce product %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = tp.all_reduce product %arg0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %5 = tp.all_reduce sum %arg0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %5 = tp.all_reduce sum %arg0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @all_reduce_in_place(
func.func @all_reduce_in_place(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.all_reduce sum %arg0 group <"0", [0, 1]> async in_place : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.all_reduce sum %arg0 group <"0", [0, 1]> async in_place : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @collective_broadcast(
func.func @collective_broadcast(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.collective_broadcast %arg0 root 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.collective_broadcast %arg0 root 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.collective_broadcast %arg0 root 0 group <"0", [0, 1]> async in_place : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = tp.collective_broadcast %arg0 root 0 group <"0", [0, 1]> async in_place : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @all_gather(
func.func @all_gather(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  %0 = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // CHECK-NEXT: %1 = tp.all_gather %arg0 gather_axis 1 group <"tp", {{\[\[}}0, 1], [2, 3]]> async : tensor<4x8xf32> -> tensor<4x16xf32>
  %1 = tp.all_gather %arg0 gather_axis 1 group <"tp", [[0, 1], [2, 3]]> async : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: func.func @reduce_scatter(
func.func @reduce_scatter(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.reduce_scatter sum %arg0 scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  %0 = tp.reduce_scatter sum %arg0 scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // CHECK-NEXT: %1 = tp.reduce_scatter avg %arg0 scatter_axis 1 group <"tp", {{\[\[}}0, 1], [2, 3]]> async : tensor<4x8xf32> -> tensor<4x4xf32>
  %1 = tp.reduce_scatter avg %arg0 scatter_axis 1 group <"tp", [[0, 1], [2, 3]]> async : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func.func @all_to_all(
func.func @all_to_all(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.all_to_all %arg0 output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.all_to_all %arg0 output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.all_to_all %arg0 output_splits [2, 4] input_splits [1, 3] group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<6x8xf32>
  %1 = tp.all_to_all %arg0 output_splits [2, 4] input_splits [1, 3] group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<6x8xf32>
  return
}

// CHECK-LABEL: func.func @rank_slice(
func.func @rank_slice(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.rank_slice %arg0 slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  %0 = tp.rank_slice %arg0 slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // CHECK-NEXT: %1 = tp.rank_slice %arg0 slice_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
  %1 = tp.rank_slice %arg0 slice_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
  return
}

// CHECK-LABEL: func.func @rank_select(
func.func @rank_select(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<i64>) {
  // CHECK-NEXT: %0 = tp.rank_select %arg0, %arg1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tp.rank_select %arg0, %arg1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.rank_select %arg2 group <"1", {{\[}}[0], [1]]> : (tensor<i64>) -> tensor<i64>
  %1 = tp.rank_select %arg2 group <"1", [[0], [1]]> : (tensor<i64>) -> tensor<i64>
  return
}

// CHECK-LABEL: func.func @wait(
func.func @wait(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.all_reduce sum %arg0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.all_reduce sum %arg0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.wait %0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = tp.wait %0 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @region_marker(
func.func @region_marker(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.region_marker begin %arg0 id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.region_marker begin %arg0 id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.region_marker end %arg0 id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = tp.region_marker end %arg0 id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %2 = tp.region_marker copy %arg0 id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = tp.region_marker copy %arg0 id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
