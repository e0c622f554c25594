// A dim for the ranks, moved to its place: the form of symbolic sizes and of vLLM.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_reshape_permute_copy_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<3x4xf32> -> tensor<6x4xf32>
    %1 = tp.wait %0 : tensor<6x4xf32> -> tensor<6x4xf32>
    %2 = tp.reshape %1 : tensor<6x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %4 = tp.copy %3 : tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x2x4xf32>
    %5 = tp.reshape %4 : tensor<3x2x4xf32> -> tensor<3x8xf32>
    %6 = tp.map relu(%5) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    return %6 : tensor<3x8xf32>
  }
}

//--- b_movedim_reshape_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<3x4xf32> -> tensor<6x4xf32>
    %1 = tp.wait %0 : tensor<6x4xf32> -> tensor<6x4xf32>
    %2 = tp.reshape %1 : tensor<6x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %4 = tp.reshape %3 : tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x8xf32>
    %5 = tp.map relu(%4) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    return %5 : tensor<3x8xf32>
  }
}

//--- c_flattened_batch_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x3x4xf32>) -> (tensor<2x6x4xf32>) {
    %0 = tp.reshape %x0 : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> async : tensor<6x4xf32> -> tensor<12x4xf32>
    %2 = tp.wait %1 : tensor<12x4xf32> -> tensor<12x4xf32>
    %3 = tp.reshape %2 : tensor<12x4xf32> -> tensor<2x2x3x4xf32>
    %4 = tp.permute %3 [1, 0, 2, 3] : tensor<2x2x3x4xf32> -> tensor<2x2x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>>
    %5 = tp.reshape %4 : tensor<2x2x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>> -> tensor<2x6x4xf32>
    %6 = tp.map relu(%5) : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    return %6 : tensor<2x6x4xf32>
  }
}

//--- d_moved_in_front_and_back_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: {{.*}} = tp.matmul %[[W]],
module {
  func.func @main(%x0: tensor<2x3x4xf32>, %x1: tensor<4x5xf32>) -> (tensor<2x6x5xf32>) {
    %0 = tp.permute %x0 [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %1 = tp.copy %0 : tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x2x4xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1]> async : tensor<3x2x4xf32> -> tensor<6x2x4xf32>
    %3 = tp.wait %2 : tensor<6x2x4xf32> -> tensor<6x2x4xf32>
    %4 = tp.permute %3 [1, 0, 2] : tensor<6x2x4xf32> -> tensor<2x6x4xf32, #tp.layout<strides = [4, 8, 1]>>
    %5 = tp.matmul %4, %x1 : (tensor<2x6x4xf32, #tp.layout<strides = [4, 8, 1]>>, tensor<4x5xf32>) -> tensor<2x6x5xf32>
    return %5 : tensor<2x6x5xf32>
  }
}

//--- e_operand_reshaped_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = tp.reshape %arg0 : tensor<6x4xf32> -> tensor<2x3x4xf32>
// CHECK: %[[A:.*]] = tp.all_gather %[[X]] gather_axis 1 
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<6x4xf32>) -> (tensor<2x6x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<6x4xf32> -> tensor<12x4xf32>
    %1 = tp.wait %0 : tensor<12x4xf32> -> tensor<12x4xf32>
    %2 = tp.reshape %1 : tensor<12x4xf32> -> tensor<2x2x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2, 3] : tensor<2x2x3x4xf32> -> tensor<2x2x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>>
    %4 = tp.reshape %3 : tensor<2x2x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>> -> tensor<2x6x4xf32>
    %5 = tp.map relu(%4) : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    return %5 : tensor<2x6x4xf32>
  }
}

