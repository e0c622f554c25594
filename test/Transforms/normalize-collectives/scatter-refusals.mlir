// Rearrangement in front of a reduce_scatter that is none along any dim, and why.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --passes=normalize-collectives | grep -v "^proof"; done | FileCheck %s --implicit-check-not=applied
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives -o $f.after && diff $f.plain $f.after || exit 1; done

//--- a_reversed_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the blocks in the order 1, 0, not
module {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [8, 1]>>, tensor<3x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<6x4xf32> -> tensor<3x4xf32>
    %5 = tp.wait %4 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %5 : tensor<3x4xf32>
  }
}

//--- b_duplicate_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes block 0 more than once and leaves out block 1
module {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [8, 1]>>, tensor<3x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<6x4xf32> -> tensor<3x4xf32>
    %5 = tp.wait %4 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %5 : tensor<3x4xf32>
  }
}

//--- c_shifted_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 1 to 5 of dim 1 as slice 0, which starts inside a block (size 4)
module {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 1 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [8, 1]>>, tensor<3x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<6x4xf32> -> tensor<3x4xf32>
    %5 = tp.wait %4 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %5 : tensor<3x4xf32>
  }
}

//--- d_half_blocks_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 4 slices instead of one of size 4 for each of the 2 ranks
module {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<6x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>) -> tensor<12x2xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1]> async : tensor<12x2xf32> -> tensor<6x2xf32>
    %7 = tp.wait %6 : tensor<6x2xf32> -> tensor<6x2xf32>
    return %7 : tensor<6x2xf32>
  }
}

//--- e_other_reader_2.mlir
// CHECK: refused {{.*}}: not rewritten as a reduce_scatter along dim 1: tp.map uses an intermediate value
module {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<6x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [8, 1]>>, tensor<3x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<6x4xf32> -> tensor<3x4xf32>
    %5 = tp.wait %4 : tensor<3x4xf32> -> tensor<3x4xf32>
    %6 = tp.map relu(%3) : (tensor<6x4xf32>) -> tensor<6x4xf32>
    return %5, %6 : tensor<3x4xf32>, tensor<6x4xf32>
  }
}

//--- f_reversed_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the blocks in the order 3, 2, 1, 0, not
module {
  func.func @main(%x0: tensor<3x16xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %1 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %2 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %4 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>) -> tensor<12x4xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<12x4xf32> -> tensor<3x4xf32>
    %7 = tp.wait %6 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %7 : tensor<3x4xf32>
  }
}

//--- g_duplicate_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes block 0 more than once and leaves out block 3
module {
  func.func @main(%x0: tensor<3x16xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %2 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %4 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>) -> tensor<12x4xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<12x4xf32> -> tensor<3x4xf32>
    %7 = tp.wait %6 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %7 : tensor<3x4xf32>
  }
}

//--- h_shifted_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 1 to 5 of dim 1 as slice 0, which starts inside a block (size 4)
module {
  func.func @main(%x0: tensor<3x16xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %1 = tp.slice %0 dim 1 start 1 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %3 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %4 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>) -> tensor<12x4xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<12x4xf32> -> tensor<3x4xf32>
    %7 = tp.wait %6 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %7 : tensor<3x4xf32>
  }
}

//--- i_half_blocks_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 8 slices instead of one of size 4 for each of the 4 ranks
module {
  func.func @main(%x0: tensor<3x16xf32>) -> (tensor<6x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %5 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %6 = tp.slice %0 dim 1 start 10 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %7 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %8 = tp.slice %0 dim 1 start 14 step 1 : tensor<3x16xf32> -> tensor<3x2xf32, #tp.layout<strides = [16, 1]>>
    %9 = tp.concat %1, %2, %3, %4, %5, %6, %7, %8 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [16, 1]>>, tensor<3x2xf32, #tp.layout<strides = [16, 1]>>, tensor<3x2xf32, #tp.layout<strides = [16, 1]>>, tensor<3x2xf32, #tp.layout<strides = [16, 1]>>, tensor<3x2xf32, #tp.layout<strides = [16, 1]>>, tensor<3x2xf32, #tp.layout<strides = [16, 1]>>, tensor<3x2xf32, #tp.layout<strides = [16, 1]>>, tensor<3x2xf32, #tp.layout<strides = [16, 1]>>) -> tensor<24x2xf32>
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<24x2xf32> -> tensor<6x2xf32>
    %11 = tp.wait %10 : tensor<6x2xf32> -> tensor<6x2xf32>
    return %11 : tensor<6x2xf32>
  }
}

