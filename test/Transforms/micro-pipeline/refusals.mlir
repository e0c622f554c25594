// What is not fused, and why.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes=micro-pipeline; done | FileCheck %s

//--- a_right_operand_depends_on_the_gathered_value.mlir
// CHECK: refused {{.*}}not fused with tp.matmul: its other operand depends on the gathered value
module {
  func.func @main(%x: tensor<8x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<16x16xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<16x16xbf16>
    %1 = tp.map silu(%0) : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %2 = tp.matmul %0, %1 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    return %2 : tensor<16x16xbf16>
  }
}

//--- b_with_itself.mlir
// CHECK: refused {{.*}}not fused with tp.matmul: it multiplies the gathered value by itself
module {
  func.func @main(%x: tensor<8x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<16x16xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<16x16xbf16>
    %2 = tp.matmul %0, %0 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    return %2 : tensor<16x16xbf16>
  }
}

//--- c_no_product.mlir
// CHECK: refused {{.*}}not fused: no matrix product uses its result
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map silu(%0) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %1 : tensor<8x16xbf16>
  }
}

//--- d_contraction_with_other_readers.mlir
// CHECK: refused {{.*}}not fused: it gathers along the contraction dimension, and the gathered value has other users
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<32x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x32xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<4x32xbf16>
    %1 = tp.matmul %0, %a : (tensor<4x32xbf16>, tensor<32x8xbf16>) -> tensor<4x8xbf16>
    return %1, %0 : tensor<4x8xbf16>, tensor<4x32xbf16>
  }
}

//--- e_matrices_of_their_own.mlir
// CHECK: refused {{.*}}not fused with tp.matmul: each batch is multiplied by a different matrix
module {
  func.func @main(%x: tensor<2x4x16xbf16>, %a: tensor<4x16x8xbf16>) -> (tensor<4x4x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<2x4x16xbf16> -> tensor<4x4x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<4x4x16xbf16>, tensor<4x16x8xbf16>) -> tensor<4x4x8xbf16>
    return %1 : tensor<4x4x8xbf16>
  }
}

//--- f_product_has_other_readers.mlir
// The fused op does not give the product, which a backward pass may have saved.
// CHECK: refused {{.*}}not fused: it scatters tp.matmul, which has other users
module {
  func.func @main(%x: tensor<8x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<4x8xbf16>, tensor<8x8xbf16>) {
    %0 = tp.matmul %x, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"0", [0, 1]> : tensor<8x8xbf16> -> tensor<4x8xbf16>
    return %1, %0 : tensor<4x8xbf16>, tensor<8x8xbf16>
  }
}

//--- g_maximum.mlir
// CHECK: refused {{.*}}not fused: a fused reduce_scatter can sum or average, not reduce by max
module {
  func.func @main(%x: tensor<8x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<4x8xbf16>) {
    %0 = tp.matmul %x, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %1 = tp.reduce_scatter max %0 scatter_axis 0 group <"0", [0, 1]> : tensor<8x8xbf16> -> tensor<4x8xbf16>
    return %1 : tensor<4x8xbf16>
  }
}

//--- h_columns_regrouped.mlir
// A reshape that is not one of rows (unchecked upstream): every other row.
// CHECK: refused {{.*}}not fused: it scatters tp.reshape, a rearrangement of tp.matmul that does not give each rank one block of the product
module {
  func.func @main(%x: tensor<8x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<4x8xbf16>) {
    %0 = tp.matmul %x, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %1 = tp.reshape %0 : tensor<8x8xbf16> -> tensor<4x16xbf16>
    %2 = tp.reduce_scatter sum %1 scatter_axis 1 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<4x8xbf16>
    return %2 : tensor<4x8xbf16>
  }
}

//--- i_something_in_between.mlir
// CHECK: refused {{.*}}not fused: it scatters tp.map, which is not a matrix product
module {
  func.func @main(%x: tensor<8x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<4x8xbf16>) {
    %0 = tp.matmul %x, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %1 = tp.map silu(%0) : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"0", [0, 1]> : tensor<8x8xbf16> -> tensor<4x8xbf16>
    return %2 : tensor<4x8xbf16>
  }
}

