// An all_gather and the products that read it.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=micro-pipeline; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=micro-pipeline && commute opt $f.once.mlir -o - --quiet --policy=always --passes=micro-pipeline; done | FileCheck %s

//--- a_rows_of_2_ranks.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %arg2) gather_axis 0
// CHECK-NOT: tp.all_gather 
// CHECK-NOT: tp.matmul 
// CHECK: return %[[R]]#0, %[[R]]#1
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<16x24xbf16>) -> (tensor<8x8xbf16>, tensor<8x24xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %2 = tp.matmul %0, %b : (tensor<8x16xbf16>, tensor<16x24xbf16>) -> tensor<8x24xbf16>
    return %1, %2 : tensor<8x8xbf16>, tensor<8x24xbf16>
  }
}

//--- a_rows_of_4_ranks.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %arg2) gather_axis 0
// CHECK-NOT: tp.all_gather 
// CHECK-NOT: tp.matmul 
// CHECK: return %[[R]]#0, %[[R]]#1
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<16x24xbf16>) -> (tensor<16x8xbf16>, tensor<16x24xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3]> : tensor<4x16xbf16> -> tensor<16x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<16x16xbf16>, tensor<16x8xbf16>) -> tensor<16x8xbf16>
    %2 = tp.matmul %0, %b : (tensor<16x16xbf16>, tensor<16x24xbf16>) -> tensor<16x24xbf16>
    return %1, %2 : tensor<16x8xbf16>, tensor<16x24xbf16>
  }
}

//--- a_rows_of_8_ranks.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %arg2) gather_axis 0
// CHECK-NOT: tp.all_gather 
// CHECK-NOT: tp.matmul 
// CHECK: return %[[R]]#0, %[[R]]#1
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<16x24xbf16>) -> (tensor<32x8xbf16>, tensor<32x24xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4x16xbf16> -> tensor<32x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<32x16xbf16>, tensor<16x8xbf16>) -> tensor<32x8xbf16>
    %2 = tp.matmul %0, %b : (tensor<32x16xbf16>, tensor<16x24xbf16>) -> tensor<32x24xbf16>
    return %1, %2 : tensor<32x8xbf16>, tensor<32x24xbf16>
  }
}

//--- b_contraction_of_2_ranks.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 1
// CHECK-NOT: tp.all_gather 
// CHECK-NOT: tp.matmul 
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<32x8xbf16>) -> (tensor<4x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<4x32xbf16>
    %1 = tp.matmul %0, %a : (tensor<4x32xbf16>, tensor<32x8xbf16>) -> tensor<4x8xbf16>
    return %1 : tensor<4x8xbf16>
  }
}

//--- b_contraction_of_4_ranks.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 1
// CHECK-NOT: tp.all_gather 
// CHECK-NOT: tp.matmul 
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<64x8xbf16>) -> (tensor<4x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1, 2, 3]> : tensor<4x16xbf16> -> tensor<4x64xbf16>
    %1 = tp.matmul %0, %a : (tensor<4x64xbf16>, tensor<64x8xbf16>) -> tensor<4x8xbf16>
    return %1 : tensor<4x8xbf16>
  }
}

//--- b_contraction_of_8_ranks.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 1
// CHECK-NOT: tp.all_gather 
// CHECK-NOT: tp.matmul 
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<128x8xbf16>) -> (tensor<4x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4x16xbf16> -> tensor<4x128xbf16>
    %1 = tp.matmul %0, %a : (tensor<4x128xbf16>, tensor<128x8xbf16>) -> tensor<4x8xbf16>
    return %1 : tensor<4x8xbf16>
  }
}

//--- c_sequence_of_2_ranks.mlir
// With several batches the fused op gives other strides than the product, which a
// copy puts right.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs({{.*}}) gather_axis 1 {{.*}} -> tensor<3x8x8xbf16, #tp.layout<strides = [8, 24, 1]>>
// CHECK-NEXT: %[[C:.*]] = tp.copy %[[R]]
// CHECK-NEXT: return %[[C]]
module {
  func.func @main(%x: tensor<3x4x16xbf16>, %a: tensor<8x16xbf16>) -> (tensor<3x8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<3x4x16xbf16> -> tensor<3x8x16xbf16>
    %1 = tp.matmul %0, %a transpose_rhs : (tensor<3x8x16xbf16>, tensor<8x16xbf16>) -> tensor<3x8x8xbf16>
    return %1 : tensor<3x8x8xbf16>
  }
}

