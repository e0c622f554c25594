// What is kept as an all_reduce, and why.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- a_indivisible.mlir
// CHECK: kept as all_reduce: dims 0 (size 7) and 1 (size 15) are not divisible by 2 ranks; sequence-parallel{pad=true} would pad it
module {
  func.func @main(%p: tensor<7x15xbf16>, %w: tensor<15xbf16>) -> (tensor<7x15xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<7x15xbf16> -> tensor<7x15xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<7x15xbf16>, tensor<15xbf16>) -> tensor<7x15xbf16>
    return %1 : tensor<7x15xbf16>
  }
}

//--- b_one_member.mlir
// CHECK: kept as all_reduce: its group has one member
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    return %1 : tensor<8x16xbf16>
  }
}

//--- c_varying_residual.mlir
// CHECK: kept as all_reduce: along dim 0, tp.map uses operand 1, which is not known to be replicated: nothing states the placement of 'arg4'; if it is equal on all ranks, state that with --input-placement='arg4=replicated@0'
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %x: tensor<8x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map add(%0, %x) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- c_varying_value_of_the_rank.mlir
// CHECK: kept as all_reduce: along dim 0, tp.map uses operand 1, which is not known to be replicated
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %first = tp.constant 1.0 : f64 -> tensor<bf16>
    %second = tp.constant 2.0 : f64 -> tensor<bf16>
    %x = tp.rank_select %first, %second group <"0", [0, 1]> : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    %1 = tp.map mul(%0, %x) : (tensor<8x16xbf16>, tensor<bf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- d_reduction_over_rows.mlir
// CHECK: kept as all_reduce: along dim 0, tp.reduce reduces the rows, which would take another all_reduce
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<bf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.reduce sum %0 dims [0, 1] : tensor<8x16xbf16> -> tensor<bf16>
    return %1 : tensor<bf16>
  }
}

//--- e_returned.mlir
// CHECK: kept as all_reduce: its result is returned, and graph outputs cannot be sharded
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    return %0 : tensor<8x16xbf16>
  }
}

//--- f_symbol.mlir
// CHECK: kept as all_reduce: dim 1 (size 15) is not divisible by 2 ranks, and dim 0 (size s0) is not known to be divisible by 2 ranks; --assume 's0 % 2 == 0' would allow it
module {
  func.func @main(%p: tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>, %w: tensor<15xbf16>) -> (tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>> -> tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>, tensor<15xbf16>) -> tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>
    return %1 : tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>
  }
}

//--- g_seven_tokens.mlir
// Dim 1 could be sharded, but it is dim 0 that the user means.
// CHECK: kept as all_reduce: dim 0 (size 7) is not divisible by 2 ranks; along dim 1, tp.rms_norm uses every row, so its input must be gathered first; sequence-parallel{pad=true} would pad it
module {
  func.func @main(%p: tensor<7x16xbf16>, %w: tensor<16xbf16>) -> (tensor<7x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<7x16xbf16> -> tensor<7x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<7x16xbf16>, tensor<16xbf16>) -> tensor<7x16xbf16>
    return %1 : tensor<7x16xbf16>
  }
}

//--- h_one_token.mlir
// One row cannot be padded to a use.
// CHECK: kept as all_reduce: dim 0 (size 1) is not divisible by 2 ranks; along dim 1, tp.rms_norm uses every row
module {
  func.func @main(%p: tensor<1x16xbf16>, %w: tensor<16xbf16>) -> (tensor<1x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<1x16xbf16> -> tensor<1x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<1x16xbf16>, tensor<16xbf16>) -> tensor<1x16xbf16>
    return %1 : tensor<1x16xbf16>
  }
}

//--- i_rows_of_a_view.mlir
// The rows are divisible, but not those that the view makes of them.
// CHECK: kept as all_reduce: dim 1 (size 3) is not divisible by 2 ranks; along dim 0, tp.reshape has 7 rows, which are not divisible by 2 ranks; sequence-parallel{pad=true} would pad it
module {
  func.func @main(%p: tensor<14x3xbf16>) -> (tensor<7xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<14x3xbf16> -> tensor<14x3xbf16>
    %1 = tp.reshape %0 : tensor<14x3xbf16> -> tensor<7x2x3xbf16>
    %2 = tp.reduce avg %1 dims [1, 2] : tensor<7x2x3xbf16> -> tensor<7xbf16>
    return %2 : tensor<7xbf16>
  }
}