//--- f_reshape_permute_copy_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x16xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<3x4xf32> -> tensor<12x4xf32>
    %1 = tp.wait %0 : tensor<12x4xf32> -> tensor<12x4xf32>
    %2 = tp.reshape %1 : tensor<12x4xf32> -> tensor<4x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2] : tensor<4x3x4xf32> -> tensor<3x4x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %4 = tp.copy %3 : tensor<3x4x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x4x4xf32>
    %5 = tp.reshape %4 : tensor<3x4x4xf32> -> tensor<3x16xf32>
    %6 = tp.map relu(%5) : (tensor<3x16xf32>) -> tensor<3x16xf32>
    return %6 : tensor<3x16xf32>
  }
}

//--- g_movedim_reshape_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x16xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<3x4xf32> -> tensor<12x4xf32>
    %1 = tp.wait %0 : tensor<12x4xf32> -> tensor<12x4xf32>
    %2 = tp.reshape %1 : tensor<12x4xf32> -> tensor<4x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2] : tensor<4x3x4xf32> -> tensor<3x4x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %4 = tp.reshape %3 : tensor<3x4x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x16xf32>
    %5 = tp.map relu(%4) : (tensor<3x16xf32>) -> tensor<3x16xf32>
    return %5 : tensor<3x16xf32>
  }
}

//--- h_flattened_batch_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x3x4xf32>) -> (tensor<2x12x4xf32>) {
    %0 = tp.reshape %x0 : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<6x4xf32> -> tensor<24x4xf32>
    %2 = tp.wait %1 : tensor<24x4xf32> -> tensor<24x4xf32>
    %3 = tp.reshape %2 : tensor<24x4xf32> -> tensor<4x2x3x4xf32>
    %4 = tp.permute %3 [1, 0, 2, 3] : tensor<4x2x3x4xf32> -> tensor<2x4x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>>
    %5 = tp.reshape %4 : tensor<2x4x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>> -> tensor<2x12x4xf32>
    %6 = tp.map relu(%5) : (tensor<2x12x4xf32>) -> tensor<2x12x4xf32>
    return %6 : tensor<2x12x4xf32>
  }
}

//--- i_moved_in_front_and_back_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: {{.*}} = tp.matmul %[[W]],
module {
  func.func @main(%x0: tensor<2x3x4xf32>, %x1: tensor<4x5xf32>) -> (tensor<2x12x5xf32>) {
    %0 = tp.permute %x0 [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %1 = tp.copy %0 : tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x2x4xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<3x2x4xf32> -> tensor<12x2x4xf32>
    %3 = tp.wait %2 : tensor<12x2x4xf32> -> tensor<12x2x4xf32>
    %4 = tp.permute %3 [1, 0, 2] : tensor<12x2x4xf32> -> tensor<2x12x4xf32, #tp.layout<strides = [4, 8, 1]>>
    %5 = tp.matmul %4, %x1 : (tensor<2x12x4xf32, #tp.layout<strides = [4, 8, 1]>>, tensor<4x5xf32>) -> tensor<2x12x5xf32>
    return %5 : tensor<2x12x5xf32>
  }
}

//--- j_operand_reshaped_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = tp.reshape %arg0 : tensor<6x4xf32> -> tensor<2x3x4xf32>
// CHECK: %[[A:.*]] = tp.all_gather %[[X]] gather_axis 1 
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<6x4xf32>) -> (tensor<2x12x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<6x4xf32> -> tensor<24x4xf32>
    %1 = tp.wait %0 : tensor<24x4xf32> -> tensor<24x4xf32>
    %2 = tp.reshape %1 : tensor<24x4xf32> -> tensor<4x2x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2, 3] : tensor<4x2x3x4xf32> -> tensor<2x4x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>>
    %4 = tp.reshape %3 : tensor<2x4x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>> -> tensor<2x12x4xf32>
    %5 = tp.map relu(%4) : (tensor<2x12x4xf32>) -> tensor<2x12x4xf32>
    return %5 : tensor<2x12x4xf32>
  }
}

