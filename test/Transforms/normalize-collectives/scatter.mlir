// Rearranged in front of a reduce_scatter: one along the dim that is cut.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_columns_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x4xf32> -> tensor<3x2xf32, #tp.layout<strides = [4, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x4xf32> -> tensor<3x2xf32, #tp.layout<strides = [4, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2xf32, #tp.layout<strides = [4, 1]>>) -> tensor<6x2xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<6x2xf32> -> tensor<3x2xf32>
    %5 = tp.wait %4 : tensor<3x2xf32> -> tensor<3x2xf32>
    return %5 : tensor<3x2xf32>
  }
}

//--- b_middle_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter avg %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<2x4x3xf32>) -> (tensor<2x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<2x4x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [12, 3, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<2x4x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [12, 3, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<2x2x3xf32, #tp.layout<strides = [12, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [12, 3, 1]>>) -> tensor<4x2x3xf32>
    %4 = tp.reduce_scatter avg %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<4x2x3xf32> -> tensor<2x2x3xf32>
    %5 = tp.wait %4 : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
    return %5 : tensor<2x2x3xf32>
  }
}

//--- c_permuted_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter max %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<2x4x3xf32>) -> (tensor<2x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %1 = tp.reshape %0 : tensor<2x4x3xf32> -> tensor<2x2x2x3xf32>
    %2 = tp.permute %1 [1, 0, 2, 3] : tensor<2x2x2x3xf32> -> tensor<2x2x2x3xf32, #tp.layout<strides = [6, 12, 3, 1]>>
    %3 = tp.reshape %2 : tensor<2x2x2x3xf32, #tp.layout<strides = [6, 12, 3, 1]>> -> tensor<4x2x3xf32>
    %4 = tp.reduce_scatter max %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<4x2x3xf32> -> tensor<2x2x3xf32>
    %5 = tp.wait %4 : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
    return %5 : tensor<2x2x3xf32>
  }
}

//--- d_view_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<1x4x3xf32>) -> (tensor<1x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    %1 = tp.reshape %0 : tensor<1x4x3xf32> -> tensor<4x3xf32>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"0", [0, 1]> async : tensor<4x3xf32> -> tensor<2x3xf32>
    %3 = tp.wait %2 : tensor<2x3xf32> -> tensor<2x3xf32>
    %4 = tp.reshape %3 : tensor<2x3xf32> -> tensor<1x2x3xf32>
    return %4 : tensor<1x2x3xf32>
  }
}

//--- e_saved_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK: return %{{.*}}, %[[S]]
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x4xf32> -> tensor<3x2xf32, #tp.layout<strides = [4, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x4xf32> -> tensor<3x2xf32, #tp.layout<strides = [4, 1]>>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2xf32, #tp.layout<strides = [4, 1]>>) -> tensor<6x2xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<6x2xf32> -> tensor<3x2xf32>
    %5 = tp.wait %4 : tensor<3x2xf32> -> tensor<3x2xf32>
    %6 = tp.map relu(%5) : (tensor<3x2xf32>) -> tensor<3x2xf32>
    return %6, %4 : tensor<3x2xf32>, tensor<3x2xf32>
  }
}

//--- f_reshaped_result_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: %[[R:.*]] = tp.reshape %[[W]] : tensor<2x2x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT: return %[[R]]
module {
  func.func @main(%x0: tensor<2x4x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %1 = tp.reshape %0 : tensor<2x4x3xf32> -> tensor<2x2x2x3xf32>
    %2 = tp.permute %1 [1, 0, 2, 3] : tensor<2x2x2x3xf32> -> tensor<2x2x2x3xf32, #tp.layout<strides = [6, 12, 3, 1]>>
    %3 = tp.copy %2 : tensor<2x2x2x3xf32, #tp.layout<strides = [6, 12, 3, 1]>> -> tensor<2x2x2x3xf32>
    %4 = tp.reshape %3 : tensor<2x2x2x3xf32> -> tensor<8x3xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"0", [0, 1]> async : tensor<8x3xf32> -> tensor<4x3xf32>
    %6 = tp.wait %5 : tensor<4x3xf32> -> tensor<4x3xf32>
    return %6 : tensor<4x3xf32>
  }
}