//--- c_sequence_of_4_ranks.mlir
// With several batches the fused op gives other strides than the product, which a
// copy puts right.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs({{.*}}) gather_axis 1 {{.*}} -> tensor<3x16x8xbf16, #tp.layout<strides = [8, 24, 1]>>
// CHECK-NEXT: %[[C:.*]] = tp.copy %[[R]]
// CHECK-NEXT: return %[[C]]
module {
  func.func @main(%x: tensor<3x4x16xbf16>, %a: tensor<8x16xbf16>) -> (tensor<3x16x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1, 2, 3]> : tensor<3x4x16xbf16> -> tensor<3x16x16xbf16>
    %1 = tp.matmul %0, %a transpose_rhs : (tensor<3x16x16xbf16>, tensor<8x16xbf16>) -> tensor<3x16x8xbf16>
    return %1 : tensor<3x16x8xbf16>
  }
}

//--- c_sequence_of_8_ranks.mlir
// With several batches the fused op gives other strides than the product, which a
// copy puts right.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs({{.*}}) gather_axis 1 {{.*}} -> tensor<3x32x8xbf16, #tp.layout<strides = [8, 24, 1]>>
// CHECK-NEXT: %[[C:.*]] = tp.copy %[[R]]
// CHECK-NEXT: return %[[C]]
module {
  func.func @main(%x: tensor<3x4x16xbf16>, %a: tensor<8x16xbf16>) -> (tensor<3x32x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<3x4x16xbf16> -> tensor<3x32x16xbf16>
    %1 = tp.matmul %0, %a transpose_rhs : (tensor<3x32x16xbf16>, tensor<8x16xbf16>) -> tensor<3x32x8xbf16>
    return %1 : tensor<3x32x8xbf16>
  }
}

//--- d_one_batch.mlir
// A batch of one is gathered along dim 0.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = tp.reshape %arg0 : tensor<1x4x16xbf16> -> tensor<4x16xbf16>
// CHECK: %[[R:.*]] = tp.all_gather_matmul %[[S]], rhs({{.*}}) gather_axis 0
// CHECK-NEXT: %[[V:.*]] = tp.reshape %[[R]] : tensor<8x8xbf16> -> tensor<1x8x8xbf16>
// CHECK-NEXT: return %[[V]]
module {
  func.func @main(%x: tensor<1x4x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<1x8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<1x4x16xbf16> -> tensor<1x8x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<1x8x16xbf16>, tensor<16x8xbf16>) -> tensor<1x8x8xbf16>
    return %1 : tensor<1x8x8xbf16>
  }
}

//--- e_through_reshapes.mlir
// A linear as PyTorch decomposes it: rows flattened and restored.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 0 {{.*}} -> tensor<8x4x8xbf16>
// CHECK-NEXT: return %[[R]]
module {
  func.func @main(%x: tensor<4x4x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<8x4x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x4x16xbf16> -> tensor<8x4x16xbf16>
    %1 = tp.reshape %0 : tensor<8x4x16xbf16> -> tensor<32x16xbf16>
    %2 = tp.matmul %1, %a : (tensor<32x16xbf16>, tensor<16x8xbf16>) -> tensor<32x8xbf16>
    %3 = tp.reshape %2 : tensor<32x8xbf16> -> tensor<8x4x8xbf16>
    return %3 : tensor<8x4x8xbf16>
  }
}

//--- f_batched_product_with_one_matrix.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 0
// CHECK-NEXT: return %[[R]]
module {
  func.func @main(%x: tensor<2x4x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<4x4x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<2x4x16xbf16> -> tensor<4x4x16xbf16>
    %1 = tp.broadcast %a : tensor<16x8xbf16> -> tensor<4x16x8xbf16, #tp.layout<strides = [0, 8, 1]>>
    %2 = tp.matmul %0, %1 : (tensor<4x4x16xbf16>, tensor<4x16x8xbf16, #tp.layout<strides = [0, 8, 1]>>) -> tensor<4x4x8xbf16>
    return %2 : tensor<4x4x8xbf16>
  }
}

//--- g_bias.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs(%arg1)
// CHECK: %[[S:.*]] = tp.map add(%[[R]], %arg2)
// CHECK: return %[[S]]
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<8xbf16>) -> (tensor<8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %0, %a bias %b : (tensor<8x16xbf16>, tensor<16x8xbf16>, tensor<8xbf16>) -> tensor<8x8xbf16>
    return %1 : tensor<8x8xbf16>
  }
}

