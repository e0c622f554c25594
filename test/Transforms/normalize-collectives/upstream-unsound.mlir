// What has to be told apart.
// Forms that PyTorch's micro_pipeline_tp_pass accepts with wrong values or
// shapes, by the tables of reference/micro-pipeline.md (section 7.1), beside
// those that it gets right.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --passes=normalize-collectives; done | FileCheck %s

//--- a_two_ordered_whole_shard_slices.mlir
// CHECK: applied {{.*}}: recognized as an all_gather along dim 1 (together with 4 surrounding ops)
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x3xf32>) -> tensor<4x3xf32>
    return %5 : tensor<4x3xf32>
  }
}

//--- b_full_width_trim.mlir
// CHECK: applied {{.*}}: recognized as an all_gather along dim 1 (together with 5 surrounding ops)
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.slice %4 dim 1 start 0 step 1 : tensor<4x12xf32> -> tensor<4x12xf32>
    %6 = tp.matmul %5, %x1 : (tensor<4x12xf32>, tensor<12x3xf32>) -> tensor<4x3xf32>
    return %6 : tensor<4x3xf32>
  }
}

//--- c_reverse_order.mlir
// CHECK: refused {{.*}} takes the shards in the order 1, 0
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x3xf32>) -> tensor<4x3xf32>
    return %5 : tensor<4x3xf32>
  }
}

//--- d_same_slice_twice.mlir
// CHECK: refused {{.*}} takes shard 0 more than once and leaves out shard 1
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x3xf32>) -> tensor<4x3xf32>
    return %5 : tensor<4x3xf32>
  }
}

//--- e_shifted_windows.mlir
// CHECK: refused {{.*}} takes 1 to 5 of dim 0 as slice 0, which starts inside a shard
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 1 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x3xf32>) -> tensor<4x3xf32>
    return %5 : tensor<4x3xf32>
  }
}

//--- f_w4_two_slices_of_two_shards.mlir
// CHECK: refused {{.*}} takes 2 slices instead of one of size 4 for each of the 4 ranks
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x3xf32>) -> (tensor<8x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<8x6xf32>
    %3 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<8x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<8x12xf32>, tensor<12x3xf32>) -> tensor<8x3xf32>
    return %5 : tensor<8x3xf32>
  }
}

//--- g_w2_four_half_shard_slices.mlir
// CHECK: refused {{.*}} takes 4 slices instead of one of size 4 for each of the 2 ranks
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<24x3xf32>) -> (tensor<2x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x24xf32>
    %7 = tp.matmul %6, %x1 : (tensor<2x24xf32>, tensor<24x3xf32>) -> tensor<2x3xf32>
    return %7 : tensor<2x3xf32>
  }
}

//--- h_real_trim_of_the_contraction.mlir
// CHECK: applied {{.*}}: recognized as an all_gather along dim 1 (together with 4 surrounding ops)
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<7x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.slice %4 dim 1 start 0 step 1 : tensor<4x12xf32> -> tensor<4x7xf32, #tp.layout<strides = [12, 1]>>
    %6 = tp.matmul %5, %x1 : (tensor<4x7xf32, #tp.layout<strides = [12, 1]>>, tensor<7x3xf32>) -> tensor<4x3xf32>
    return %6 : tensor<4x3xf32>
  }
}

//--- i_real_trim_of_rows.mlir
// CHECK: applied {{.*}}: recognized as an all_gather along dim 1 (together with 4 surrounding ops)
module {
  func.func @main(%x0: tensor<2x4x6xf32>, %x1: tensor<6x3xf32>) -> (tensor<2x5x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x4x6xf32> -> tensor<4x4x6xf32>
    %1 = tp.wait %0 : tensor<4x4x6xf32> -> tensor<4x4x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x4x6xf32> -> tensor<2x4x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x4x6xf32> -> tensor<2x4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>
    %5 = tp.slice %4 dim 1 start 0 step 1 : tensor<2x8x6xf32> -> tensor<2x5x6xf32, #tp.layout<strides = [48, 6, 1]>>
    %6 = tp.matmul %5, %x1 : (tensor<2x5x6xf32, #tp.layout<strides = [48, 6, 1]>>, tensor<6x3xf32>) -> tensor<2x5x3xf32>
    return %6 : tensor<2x5x3xf32>
  }
}

//--- j_scatter_two_equal_halves.mlir
// CHECK: applied {{.*}}: recognized as a reduce_scatter along dim 1 (together with 3 surrounding ops)
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<4x4xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<4x4xf32, #tp.layout<strides = [8, 1]>>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<8x4xf32> -> tensor<4x4xf32>
    %5 = tp.wait %4 : tensor<4x4xf32> -> tensor<4x4xf32>
    return %5 : tensor<4x4xf32>
  }
}