//--- g_columns_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>) -> tensor<12x2xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<12x2xf32> -> tensor<3x2xf32>
    %7 = tp.wait %6 : tensor<3x2xf32> -> tensor<3x2xf32>
    return %7 : tensor<3x2xf32>
  }
}

//--- h_middle_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter avg %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<2x8x3xf32>) -> (tensor<2x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<2x8x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<2x8x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<2x8x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<2x8x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [24, 3, 1]>>) -> tensor<8x2x3xf32>
    %6 = tp.reduce_scatter avg %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<8x2x3xf32> -> tensor<2x2x3xf32>
    %7 = tp.wait %6 : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
    return %7 : tensor<2x2x3xf32>
  }
}

//--- i_permuted_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter max %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<2x8x3xf32>) -> (tensor<2x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
    %1 = tp.reshape %0 : tensor<2x8x3xf32> -> tensor<2x4x2x3xf32>
    %2 = tp.permute %1 [1, 0, 2, 3] : tensor<2x4x2x3xf32> -> tensor<4x2x2x3xf32, #tp.layout<strides = [6, 24, 3, 1]>>
    %3 = tp.reshape %2 : tensor<4x2x2x3xf32, #tp.layout<strides = [6, 24, 3, 1]>> -> tensor<8x2x3xf32>
    %4 = tp.reduce_scatter max %3 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<8x2x3xf32> -> tensor<2x2x3xf32>
    %5 = tp.wait %4 : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
    return %5 : tensor<2x2x3xf32>
  }
}

//--- j_view_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<1x8x3xf32>) -> (tensor<1x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<1x8x3xf32>) -> tensor<1x8x3xf32>
    %1 = tp.reshape %0 : tensor<1x8x3xf32> -> tensor<8x3xf32>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<8x3xf32> -> tensor<2x3xf32>
    %3 = tp.wait %2 : tensor<2x3xf32> -> tensor<2x3xf32>
    %4 = tp.reshape %3 : tensor<2x3xf32> -> tensor<1x2x3xf32>
    return %4 : tensor<1x2x3xf32>
  }
}

//--- k_saved_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK: return %{{.*}}, %[[S]]
module {
  func.func @main(%x0: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
    %0 = tp.map relu(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<3x8xf32> -> tensor<3x2xf32, #tp.layout<strides = [8, 1]>>
    %5 = tp.concat %1, %2, %3, %4 dim 0 : (tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>, tensor<3x2xf32, #tp.layout<strides = [8, 1]>>) -> tensor<12x2xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<12x2xf32> -> tensor<3x2xf32>
    %7 = tp.wait %6 : tensor<3x2xf32> -> tensor<3x2xf32>
    %8 = tp.map relu(%7) : (tensor<3x2xf32>) -> tensor<3x2xf32>
    return %8, %6 : tensor<3x2xf32>, tensor<3x2xf32>
  }
}

//--- l_reshaped_result_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: %[[R:.*]] = tp.reshape %[[W]] : tensor<2x2x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT: return %[[R]]
module {
  func.func @main(%x0: tensor<2x8x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
    %1 = tp.reshape %0 : tensor<2x8x3xf32> -> tensor<2x4x2x3xf32>
    %2 = tp.permute %1 [1, 0, 2, 3] : tensor<2x4x2x3xf32> -> tensor<4x2x2x3xf32, #tp.layout<strides = [6, 24, 3, 1]>>
    %3 = tp.copy %2 : tensor<4x2x2x3xf32, #tp.layout<strides = [6, 24, 3, 1]>> -> tensor<4x2x2x3xf32>
    %4 = tp.reshape %3 : tensor<4x2x2x3xf32> -> tensor<16x3xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<16x3xf32> -> tensor<4x3xf32>
    %6 = tp.wait %5 : tensor<4x3xf32> -> tensor<4x3xf32>
    return %6 : tensor<4x3xf32>
  }
}

//--- m_columns_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<3x16xf32>) -> (tensor<3x2xf32>) {
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
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<24x2xf32> -> tensor<3x2xf32>
    %11 = tp.wait %10 : tensor<3x2xf32> -> tensor<3x2xf32>
    return %11 : tensor<3x2xf32>
  }
}

