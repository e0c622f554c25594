// Reduce_scatters over several axes of a mesh that together are one.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives || exit 1; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_rows_2_of_1_and_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"tp"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"self", [[0], [1]]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [0, 1]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}

//--- b_rows_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}

//--- c_waits_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.wait %0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<4x6xf32> -> tensor<2x6xf32>
    %3 = tp.wait %2 : tensor<2x6xf32> -> tensor<2x6xf32>
    return %3 : tensor<2x6xf32>
  }
}

//--- d_average_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter avg %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.wait %0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = tp.reduce_scatter avg %1 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<4x6xf32> -> tensor<2x6xf32>
    %3 = tp.wait %2 : tensor<2x6xf32> -> tensor<2x6xf32>
    return %3 : tensor<2x6xf32>
  }
}

//--- e_other_order_put_right_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.map relu(%x0) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %1 = tp.reshape %0 : tensor<8x6xf32> -> tensor<2x2x2x6xf32>
    %2 = tp.permute %1 [1, 0, 2, 3] : tensor<2x2x2x6xf32> -> tensor<2x2x2x6xf32, #tp.layout<strides = [12, 24, 6, 1]>>
    %3 = tp.copy %2 : tensor<2x2x2x6xf32, #tp.layout<strides = [12, 24, 6, 1]>> -> tensor<2x2x2x6xf32>
    %4 = tp.reshape %3 : tensor<2x2x2x6xf32> -> tensor<8x6xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<8x6xf32> -> tensor<4x6xf32>
    %6 = tp.wait %5 : tensor<4x6xf32> -> tensor<4x6xf32>
    %7 = tp.reduce_scatter sum %6 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<4x6xf32> -> tensor<2x6xf32>
    %8 = tp.wait %7 : tensor<2x6xf32> -> tensor<2x6xf32>
    return %8 : tensor<2x6xf32>
  }
}

//--- f_group_of_that_order_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"columns first"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>, #tp.group<"columns first", [0, 2, 1, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}

//--- g_columns_each_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 1 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x4xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x4xf32, #tp.layout<strides = [8, 1]>>, tensor<3x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x4xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<6x4xf32> -> tensor<3x4xf32>
    %5 = tp.wait %4 : tensor<3x4xf32> -> tensor<3x4xf32>
    %6 = tp.slice %5 dim 1 start 0 step 1 : tensor<3x4xf32> -> tensor<3x2xf32, #tp.layout<strides = [4, 1]>>
    %7 = tp.slice %5 dim 1 start 2 step 1 : tensor<3x4xf32> -> tensor<3x2xf32, #tp.layout<strides = [4, 1]>>
    %8 = tp.concat %6, %7 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2xf32, #tp.layout<strides = [4, 1]>>) -> tensor<6x2xf32>
    %9 = tp.reduce_scatter sum %8 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<6x2xf32> -> tensor<3x2xf32>
    %10 = tp.wait %9 : tensor<3x2xf32> -> tensor<3x2xf32>
    return %10 : tensor<3x2xf32>
  }
}

//--- h_columns_at_first_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 1 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>) -> tensor<12x2xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<12x2xf32> -> tensor<6x2xf32>
    %7 = tp.wait %6 : tensor<6x2xf32> -> tensor<6x2xf32>
    %8 = tp.reduce_scatter sum %7 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<6x2xf32> -> tensor<3x2xf32>
    %9 = tp.wait %8 : tensor<3x2xf32> -> tensor<3x2xf32>
    return %9 : tensor<3x2xf32>
  }
}

//--- i_rows_8_of_2_and_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<1x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"dp", [[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<4x6xf32> -> tensor<1x6xf32>
    return %1 : tensor<1x6xf32>
  }
}

//--- j_rows_8_of_4_and_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<1x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"dp", [[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<8x6xf32> -> tensor<2x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<2x6xf32> -> tensor<1x6xf32>
    return %1 : tensor<1x6xf32>
  }
}

//--- k_three_axes_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x0: tensor<16x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"c", [[0, 4], [1, 5], [2, 6], [3, 7]]> async : tensor<16x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"b", [[0, 2], [1, 3], [4, 6], [5, 7]]> async : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.wait %2 : tensor<4x6xf32> -> tensor<4x6xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"a", [[0, 1], [2, 3], [4, 5], [6, 7]]> async : tensor<4x6xf32> -> tensor<2x6xf32>
    %5 = tp.wait %4 : tensor<2x6xf32> -> tensor<2x6xf32>
    return %5 : tensor<2x6xf32>
  }
}

//--- l_maximum_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter max %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter max %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}

//--- m_symbolic_rows_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter {{.*}}scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x: tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 4, 5]>>) -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>> {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 4, 5]>> -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 2, 5]>>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 2, 5]>> -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>
    return %1 : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>
  }
}

//--- n_group_of_a_farther_source_6.mlir
// What is scattered would be the blocks of ranks 0 to 5 in this order, which is no
// group; what that is rearranged from are those of one.
// CHECK-LABEL: func.func @main
// CHECK: = tp.reduce_scatter sum %arg0 scatter_axis 0 group <"world"
// CHECK-NOT: = tp.reduce_scatter 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 3, 1, 4, 2, 5]>]} {
  func.func @main(%x: tensor<6x1xf32>) -> tensor<1x1xf32> {
    %0 = tp.reshape %x : tensor<6x1xf32> -> tensor<3x2x1xf32>
    %1 = tp.permute %0 [1, 0, 2] : tensor<3x2x1xf32> -> tensor<2x3x1xf32, #tp.layout<strides = [1, 2, 1]>>
    %2 = tp.copy %1 : tensor<2x3x1xf32, #tp.layout<strides = [1, 2, 1]>> -> tensor<2x3x1xf32>
    %3 = tp.reshape %2 : tensor<2x3x1xf32> -> tensor<6x1xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"dp", [[0, 2, 4], [1, 3, 5]]> : tensor<6x1xf32> -> tensor<2x1xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"tp", [[0, 1], [2, 3], [4, 5]]> : tensor<2x1xf32> -> tensor<1x1xf32>
    return %5 : tensor<1x1xf32>
  }
}