//--- j_two_scales_of_one_value.mlir
// Upstream takes the first one for all.
// CHECK: refused {{.*}}not fused with tp.matmul: it scales the gathered value differently than tp.matmul
module {
  func.func @main(%x: tensor<4x16xf8E4M3FN>, %a: tensor<16x8xf8E4M3FN>, %s: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xf8E4M3FN> -> tensor<8x16xf8E4M3FN>
    %1 = tp.matmul %0, %a lhs_scale %s rhs_scale %u : (tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x8xbf16>
    %2 = tp.matmul %0, %a lhs_scale %v rhs_scale %u : (tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x8xbf16>
    return %1, %2 : tensor<8x8xbf16>, tensor<8x8xbf16>
  }
}

//--- k_scales_of_gathered_rows.mlir
// CHECK: refused {{.*}}not fused with tp.matmul: its row-wise scale is not gathered the same way as its rows
module {
  func.func @main(%x: tensor<4x16xf8E4M3FN>, %a: tensor<16x8xf8E4M3FN>, %s: tensor<8x1xf32>, %u: tensor<1x8xf32>) -> (tensor<8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xf8E4M3FN> -> tensor<8x16xf8E4M3FN>
    %2 = tp.matmul %0, %a lhs_scale %s rhs_scale %u : (tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<8x1xf32>, tensor<1x8xf32>) -> tensor<8x8xbf16>
    return %2 : tensor<8x8xbf16>
  }
}

//--- l_other_element_types.mlir
// CHECK: refused {{.*}}not fused with tp.matmul: its operands and result have different element types
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>) -> (tensor<8x8xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.matmul %0, %a : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}

//--- m_product_goes_with_the_other.mlir
// CHECK: refused {{.*}}not fused: tp.matmul is fused with tp.reduce_scatter instead
module {
  func.func @main(%x: tensor<1024x64xbf16>, %a: tensor<64x4096xbf16>) -> (tensor<1024x4096xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<1024x64xbf16> -> tensor<2048x64xbf16>
    %1 = tp.matmul %0, %a : (tensor<2048x64xbf16>, tensor<64x4096xbf16>) -> tensor<2048x4096xbf16>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"0", [0, 1]> : tensor<2048x4096xbf16> -> tensor<1024x4096xbf16>
    return %2 : tensor<1024x4096xbf16>
  }
}

//--- n_needed_value_comes_later.mlir
// Collectives keep their order.
// CHECK: refused {{.*}}not fused with tp.matmul: it depends on tp.all_reduce, which cannot be moved before the first user of the gathered value
module {
  func.func @main(%x: tensor<4x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<16x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xbf16> -> tensor<8x16xbf16>
    %s = tp.map silu(%0) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<16x8xbf16> -> tensor<16x8xbf16>
    %2 = tp.matmul %0, %1 : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    return %2, %s : tensor<8x8xbf16>, tensor<8x16xbf16>
  }
}

//--- o_bias_of_a_scattered_product.mlir
// A bias is added after the fused op only if it is the same for every row. The legal
// twins are in reduce-scatter.mlir.
// CHECK: refused {{.*}}not fused: the bias of its product differs between rows
module {
  func.func @main(%x: tensor<8x16xbf16>, %a: tensor<16x8xbf16>, %b: tensor<8x8xbf16>) -> (tensor<4x8xbf16>) {
    %0 = tp.matmul %x, %a bias %b : (tensor<8x16xbf16>, tensor<16x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"0", [0, 1]> : tensor<8x8xbf16> -> tensor<4x8xbf16>
    return %1 : tensor<4x8xbf16>
  }
}

//--- p_element_type_of_a_scaled_product.mlir
// An archive has no list of element types: lower-collectives would decompose what was
// reported as fused.
// CHECK: refused {{.*}}not fused: an archive can record a scaled product only if its element type is that of the right operand
module {
  func.func @main(%x: tensor<4x16xf8E4M3FN>, %a: tensor<16x8xf8E4M3FN>, %s: tensor<f32>, %u: tensor<f32>) -> (tensor<8x8xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x16xf8E4M3FN> -> tensor<8x16xf8E4M3FN>
    %1 = tp.matmul %0, %a lhs_scale %s rhs_scale %u : (tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x8xbf16>
    return %1 : tensor<8x8xbf16>
  }
}

//--- q_symbolic_product_with_scales.mlir
// CHECK: refused {{.*}}not fused: PyTorch's fused op with scales needs static sizes
module {
  func.func @main(%x: tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0 * 2, 16]>>, %a: tensor<16x8xf8E4M3FN>, %s: tensor<f32>, %u: tensor<f32>) -> (tensor<?x8xbf16, #tp.layout<[s0] sizes = [s0, 8]>>) {
    %0 = tp.matmul %x, %a lhs_scale %s rhs_scale %u : (tensor<?x16xf8E4M3FN, #tp.layout<[s0] sizes = [s0 * 2, 16]>>, tensor<16x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<?x8xbf16, #tp.layout<[s0] sizes = [s0 * 2, 8]>>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"0", [0, 1]> : tensor<?x8xbf16, #tp.layout<[s0] sizes = [s0 * 2, 8]>> -> tensor<?x8xbf16, #tp.layout<[s0] sizes = [s0, 8]>>
    return %1 : tensor<?x8xbf16, #tp.layout<[s0] sizes = [s0, 8]>>
  }
}

//--- r_scaled_product_fits.mlir
// The twin with sizes that PyTorch's op can state.
// CHECK: applied {{.*}}fused with tp.matmul
module {
  func.func @main(%x: tensor<8x16xf8E4M3FN>, %a: tensor<16x8xf8E4M3FN>, %s: tensor<f32>, %u: tensor<f32>) -> (tensor<4x8xbf16>) {
    %0 = tp.matmul %x, %a lhs_scale %s rhs_scale %u : (tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x8xbf16>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"0", [0, 1]> : tensor<8x8xbf16> -> tensor<4x8xbf16>
    return %1 : tensor<4x8xbf16>
  }
}