// The weight of a product, where there is no work before it. It is no price that keeps it.
//--- j_weight_of_a_product.mlir
// CHECK: kept as all_reduce: along dim 0, tp.matmul uses operand 1, which is not known to be replicated: nothing states the placement of 'lora_B.weight'; with that, sequence parallelism would take {{.*}} us instead of {{.*}} us on h100x8; if it is equal on all ranks, state that with --input-placement='lora_B.weight=replicated@0'
module {
  func.func @main(%p: tensor<16384x64xbf16>, %b: tensor<64x8192xbf16> {tp.parameter = "lora_B.weight"}) -> (tensor<16384xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<16384x64xbf16> -> tensor<16384x64xbf16>
    %1 = tp.matmul %0, %b : (tensor<16384x64xbf16>, tensor<64x8192xbf16>) -> tensor<16384x8192xbf16>
    %2 = tp.reduce max %1 dims [1] : tensor<16384x8192xbf16> -> tensor<16384xbf16>
    return %2 : tensor<16384xbf16>
  }
}

// All that has to be stated, not only what the first op lacks; a dim that cannot be cut has
// nothing to do with it.
//--- k_bias_and_scale.mlir
// CHECK: kept as all_reduce: along dim 1, tp.map uses operand 1, which is not known to be replicated: nothing states the placement of 'dense.bias', 'scale'; with that, sequence parallelism would take {{.*}} us instead of {{.*}} us on h100x8; dim 0 (size 1) is not divisible by 4 ranks; if they are equal on all ranks, state that with --input-placement='(dense.bias|scale)=replicated@0'
module {
  func.func @main(%p: tensor<1x8192x4096xbf16>, %x: tensor<4096xbf16> {tp.parameter = "scale"}, %b: tensor<4096xbf16> {tp.parameter = "dense.bias"}, %n: tensor<4096xbf16>, %nb: tensor<4096xbf16>, %q: tensor<4096x1024xbf16>) -> (tensor<8192x1024xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<1x8192x4096xbf16> -> tensor<1x8192x4096xbf16>
    %1 = tp.map add(%0, %b) : (tensor<1x8192x4096xbf16>, tensor<4096xbf16>) -> tensor<1x8192x4096xbf16>
    %2 = tp.map mul(%1, %x) : (tensor<1x8192x4096xbf16>, tensor<4096xbf16>) -> tensor<1x8192x4096xbf16>
    %3 = tp.layer_norm %2 weight %n bias %nb epsilon 1.0e-05 dims 1 : (tensor<1x8192x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>) -> tensor<1x8192x4096xbf16>
    %4 = tp.reshape %3 : tensor<1x8192x4096xbf16> -> tensor<8192x4096xbf16>
    %5 = tp.matmul %4, %q : (tensor<8192x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<8192x1024xbf16>
    return %5 : tensor<8192x1024xbf16>
  }
}

// A product behind work that can run on shards: its weight is a shard, most often.
//--- l_weight_behind_work.mlir
// CHECK-NOT: nothing states
// CHECK: applied {{.*}} sequence parallelism
module {
  func.func @main(%p: tensor<8192x4096xbf16>, %n: tensor<4096xbf16>, %q: tensor<4096x1024xbf16>) -> (tensor<8192x1024xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<8192x4096xbf16> -> tensor<8192x4096xbf16>
    %1 = tp.rms_norm %0 weight %n epsilon 1.0e-05 dims 1 : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> tensor<8192x4096xbf16>
    %2 = tp.matmul %1, %q : (tensor<8192x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<8192x1024xbf16>
    return %2 : tensor<8192x1024xbf16>
  }
}

// Behind a view, and of no gain.
//--- m_weight_behind_a_view.mlir
// CHECK: kept as all_reduce: along dim 0, tp.matmul uses operand 1, which is not known to be replicated: nothing states the placement of 'lora_B.weight'; if it is, declare that with --input-placement
module {
  func.func @main(%p: tensor<8x2x8xbf16>, %b: tensor<16x4xbf16> {tp.parameter = "lora_B.weight"}) -> (tensor<8x4xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x2x8xbf16> -> tensor<8x2x8xbf16>
    %1 = tp.reshape %0 : tensor<8x2x8xbf16> -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x4xbf16>) -> tensor<8x4xbf16>
    return %2 : tensor<8x4xbf16>
  }
}