//--- k_scatter_reversed.mlir
// CHECK: refused {{.*}} takes the blocks in the order 1, 0
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<4x4xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<4x4xf32, #tp.layout<strides = [8, 1]>>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<8x4xf32> -> tensor<4x4xf32>
    %5 = tp.wait %4 : tensor<4x4xf32> -> tensor<4x4xf32>
    return %5 : tensor<4x4xf32>
  }
}

//--- l_scatter_duplicated.mlir
// CHECK: refused {{.*}} takes block 1 more than once and leaves out block 0
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<4x4xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<4x4xf32, #tp.layout<strides = [8, 1]>>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<8x4xf32> -> tensor<4x4xf32>
    %5 = tp.wait %4 : tensor<4x4xf32> -> tensor<4x4xf32>
    return %5 : tensor<4x4xf32>
  }
}

//--- m_scatter_w4_with_two_slices.mlir
// CHECK: refused {{.*}} takes 2 slices instead of one of size 2 for each of the 4 ranks
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x4xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<4x4xf32, #tp.layout<strides = [8, 1]>>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<8x4xf32> -> tensor<2x4xf32>
    %5 = tp.wait %4 : tensor<2x4xf32> -> tensor<2x4xf32>
    return %5 : tensor<2x4xf32>
  }
}

//--- n_scatter_w2_with_four_slices.mlir
// CHECK: refused {{.*}} takes 4 slices instead of one of size 4 for each of the 2 ranks
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<8x2xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<4x2xf32, #tp.layout<strides = [8, 1]>>, tensor<4x2xf32, #tp.layout<strides = [8, 1]>>, tensor<4x2xf32, #tp.layout<strides = [8, 1]>>, tensor<4x2xf32, #tp.layout<strides = [8, 1]>>) -> tensor<16x2xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1]> async : tensor<16x2xf32> -> tensor<8x2xf32>
    %7 = tp.wait %6 : tensor<8x2xf32> -> tensor<8x2xf32>
    return %7 : tensor<8x2xf32>
  }
}

//--- o_scatter_flattened_batch_1.mlir
// CHECK: applied {{.*}}: recognized as a reduce_scatter along dim 1 (together with 3 surrounding ops)
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<1x2x8xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.reshape %0 : tensor<4x8xf32> -> tensor<1x4x8xf32>
    %2 = tp.slice %1 dim 1 start 0 step 1 : tensor<1x4x8xf32> -> tensor<1x2x8xf32, #tp.layout<strides = [32, 8, 1]>>
    %3 = tp.slice %1 dim 1 start 2 step 1 : tensor<1x4x8xf32> -> tensor<1x2x8xf32, #tp.layout<strides = [32, 8, 1]>>
    %4 = tp.concat %2, %3 dim 0 : (tensor<1x2x8xf32, #tp.layout<strides = [32, 8, 1]>>, tensor<1x2x8xf32, #tp.layout<strides = [32, 8, 1]>>) -> tensor<2x2x8xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"0", [0, 1]> async : tensor<2x2x8xf32> -> tensor<1x2x8xf32>
    %6 = tp.wait %5 : tensor<1x2x8xf32> -> tensor<1x2x8xf32>
    return %6 : tensor<1x2x8xf32>
  }
}

//--- p_scatter_flattened_batch_2.mlir
// CHECK: applied {{.*}}: recognized as a reduce_scatter along dim 1 (together with 3 surrounding ops)
module {
  func.func @main(%x0: tensor<8x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x2x8xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    %1 = tp.reshape %0 : tensor<8x8xf32> -> tensor<2x4x8xf32>
    %2 = tp.slice %1 dim 1 start 0 step 1 : tensor<2x4x8xf32> -> tensor<2x2x8xf32, #tp.layout<strides = [32, 8, 1]>>
    %3 = tp.slice %1 dim 1 start 2 step 1 : tensor<2x4x8xf32> -> tensor<2x2x8xf32, #tp.layout<strides = [32, 8, 1]>>
    %4 = tp.concat %2, %3 dim 0 : (tensor<2x2x8xf32, #tp.layout<strides = [32, 8, 1]>>, tensor<2x2x8xf32, #tp.layout<strides = [32, 8, 1]>>) -> tensor<4x2x8xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"0", [0, 1]> async : tensor<4x2x8xf32> -> tensor<2x2x8xf32>
    %6 = tp.wait %5 : tensor<2x2x8xf32> -> tensor<2x2x8xf32>
    return %6 : tensor<2x2x8xf32>
  }
}