//--- j_double_blocks_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 2 slices instead of one of size 4 for each of the 4 ranks
module {
  func.func @main(%x0: tensor<4x16xf32>) -> (tensor<2x8xf32>) {
    %0 = tp.map relu(%x0) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x16xf32> -> tensor<4x8xf32, #tp.layout<strides = [16, 1]>>
    %2 = tp.slice %0 dim 1 start 8 step 1 : tensor<4x16xf32> -> tensor<4x8xf32, #tp.layout<strides = [16, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<4x8xf32, #tp.layout<strides = [16, 1]>>, tensor<4x8xf32, #tp.layout<strides = [16, 1]>>) -> tensor<8x8xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<8x8xf32> -> tensor<2x8xf32>
    %5 = tp.wait %4 : tensor<2x8xf32> -> tensor<2x8xf32>
    return %5 : tensor<2x8xf32>
  }
}

//--- k_other_reader_4.mlir
// CHECK: refused {{.*}}: not rewritten as a reduce_scatter along dim 1: tp.map uses an intermediate value
module {
  func.func @main(%x0: tensor<3x16xf32>) -> (tensor<3x4xf32>, tensor<12x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %3 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %4 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x16xf32> -> tensor<3x4xf32, #tp.layout<strides = [16, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>, tensor<3x4xf32, #tp.layout<strides = [16, 1]>>) -> tensor<12x4xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<12x4xf32> -> tensor<3x4xf32>
    %7 = tp.wait %6 : tensor<3x4xf32> -> tensor<3x4xf32>
    %8 = tp.map relu(%5) : (tensor<12x4xf32>) -> tensor<12x4xf32>
    return %7, %8 : tensor<3x4xf32>, tensor<12x4xf32>
  }
}

//--- l_reversed_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the blocks in the order 7, 6, 5, 4, 3, 2, 1, 0, not
module {
  func.func @main(%x0: tensor<3x32xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x32xf32>) -> tensor<3x32xf32>
    %1 = tp.slice %0 dim 1 start 28 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %2 = tp.slice %0 dim 1 start 24 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %3 = tp.slice %0 dim 1 start 20 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %4 = tp.slice %0 dim 1 start 16 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %5 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %6 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %7 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %8 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %9 = tp.concat %1, %2, %3, %4, %5, %6, %7, %8 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>) -> tensor<24x4xf32>
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<24x4xf32> -> tensor<3x4xf32>
    %11 = tp.wait %10 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %11 : tensor<3x4xf32>
  }
}

//--- m_duplicate_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes block 0 more than once and leaves out block 7
module {
  func.func @main(%x0: tensor<3x32xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x32xf32>) -> tensor<3x32xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %2 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %4 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %5 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %6 = tp.slice %0 dim 1 start 16 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %7 = tp.slice %0 dim 1 start 20 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %8 = tp.slice %0 dim 1 start 24 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %9 = tp.concat %1, %2, %3, %4, %5, %6, %7, %8 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>) -> tensor<24x4xf32>
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<24x4xf32> -> tensor<3x4xf32>
    %11 = tp.wait %10 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %11 : tensor<3x4xf32>
  }
}

//--- n_shifted_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 1 to 5 of dim 1 as slice 0, which starts inside a block (size 4)
module {
  func.func @main(%x0: tensor<3x32xf32>) -> (tensor<3x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x32xf32>) -> tensor<3x32xf32>
    %1 = tp.slice %0 dim 1 start 1 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %3 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %4 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %5 = tp.slice %0 dim 1 start 16 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %6 = tp.slice %0 dim 1 start 20 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %7 = tp.slice %0 dim 1 start 24 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %8 = tp.slice %0 dim 1 start 28 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %9 = tp.concat %1, %2, %3, %4, %5, %6, %7, %8 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>) -> tensor<24x4xf32>
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<24x4xf32> -> tensor<3x4xf32>
    %11 = tp.wait %10 : tensor<3x4xf32> -> tensor<3x4xf32>
    return %11 : tensor<3x4xf32>
  }
}

