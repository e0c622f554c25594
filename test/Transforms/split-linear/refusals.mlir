// What stays whole, and why (no line but the number of ops where nothing matches). The twin of each is in another file of this folder.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes=split-linear; done | FileCheck %s

//--- a_promoted_types.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: tp.concat promotes parts of different element types
module {
  func.func @main(%a: tensor<8x4xbf16>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xbf16>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- b_somebody_else_reads_the_concatenation.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: the rewrite would not reduce multiplications, concatenations or slices; tp.map needs the whole value
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>) -> (tensor<8x5xf32>, tensor<8x6xf32>) {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    %z = tp.map mul(%x, %x) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    return %y, %z : tensor<8x5xf32>, tensor<8x6xf32>
  }
}

//--- c_it_is_returned.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: the rewrite would not reduce multiplications, concatenations or slices; the return op needs the whole value
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>) -> (tensor<8x5xf32>, tensor<8x6xf32>) {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    return %y, %x : tensor<8x5xf32>, tensor<8x6xf32>
  }
}

//--- d_memory_is_written.mlir
// A part may be other values by the time of the product.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: an op between tp.concat and this product may overwrite a part
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %c = tp.call "torch.ops.aten.zero_.default"(%a) arguments "[{\"name\":\"self\",\"arg\":\"%0\",\"kind\":1}]" mutates [0] : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %y = tp.matmul %x, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- e_symbolic_position.mlir
// The weight cannot be cut at s0.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: a part starts at a symbolic position, at which the other operand cannot be sliced
module attributes {tp.symbol_hints = {s0 = 7 : i64}} {
  func.func @main(%a: tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, %b: tensor<8x2xf32>, %w: tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 + 2, 5]>>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, tensor<8x2xf32>) -> tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0 + 2]>>
    %y = tp.matmul %x, %w : (tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0 + 2]>>, tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 + 2, 5]>>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- f_borders_that_cannot_be_compared.mlir