//--- k_reshape_permute_copy_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x32xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<3x4xf32> -> tensor<24x4xf32>
    %1 = tp.wait %0 : tensor<24x4xf32> -> tensor<24x4xf32>
    %2 = tp.reshape %1 : tensor<24x4xf32> -> tensor<8x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2] : tensor<8x3x4xf32> -> tensor<3x8x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %4 = tp.copy %3 : tensor<3x8x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x8x4xf32>
    %5 = tp.reshape %4 : tensor<3x8x4xf32> -> tensor<3x32xf32>
    %6 = tp.map relu(%5) : (tensor<3x32xf32>) -> tensor<3x32xf32>
    return %6 : tensor<3x32xf32>
  }
}

//--- l_movedim_reshape_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<3x4xf32>) -> (tensor<3x32xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<3x4xf32> -> tensor<24x4xf32>
    %1 = tp.wait %0 : tensor<24x4xf32> -> tensor<24x4xf32>
    %2 = tp.reshape %1 : tensor<24x4xf32> -> tensor<8x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2] : tensor<8x3x4xf32> -> tensor<3x8x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %4 = tp.reshape %3 : tensor<3x8x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x32xf32>
    %5 = tp.map relu(%4) : (tensor<3x32xf32>) -> tensor<3x32xf32>
    return %5 : tensor<3x32xf32>
  }
}

//--- m_flattened_batch_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x3x4xf32>) -> (tensor<2x24x4xf32>) {
    %0 = tp.reshape %x0 : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<6x4xf32> -> tensor<48x4xf32>
    %2 = tp.wait %1 : tensor<48x4xf32> -> tensor<48x4xf32>
    %3 = tp.reshape %2 : tensor<48x4xf32> -> tensor<8x2x3x4xf32>
    %4 = tp.permute %3 [1, 0, 2, 3] : tensor<8x2x3x4xf32> -> tensor<2x8x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>>
    %5 = tp.reshape %4 : tensor<2x8x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>> -> tensor<2x24x4xf32>
    %6 = tp.map relu(%5) : (tensor<2x24x4xf32>) -> tensor<2x24x4xf32>
    return %6 : tensor<2x24x4xf32>
  }
}

//--- n_moved_in_front_and_back_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: {{.*}} = tp.matmul %[[W]],
module {
  func.func @main(%x0: tensor<2x3x4xf32>, %x1: tensor<4x5xf32>) -> (tensor<2x24x5xf32>) {
    %0 = tp.permute %x0 [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>
    %1 = tp.copy %0 : tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x2x4xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<3x2x4xf32> -> tensor<24x2x4xf32>
    %3 = tp.wait %2 : tensor<24x2x4xf32> -> tensor<24x2x4xf32>
    %4 = tp.permute %3 [1, 0, 2] : tensor<24x2x4xf32> -> tensor<2x24x4xf32, #tp.layout<strides = [4, 8, 1]>>
    %5 = tp.matmul %4, %x1 : (tensor<2x24x4xf32, #tp.layout<strides = [4, 8, 1]>>, tensor<4x5xf32>) -> tensor<2x24x5xf32>
    return %5 : tensor<2x24x5xf32>
  }
}

//--- o_operand_reshaped_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = tp.reshape %arg0 : tensor<6x4xf32> -> tensor<2x3x4xf32>
// CHECK: %[[A:.*]] = tp.all_gather %[[X]] gather_axis 1 
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<6x4xf32>) -> (tensor<2x24x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<6x4xf32> -> tensor<48x4xf32>
    %1 = tp.wait %0 : tensor<48x4xf32> -> tensor<48x4xf32>
    %2 = tp.reshape %1 : tensor<48x4xf32> -> tensor<8x2x3x4xf32>
    %3 = tp.permute %2 [1, 0, 2, 3] : tensor<8x2x3x4xf32> -> tensor<2x8x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>>
    %4 = tp.reshape %3 : tensor<2x8x3x4xf32, #tp.layout<strides = [12, 24, 4, 1]>> -> tensor<2x24x4xf32>
    %5 = tp.map relu(%4) : (tensor<2x24x4xf32>) -> tensor<2x24x4xf32>
    return %5 : tensor<2x24x4xf32>
  }
}