//--- o_half_blocks_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 16 slices instead of one of size 4 for each of the 8 ranks
module {
  func.func @main(%x0: tensor<3x32xf32>) -> (tensor<6x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x32xf32>) -> tensor<3x32xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %5 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %6 = tp.slice %0 dim 1 start 10 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %7 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %8 = tp.slice %0 dim 1 start 14 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %9 = tp.slice %0 dim 1 start 16 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %10 = tp.slice %0 dim 1 start 18 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %11 = tp.slice %0 dim 1 start 20 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %12 = tp.slice %0 dim 1 start 22 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %13 = tp.slice %0 dim 1 start 24 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %14 = tp.slice %0 dim 1 start 26 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %15 = tp.slice %0 dim 1 start 28 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %16 = tp.slice %0 dim 1 start 30 step 1 : tensor<3x32xf32> -> tensor<3x2xf32, #tp.layout<strides = [32, 1]>>
    %17 = tp.concat %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>, tensor<3x2xf32, #tp.layout<strides = [32, 1]>>) -> tensor<48x2xf32>
    %18 = tp.reduce_scatter sum %17 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<48x2xf32> -> tensor<6x2xf32>
    %19 = tp.wait %18 : tensor<6x2xf32> -> tensor<6x2xf32>
    return %19 : tensor<6x2xf32>
  }
}

//--- p_double_blocks_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 4 slices instead of one of size 4 for each of the 8 ranks
module {
  func.func @main(%x0: tensor<4x32xf32>) -> (tensor<2x8xf32>) {
    %0 = tp.map relu(%x0) : (tensor<4x32xf32>) -> tensor<4x32xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x32xf32> -> tensor<4x8xf32, #tp.layout<strides = [32, 1]>>
    %2 = tp.slice %0 dim 1 start 8 step 1 : tensor<4x32xf32> -> tensor<4x8xf32, #tp.layout<strides = [32, 1]>>
    %3 = tp.slice %0 dim 1 start 16 step 1 : tensor<4x32xf32> -> tensor<4x8xf32, #tp.layout<strides = [32, 1]>>
    %4 = tp.slice %0 dim 1 start 24 step 1 : tensor<4x32xf32> -> tensor<4x8xf32, #tp.layout<strides = [32, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<4x8xf32, #tp.layout<strides = [32, 1]>>, tensor<4x8xf32, #tp.layout<strides = [32, 1]>>, tensor<4x8xf32, #tp.layout<strides = [32, 1]>>, tensor<4x8xf32, #tp.layout<strides = [32, 1]>>) -> tensor<16x8xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<16x8xf32> -> tensor<2x8xf32>
    %7 = tp.wait %6 : tensor<2x8xf32> -> tensor<2x8xf32>
    return %7 : tensor<2x8xf32>
  }
}

//--- q_other_reader_8.mlir
// CHECK: refused {{.*}}: not rewritten as a reduce_scatter along dim 1: tp.map uses an intermediate value
module {
  func.func @main(%x0: tensor<3x32xf32>) -> (tensor<3x4xf32>, tensor<24x4xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x32xf32>) -> tensor<3x32xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %3 = tp.slice %0 dim 1 start 8 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %4 = tp.slice %0 dim 1 start 12 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %5 = tp.slice %0 dim 1 start 16 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %6 = tp.slice %0 dim 1 start 20 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %7 = tp.slice %0 dim 1 start 24 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %8 = tp.slice %0 dim 1 start 28 step 1 : tensor<3x32xf32> -> tensor<3x4xf32, #tp.layout<strides = [32, 1]>>
    %9 = tp.concat %1, %2, %3, %4, %5, %6, %7, %8 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>, tensor<3x4xf32, #tp.layout<strides = [32, 1]>>) -> tensor<24x4xf32>
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<24x4xf32> -> tensor<3x4xf32>
    %11 = tp.wait %10 : tensor<3x4xf32> -> tensor<3x4xf32>
    %12 = tp.map relu(%9) : (tensor<24x4xf32>) -> tensor<24x4xf32>
    return %11, %12 : tensor<3x4xf32>, tensor<24x4xf32>
  }
}
