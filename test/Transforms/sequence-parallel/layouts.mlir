// Batches, orders of dims, and reshapes.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=sequence-parallel && commute opt $f.once.mlir -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- a_sequence_of_three_ranks.mlir
// Three ranks cannot share a batch of two, but nine rows.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 scatter_axis 1 {{.*}} -> tensor<2x3x16xbf16>
// CHECK: tp.rms_norm
// CHECK: tp.all_gather {{.*}} gather_axis 1
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<2x9x16xbf16>, %q: tensor<2x9x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<2x9x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2]> : tensor<2x9x16xbf16> -> tensor<2x9x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<2x9x16xbf16>, tensor<16xbf16>) -> tensor<2x9x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<2x9x16xbf16>, tensor<16x16xbf16>) -> tensor<2x9x16xbf16>
    return %2 : tensor<2x9x16xbf16>
  }
}

//--- b_batch.mlir
// Two ranks take one batch entry each: nothing has to be moved for that.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 scatter_axis 0 {{.*}} -> tensor<1x8x16xbf16>
// CHECK: tp.all_gather {{.*}} gather_axis 0
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<2x8x16xbf16>, %q: tensor<2x8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<2x8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<2x8x16xbf16> -> tensor<2x8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<2x8x16xbf16>, tensor<16xbf16>) -> tensor<2x8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<2x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x8x16xbf16>
    return %2 : tensor<2x8x16xbf16>
  }
}

//--- c_sequence_first.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 scatter_axis 0 {{.*}} -> tensor<2x2x16xbf16>
// CHECK: tp.all_gather {{.*}} gather_axis 0
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x2x16xbf16>, %q: tensor<8x2x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x2x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<8x2x16xbf16> -> tensor<8x2x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x2x16xbf16>, tensor<16xbf16>) -> tensor<8x2x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x2x16xbf16>, tensor<16x16xbf16>) -> tensor<8x2x16xbf16>
    return %2 : tensor<8x2x16xbf16>
  }
}

//--- d_flattened_rows_are_not_the_sequence.mlir
// Three ranks share neither the batch nor, once merged, the sequence: the value
// is rearranged before it is scattered (defect B2 of the reference).
// CHECK-LABEL: func.func @main
// CHECK: %[[V:.*]] = tp.reshape %arg0 : tensor<18x16xbf16> -> tensor<2x9x16xbf16>
// CHECK-NEXT: tp.reduce_scatter sum %[[V]] scatter_axis 1 {{.*}} -> tensor<2x3x16xbf16>
// CHECK: tp.rms_norm
// CHECK: %[[G:.*]] = tp.all_gather {{.*}} gather_axis 1
// CHECK-NEXT: tp.reshape %[[G]] : tensor<2x9x16xbf16> -> tensor<18x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<18x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<18x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2]> : tensor<18x16xbf16> -> tensor<18x16xbf16>
    %1 = tp.reshape %0 : tensor<18x16xbf16> -> tensor<2x9x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<2x9x16xbf16>, tensor<16xbf16>) -> tensor<2x9x16xbf16>
    %3 = tp.reshape %2 : tensor<2x9x16xbf16> -> tensor<18x16xbf16>
    %4 = tp.matmul %3, %b : (tensor<18x16xbf16>, tensor<16x16xbf16>) -> tensor<18x16xbf16>
    return %4 : tensor<18x16xbf16>
  }
}

//--- e_merged_dim_by_its_major_part.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 scatter_axis 0 {{.*}} -> tensor<8x16xbf16>
// CHECK-NEXT: tp.reshape {{.*}} : tensor<8x16xbf16> -> tensor<1x8x16xbf16>
// CHECK: tp.rms_norm
// CHECK: tp.all_gather {{.*}} gather_axis 0
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<16x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<2x8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<16x16xbf16> -> tensor<16x16xbf16>
    %1 = tp.reshape %0 : tensor<16x16xbf16> -> tensor<2x8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<2x8x16xbf16>, tensor<16xbf16>) -> tensor<2x8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<2x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x8x16xbf16>
    return %3 : tensor<2x8x16xbf16>
  }
}

//--- f_transposed.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.rms_norm
// CHECK: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<2x8x16xbf16>, %q: tensor<2x8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x2x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<2x8x16xbf16> -> tensor<2x8x16xbf16>
    %1 = tp.permute %0 [1, 0, 2] : tensor<2x8x16xbf16> -> tensor<8x2x16xbf16, #tp.layout<strides = [16, 128, 1]>>
    %2 = tp.copy %1 : tensor<8x2x16xbf16, #tp.layout<strides = [16, 128, 1]>> -> tensor<8x2x16xbf16>
    %3 = tp.rms_norm %2 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x2x16xbf16>, tensor<16xbf16>) -> tensor<8x2x16xbf16>
    %4 = tp.matmul %3, %b : (tensor<8x2x16xbf16>, tensor<16x16xbf16>) -> tensor<8x2x16xbf16>
    return %4 : tensor<8x2x16xbf16>
  }
}
