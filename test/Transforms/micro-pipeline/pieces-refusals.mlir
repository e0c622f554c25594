// Shards that are put together otherwise, where no law holds, and which one fails.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes=micro-pipeline | grep -v "^proof"; done | FileCheck %s --implicit-check-not=applied

//--- a_contraction_trimmed_2.mlir
// CHECK: refused {{.*}}: not fused: tp.matmul sums over tp.concat, which omits part of the gathered dim, from position 11 of 12; fusing would multiply the omitted elements by zero, which is not zero for infinities and NaNs
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<11x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %3 dim 1 start 0 step 1 : tensor<4x6xf32> -> tensor<4x5xf32, #tp.layout<strides = [6, 1]>>
    %5 = tp.concat %2, %4 dim 1 : (tensor<4x6xf32>, tensor<4x5xf32, #tp.layout<strides = [6, 1]>>) -> tensor<4x11xf32>
    %6 = tp.matmul %5, %x1 : (tensor<4x11xf32>, tensor<11x8xf32>) -> tensor<4x8xf32>
    return %6 : tensor<4x8xf32>
  }
}

//--- a_contraction_trimmed_4.mlir
// CHECK: refused {{.*}}: not fused: tp.matmul sums over tp.concat, which omits part of the gathered dim, from position 23 of 24; fusing would multiply the omitted elements by zero, which is not zero for infinities and NaNs
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<23x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %5 dim 1 start 0 step 1 : tensor<4x6xf32> -> tensor<4x5xf32, #tp.layout<strides = [6, 1]>>
    %7 = tp.concat %2, %3, %4, %6 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x5xf32, #tp.layout<strides = [6, 1]>>) -> tensor<4x23xf32>
    %8 = tp.matmul %7, %x1 : (tensor<4x23xf32>, tensor<23x8xf32>) -> tensor<4x8xf32>
    return %8 : tensor<4x8xf32>
  }
}

//--- a_contraction_trimmed_8.mlir
// CHECK: refused {{.*}}: not fused: tp.matmul sums over tp.concat, which omits part of the gathered dim, from position 47 of 48; fusing would multiply the omitted elements by zero, which is not zero for infinities and NaNs
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<47x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %10 = tp.slice %9 dim 1 start 0 step 1 : tensor<4x6xf32> -> tensor<4x5xf32, #tp.layout<strides = [6, 1]>>
    %11 = tp.concat %2, %3, %4, %5, %6, %7, %8, %10 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x5xf32, #tp.layout<strides = [6, 1]>>) -> tensor<4x47xf32>
    %12 = tp.matmul %11, %x1 : (tensor<4x47xf32>, tensor<47x8xf32>) -> tensor<4x8xf32>
    return %12 : tensor<4x8xf32>
  }
}

//--- b_contraction_takes_a_shard_twice_2.mlir
// CHECK: refused {{.*}}: not fused: tp.matmul sums over tp.concat, which takes 0 to 6 of the gathered dim more than once; fusing would first add rows of the other operand, which rounds differently
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %2 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
    return %5 : tensor<4x8xf32>
  }
}

//--- c_contraction_trimmed_behind_2.mlir
// CHECK: refused {{.*}}: not fused: tp.matmul sums over tp.slice, which omits part of the gathered dim, from position 11 of 12
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<11x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 1 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<4x12xf32>
    %1 = tp.wait %0 : tensor<4x12xf32> -> tensor<4x12xf32>
    %2 = tp.slice %1 dim 1 start 0 step 1 : tensor<4x12xf32> -> tensor<4x11xf32, #tp.layout<strides = [12, 1]>>
    %3 = tp.matmul %2, %x1 : (tensor<4x11xf32, #tp.layout<strides = [12, 1]>>, tensor<11x8xf32>) -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>
  }
}

//--- d_permuted_and_read_in_between_2.mlir
// CHECK: refused {{.*}}: not fused: tp.matmul uses the gathered value as reassembled by tp.concat, and the gathered value has other users
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x8xf32>) -> (tensor<4x8xf32>, tensor<8x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %3, %2 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
    %6 = tp.map relu(%1) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %5, %6 : tensor<4x8xf32>, tensor<8x6xf32>
  }
}

//--- e_contraction_permuted_and_read_2.mlir
// CHECK: refused {{.*}}: not fused: it gathers along the contraction dimension, and the gathered value has other users
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x8xf32>) -> (tensor<4x8xf32>, tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %3, %2 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
    %6 = tp.map relu(%4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %5, %6 : tensor<4x8xf32>, tensor<4x12xf32>
  }
}

//--- f_scattered_and_read_2.mlir
// CHECK: refused {{.*}}: not fused: it scatters tp.concat, a rearrangement of tp.matmul, and intermediate values have other users
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<4x4xf32>, tensor<4x8xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %2, %1 dim 0 : (tensor<4x4xf32, #tp.layout<strides = [8, 1]>>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<4x4xf32>
    %5 = tp.map relu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %4, %5 : tensor<4x4xf32>, tensor<4x8xf32>
  }
}

//--- g_parts_of_two_blocks_2.mlir
// CHECK: refused {{.*}}: not fused: it scatters tp.concat, a rearrangement of tp.matmul that does not give each rank one block of the product
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<4x4xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 6 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 1 : (tensor<4x2xf32, #tp.layout<strides = [8, 1]>>, tensor<4x2xf32, #tp.layout<strides = [8, 1]>>) -> tensor<4x4xf32>
    %4 = tp.slice %0 dim 1 start 2 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %5 = tp.concat %3, %4 dim 0 : (tensor<4x4xf32>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<4x4xf32>
    return %6 : tensor<4x4xf32>
  }
}

//--- h_corners_of_shards_2.mlir
// CHECK: refused {{.*}}: not fused: tp.matmul uses the gathered value as reassembled by tp.concat, which does not concatenate slices along one dim
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %2 dim 0 start 0 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %4 dim 1 start 0 step 1 : tensor<2x6xf32> -> tensor<2x3xf32, #tp.layout<strides = [6, 1]>>
    %6 = tp.slice %3 dim 0 start 0 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %6 dim 1 start 0 step 1 : tensor<2x6xf32> -> tensor<2x3xf32, #tp.layout<strides = [6, 1]>>
    %8 = tp.slice %2 dim 0 start 2 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %8 dim 1 start 3 step 1 : tensor<2x6xf32> -> tensor<2x3xf32, #tp.layout<strides = [6, 1]>>
    %10 = tp.slice %3 dim 0 start 2 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %11 = tp.slice %10 dim 1 start 3 step 1 : tensor<2x6xf32> -> tensor<2x3xf32, #tp.layout<strides = [6, 1]>>
    %12 = tp.concat %5, %11 dim 1 : (tensor<2x3xf32, #tp.layout<strides = [6, 1]>>, tensor<2x3xf32, #tp.layout<strides = [6, 1]>>) -> tensor<2x6xf32>
    %13 = tp.matmul %12, %x1 : (tensor<2x6xf32>, tensor<6x8xf32>) -> tensor<2x8xf32>
    return %13 : tensor<2x8xf32>
  }
}