// s0 may be more than s1, or less.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: a part starts at a symbolic position, at which the other operand cannot be sliced
module attributes {tp.symbol_hints = {s0 = 3 : i64, s1 = 4 : i64}} {
  func.func @main(%a: tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, %b: tensor<8x?xf32, #tp.layout<[s1] sizes = [8, s1]>>, %u: tensor<?x5xf32, #tp.layout<[s1] sizes = [s1, 5]>>, %v: tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, tensor<8x?xf32, #tp.layout<[s1] sizes = [8, s1]>>) -> tensor<8x?xf32, #tp.layout<[s0, s1] sizes = [8, s0 + s1]>>
    %w = tp.concat %u, %v dim 0 : (tensor<?x5xf32, #tp.layout<[s1] sizes = [s1, 5]>>, tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>) -> tensor<?x5xf32, #tp.layout<[s0, s1] sizes = [s0 + s1, 5]>>
    %y = tp.matmul %x, %w : (tensor<8x?xf32, #tp.layout<[s0, s1] sizes = [8, s0 + s1]>>, tensor<?x5xf32, #tp.layout<[s0, s1] sizes = [s0 + s1, 5]>>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- g_scaled.mlir
// A scale is that of the whole concatenation.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: its scales apply to whole operands
module {
  func.func @main(%a: tensor<8x16xf8E4M3FN>, %b: tensor<8x16xf8E4M3FN>, %w: tensor<32x16xf8E4M3FN>, %s: tensor<1xf32>, %t: tensor<1xf32>) -> tensor<8x16xbf16> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x16xf8E4M3FN>, tensor<8x16xf8E4M3FN>) -> tensor<8x32xf8E4M3FN>
    %y = tp.matmul %x, %w lhs_scale %s rhs_scale %t : (tensor<8x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>) -> tensor<8x16xbf16>
    return %y : tensor<8x16xbf16>
  }
}

//--- h_merged_with_another_dim.mlir
// The parts are not one behind the other any more: pairs of them are.
// CHECK-LABEL: h_merged_with_another_dim.mlir.out.mlir: the graph is unchanged, 3 ops
module {
  func.func @main(%a: tensor<8x3x4xf32>, %b: tensor<8x3x2xf32>, %w: tensor<18x5xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 2 : (tensor<8x3x4xf32>, tensor<8x3x2xf32>) -> tensor<8x3x6xf32>
    %r = tp.reshape %x : tensor<8x3x6xf32> -> tensor<8x18xf32>
    %y = tp.matmul %r, %w : (tensor<8x18xf32>, tensor<18x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- i_softmax_of_the_parts.mlir
// An op that sees all parts at once.
// CHECK-LABEL: i_softmax_of_the_parts.mlir.out.mlir: the graph is unchanged, 3 ops
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %s = tp.rowwise softmax %x dim 1 : tensor<8x6xf32> -> tensor<8x6xf32>
    %y = tp.matmul %s, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- j_other_left_operands.mlir
// Products of other left operands, or with other biases, are not one.
// CHECK-LABEL: j_other_left_operands.mlir.out.mlir: the graph is unchanged, 3 ops
module {
  func.func @main(%a: tensor<32x4xf32>, %o: tensor<32x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x5xf32>) -> tensor<32x13xf32> {
    %p = tp.matmul %a, %b : (tensor<32x4xf32>, tensor<4x8xf32>) -> tensor<32x8xf32>
    %q = tp.matmul %o, %c : (tensor<32x4xf32>, tensor<4x5xf32>) -> tensor<32x5xf32>
    %y = tp.concat %p, %q dim 1 : (tensor<32x8xf32>, tensor<32x5xf32>) -> tensor<32x13xf32>
    return %y : tensor<32x13xf32>
  }
}

//--- k_all_of_the_product_is_read.mlir
// CHECK-LABEL: k_all_of_the_product_is_read.mlir.out.mlir: the graph is unchanged, 4 ops
module {
  func.func @main(%a: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x3xf32>) {
    %y = tp.matmul %a, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %s = tp.slice %y dim 1 start 2 step 1 : tensor<8x6xf32> -> tensor<8x3xf32, #tp.layout<strides = [6, 1]>>
    %t = tp.map silu(%s) : (tensor<8x3xf32, #tp.layout<strides = [6, 1]>>) -> tensor<8x3xf32>
    %r = tp.map silu(%y) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %r, %t : tensor<8x6xf32>, tensor<8x3xf32>
  }
}

//--- l_strides_of_a_slice_are_seen.mlir
// A result of the function keeps its strides.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: only slices of it are used, but the return op depends on the strides of a slice
module {
  func.func @main(%a: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x3xf32, #tp.layout<strides = [6, 1]>> {
    %y = tp.matmul %a, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %s = tp.slice %y dim 1 start 2 step 1 : tensor<8x6xf32> -> tensor<8x3xf32, #tp.layout<strides = [6, 1]>>
    return %s : tensor<8x3xf32, #tp.layout<strides = [6, 1]>>
  }
}

//--- m_slices_that_overlap.mlir
// More would be multiplied than is.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: the rewrite would not reduce multiplications, concatenations or slices
module {
  func.func @main(%a: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
    %y = tp.matmul %a, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %p = tp.slice %y dim 1 start 0 step 1 : tensor<8x6xf32> -> tensor<8x4xf32, #tp.layout<strides = [6, 1]>>
    %q = tp.slice %y dim 1 start 2 step 1 : tensor<8x6xf32> -> tensor<8x4xf32, #tp.layout<strides = [6, 1]>>
    %s = tp.map silu(%p) : (tensor<8x4xf32, #tp.layout<strides = [6, 1]>>) -> tensor<8x4xf32>
    %t = tp.map silu(%q) : (tensor<8x4xf32, #tp.layout<strides = [6, 1]>>) -> tensor<8x4xf32>
    return %s, %t : tensor<8x4xf32>, tensor<8x4xf32>
  }
}

//--- n_rank_not_known.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: the shards of tp.all_gather could be multiplied without gathering them, but the block of the other operand depends on the rank; --rank=R would allow it
module {
  func.func @main(%t: tensor<8x4xf32>, %w: tensor<8x5xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<8x5xf32> {
    %x = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %y = tp.matmul %x, %w : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- o_weight_of_each_rank.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: the shards of tp.all_gather could be multiplied without gathering them only if the other operand were replicated on group '0'; declare placements with --input-placement
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<8x4xf32>, %w: tensor<8x5xf32>) -> tensor<8x5xf32> {
    %x = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %y = tp.matmul %x, %w : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- p_gather_along_rows.mlir
// Not one along the contraction: that is micro-pipeline's.
// CHECK-LABEL: p_gather_along_rows.mlir.out.mlir: the graph is unchanged, 2 ops
module {
  func.func @main(%t: tensor<4x8xf32>, %w: tensor<8x5xf32>) -> tensor<8x5xf32> {
    %x = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
    %y = tp.matmul %x, %w : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- q_constants_on_both_sides.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: both operands are constant on one of the parts
module {
  func.func @main(%a: tensor<8x4xf32>) -> tensor<8x5xf32> {
    %o = tp.constant 1.0 : f32 -> tensor<8x2xf32>
    %v = tp.constant 2.0 : f32 -> tensor<6x5xf32>
    %x = tp.concat %a, %o dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %v : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- r_shard_is_written.mlir
// What was gathered is not what is there by the time of the product: the gathered
// value is multiplied.
// CHECK-LABEL: split-linear:
// CHECK: applied {{.*}}split into a sum of 2 products along the contraction dimension; {{.*}} us before
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<8x4xf32>, %r: tensor<8x2xf32>, %w: tensor<10x5xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<8x5xf32> {
    %g = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %c = tp.call "torch.ops.aten.zero_.default"(%t) arguments "[{\"name\":\"self\",\"arg\":\"%0\",\"kind\":1}]" mutates [0] : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %x = tp.concat %g, %r dim 1 : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x10xf32>
    %y = tp.matmul %x, %w : (tensor<8x10xf32>, tensor<10x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}
