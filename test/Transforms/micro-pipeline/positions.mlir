// Where fused ops stand: what they need may be computed late, and rounds may
// erase ops that earlier ones spoke of.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=micro-pipeline; done | FileCheck %s
// RUN: commute opt %t/c_refused_and_fused.mlir -o %t.out.mlir --policy=always --passes=micro-pipeline | FileCheck %s --check-prefix=REFUSED
// RUN: commute opt %t/e_middle_rows.mlir -o %t.out.mlir --policy=always --passes=micro-pipeline | FileCheck %s --check-prefix=MIDDLE

// The bias of the second product is computed behind the first one.
//--- a_late_bias.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %arg2) gather_axis 0
// CHECK: %[[BIAS:.*]] = tp.map relu(%arg3)
// CHECK: tp.map add(%[[R]]#1, %[[BIAS]])
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<16x24xbf16>, %c: tensor<24xbf16>) -> (tensor<8x8xbf16>, tensor<8x24xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %bias = tp.map relu(%c) : (tensor<24xbf16>) -> tensor<24xbf16>
    %2 = tp.matmul %0, %b bias %bias : (tensor<8x16xbf16>, tensor<16x24xbf16>, tensor<24xbf16>) -> tensor<8x24xbf16>
    return %1, %2 : tensor<8x8xbf16>, tensor<8x24xbf16>
  }
}

// The bias is computed from the gathered value, and from another product.
//--- b_dependent_bias.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %arg2) gather_axis 0
// CHECK: %[[BIAS:.*]] = tp.map relu(%[[R]]#0)
// CHECK: tp.map add(%[[R]]#1, %[[BIAS]])
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<16x8xbf16>) -> tensor<8x8xbf16> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %bias = tp.map relu(%1) : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %2 = tp.matmul %0, %b bias %bias : (tensor<8x16xbf16>, tensor<16x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    return %2 : tensor<8x8xbf16>
  }
}

// A gather with products on both sides (dgrad and wgrad) is fused with one kind,
// and the other is refused; the gather of the scatter's product takes another
// round.
//--- c_refused_and_fused.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 0
// CHECK: tp.matmul
// CHECK: tp.matmul_reduce_scatter
// REFUSED: not fused with {{.*}}sums over a different dim of the gathered value
// REFUSED: fused with
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %y: tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %2 = tp.matmul %y, %0 : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %1, %2 : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<4x16xbf16>
    return %1, %2, %4 : tensor<8x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>
  }
}

// The gradient of a weight sums over all rows of a gathered batch.
//--- d_rows_of_batches.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = tp.reshape %arg0 : tensor<1x6x12xbf16> -> tensor<6x12xbf16>
// CHECK: %[[T:.*]] = tp.permute %[[ROWS]] [1, 0]
// CHECK: tp.all_gather_matmul %[[T]], rhs({{.*}}) gather_axis 1
// CHECK: return
module {
  func.func @main(%x: tensor<1x6x12xbf16>, %y: tensor<3x12xbf16>) -> tensor<3x12xbf16> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<1x6x12xbf16> -> tensor<2x6x12xbf16>
    %1 = tp.reshape %0 : tensor<2x6x12xbf16> -> tensor<12x12xbf16>
    %2 = tp.matmul %y, %1 : (tensor<3x12xbf16>, tensor<12x12xbf16>) -> tensor<3x12xbf16>
    return %2 : tensor<3x12xbf16>
  }
}

// Gathered along an inner dim, a rank's rows are not one block of them.
//--- e_middle_rows.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather %
// CHECK: tp.matmul
// MIDDLE: sums over the gathered rows, and the rows of one rank are not contiguous: the gather is along dim 1 of 3
module {
  func.func @main(%x: tensor<2x6x12xbf16>, %y: tensor<3x24xbf16>) -> tensor<3x12xbf16> {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<2x6x12xbf16> -> tensor<2x12x12xbf16>
    %1 = tp.reshape %0 : tensor<2x12x12xbf16> -> tensor<24x12xbf16>
    %2 = tp.matmul %y, %1 : (tensor<3x24xbf16>, tensor<24x12xbf16>) -> tensor<3x12xbf16>
    return %2 : tensor<3x12xbf16>
  }
}

// Gathered along the columns.
//--- f_columns_of_batches.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = tp.reshape %arg0 : tensor<2x6x12xbf16> -> tensor<12x12xbf16>
// CHECK: %[[T:.*]] = tp.permute %[[ROWS]] [1, 0]
// CHECK: tp.all_gather_matmul %[[T]], rhs({{.*}}) gather_axis 0
module {
  func.func @main(%x: tensor<2x6x12xbf16>, %y: tensor<3x12xbf16>) -> tensor<3x24xbf16> {
    %0 = tp.all_gather %x gather_axis 2 group <"0", [0, 1]> : tensor<2x6x12xbf16> -> tensor<2x6x24xbf16>
    %1 = tp.reshape %0 : tensor<2x6x24xbf16> -> tensor<12x24xbf16>
    %2 = tp.matmul %y, %1 : (tensor<3x12xbf16>, tensor<12x24xbf16>) -> tensor<3x24xbf16>
    return %2 : tensor<3x24xbf16>
  }
}

// A gathered batch as the right operand, its columns summed over.
//--- g_transposed_batches.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs({{.*}}) gather_axis 0
// CHECK: tp.reshape %[[R]] : tensor<4x6x3xbf16> -> tensor<24x3xbf16>
// CHECK: tp.permute
module {
  func.func @main(%x: tensor<2x6x12xbf16>, %y: tensor<3x12xbf16>) -> tensor<3x24xbf16> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<2x6x12xbf16> -> tensor<4x6x12xbf16>
    %1 = tp.reshape %0 : tensor<4x6x12xbf16> -> tensor<24x12xbf16>
    %2 = tp.matmul %y, %1 transpose_rhs : (tensor<3x12xbf16>, tensor<24x12xbf16>) -> tensor<3x24xbf16>
    return %2 : tensor<3x24xbf16>
  }
}

// The first gather's position would be moved in front of the value that it
// reads, were both fused at once: the right operand %z reads the other gather.
//--- h_readers_moved.mlir
// CHECK-LABEL: func.func @main
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xbf16>, %u: tensor<8x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<16x8xbf16>) -> (tensor<16x8xbf16>, tensor<8x8xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_gather %u gather_axis 0 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<16x16xbf16>
    %1 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %3 = tp.matmul %0, %b : (tensor<16x16xbf16>, tensor<16x8xbf16>) -> tensor<16x8xbf16>
    %z = tp.map relu(%0) : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %4 = tp.matmul %1, %z : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3, %2, %4 : tensor<16x8xbf16>, tensor<8x8xbf16>, tensor<8x16xbf16>
  }
}