//--- h_gathered_value_has_other_readers.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = tp.all_gather_matmul %arg0, rhs(%arg1) {{.*}} returns_gathered
// CHECK: %[[S:.*]] = tp.map silu(%[[R]]#0)
// CHECK-NOT: tp.all_gather 
// CHECK: return %[[R]]#1, %[[S]]
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map silu(%0) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    return %2, %1 : tensor<8x8xbf16>, tensor<8x16xbf16>
  }
}

//--- i_right_operand_transposed.mlir
// lhs @ g^T is (g @ lhs^T)^T.
// CHECK-LABEL: func.func @main
// CHECK: %[[L:.*]] = tp.permute %arg1 [1, 0]
// CHECK: %[[R:.*]] = tp.all_gather_matmul %arg0, rhs(%[[L]]) gather_axis 0
// CHECK: %[[T:.*]] = tp.permute %[[R]] [1, 0]
// CHECK: %[[C:.*]] = tp.copy %[[T]]
// CHECK: return %[[C]]
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<8x16xbf16>) -> (tensor<8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %a, %0 transpose_rhs : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x8xbf16>
    return %1 : tensor<8x8xbf16>
  }
}

//--- j_right_operand_summed_over.mlir
// A weight gradient: the product sums over the gathered rows.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = tp.permute %arg0 [1, 0]
// CHECK: %[[L:.*]] = tp.permute %arg1 [1, 0]
// CHECK: tp.all_gather_matmul %[[X]], rhs(%[[L]]) gather_axis 1
// CHECK-NOT: tp.all_gather 
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<6x8xbf16>) -> (tensor<6x16xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %a, %0 : (tensor<6x8xbf16>, tensor<8x16xbf16>) -> tensor<6x16xbf16>
    return %1 : tensor<6x16xbf16>
  }
}

//--- k_asynchronous.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.wait
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.wait
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.wait %0 : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    return %2 : tensor<8x8xbf16>
  }
}

//--- l_right_operand_computed_later.mlir
// It is moved in front of the fused op.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = tp.permute %arg2
// CHECK: %[[R:.*]]:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %[[T]])
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<8x16xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %2 = tp.permute %b [1, 0] : tensor<8x16xbf16> -> tensor<16x8xbf16, #tp.layout<strides = [1, 16]>>
    %3 = tp.matmul %0, %2 : (tensor<8x16xbf16>, tensor<16x8xbf16, #tp.layout<strides = [1, 16]>>) -> tensor<8x8xbf16>
    return %1, %3 : tensor<8x8xbf16>, tensor<8x8xbf16>
  }
}

//--- m_one_scale.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul %arg0, rhs(%arg1) shard_scale %arg2 rhs_scales(%arg3) gather_axis 0
// CHECK-NOT: tp.all_gather 
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xf8E4M3FN>, %a: tensor<16x8xf8E4M3FN>, %s: tensor<f32>, %u: tensor<f32>) -> (tensor<8x8xf8E4M3FN>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xf8E4M3FN> -> tensor<8x16xf8E4M3FN>
    %1 = tp.matmul %0, %a lhs_scale %s rhs_scale %u : (tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x8xf8E4M3FN>
    return %1 : tensor<8x8xf8E4M3FN>
  }
}

//--- n_scales_of_rows.mlir
// The scales are gathered with their rows.
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul %arg0, rhs(%arg1) shard_scale %arg2 rhs_scales(%arg3) gather_axis 0
// CHECK-NOT: tp.all_gather 
// CHECK: return
module {
  func.func @main(%x: tensor<4x16xf8E4M3FN>, %a: tensor<16x8xf8E4M3FN>, %s: tensor<4x1xf32>, %u: tensor<1x8xf32>) -> (tensor<8x8xf8E4M3FN>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xf8E4M3FN> -> tensor<8x16xf8E4M3FN>
    %1 = tp.all_gather %s gather_axis 0 group <"0", [0, 1]> : tensor<4x1xf32> -> tensor<8x1xf32>
    %2 = tp.matmul %0, %a lhs_scale %1 rhs_scale %u : (tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<8x1xf32>, tensor<1x8xf32>) -> tensor<8x8xf8E4M3FN>
    return %2 : tensor<8x8xf8E4M3FN>
  }
}