//--- n_middle_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter avg %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<2x16x3xf32>) -> (tensor<2x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x16x3xf32>) -> tensor<2x16x3xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %2 = tp.slice %0 dim 1 start 2 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %3 = tp.slice %0 dim 1 start 4 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %4 = tp.slice %0 dim 1 start 6 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %5 = tp.slice %0 dim 1 start 8 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %6 = tp.slice %0 dim 1 start 10 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %7 = tp.slice %0 dim 1 start 12 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %8 = tp.slice %0 dim 1 start 14 step 1 : tensor<2x16x3xf32> -> tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>
    %9 = tp.concat %1, %2, %3, %4, %5, %6, %7, %8 dim 0 : (tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>, tensor<2x2x3xf32, #tp.layout<strides = [48, 3, 1]>>) -> tensor<16x2x3xf32>
    %10 = tp.reduce_scatter avg %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<16x2x3xf32> -> tensor<2x2x3xf32>
    %11 = tp.wait %10 : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
    return %11 : tensor<2x2x3xf32>
  }
}

//--- o_permuted_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter max %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<2x16x3xf32>) -> (tensor<2x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x16x3xf32>) -> tensor<2x16x3xf32>
    %1 = tp.reshape %0 : tensor<2x16x3xf32> -> tensor<2x8x2x3xf32>
    %2 = tp.permute %1 [1, 0, 2, 3] : tensor<2x8x2x3xf32> -> tensor<8x2x2x3xf32, #tp.layout<strides = [6, 48, 3, 1]>>
    %3 = tp.reshape %2 : tensor<8x2x2x3xf32, #tp.layout<strides = [6, 48, 3, 1]>> -> tensor<16x2x3xf32>
    %4 = tp.reduce_scatter max %3 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<16x2x3xf32> -> tensor<2x2x3xf32>
    %5 = tp.wait %4 : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
    return %5 : tensor<2x2x3xf32>
  }
}

//--- p_view_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x0: tensor<1x16x3xf32>) -> (tensor<1x2x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<1x16x3xf32>) -> tensor<1x16x3xf32>
    %1 = tp.reshape %0 : tensor<1x16x3xf32> -> tensor<16x3xf32>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<16x3xf32> -> tensor<2x3xf32>
    %3 = tp.wait %2 : tensor<2x3xf32> -> tensor<2x3xf32>
    %4 = tp.reshape %3 : tensor<2x3xf32> -> tensor<1x2x3xf32>
    return %4 : tensor<1x2x3xf32>
  }
}

//--- q_saved_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK: return %{{.*}}, %[[S]]
module {
  func.func @main(%x0: tensor<3x16xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
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
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<24x2xf32> -> tensor<3x2xf32>
    %11 = tp.wait %10 : tensor<3x2xf32> -> tensor<3x2xf32>
    %12 = tp.map relu(%11) : (tensor<3x2xf32>) -> tensor<3x2xf32>
    return %12, %10 : tensor<3x2xf32>, tensor<3x2xf32>
  }
}

//--- r_reshaped_result_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.slice
// CHECK-NOT: = tp.concat
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %{{.*}} scatter_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: %[[R:.*]] = tp.reshape %[[W]] : tensor<2x2x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT: return %[[R]]
module {
  func.func @main(%x0: tensor<2x16x3xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.map relu(%x0) : (tensor<2x16x3xf32>) -> tensor<2x16x3xf32>
    %1 = tp.reshape %0 : tensor<2x16x3xf32> -> tensor<2x8x2x3xf32>
    %2 = tp.permute %1 [1, 0, 2, 3] : tensor<2x8x2x3xf32> -> tensor<8x2x2x3xf32, #tp.layout<strides = [6, 48, 3, 1]>>
    %3 = tp.copy %2 : tensor<8x2x2x3xf32, #tp.layout<strides = [6, 48, 3, 1]>> -> tensor<8x2x2x3xf32>
    %4 = tp.reshape %3 : tensor<8x2x2x3xf32> -> tensor<32x3xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<32x3xf32> -> tensor<4x3xf32>
    %6 = tp.wait %5 : tensor<4x3xf32> -> tensor<4x3xf32>
    return %6 : tensor<4x3xf32>
  }
}
