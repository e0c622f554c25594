// Where the dims in front have size 1, a view of the gathered value does.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_batch_1_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x3x4xf32>) -> (tensor<1x6x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<1x3x4xf32> -> tensor<2x3x4xf32>
    %1 = tp.wait %0 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %2 = tp.reshape %1 : tensor<2x3x4xf32> -> tensor<1x6x4xf32>
    %3 = tp.map relu(%2) : (tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
    return %3 : tensor<1x6x4xf32>
  }
}

//--- b_two_dims_in_front_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 2 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x1x3x4xf32>) -> (tensor<1x1x6x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<1x1x3x4xf32> -> tensor<2x1x3x4xf32>
    %1 = tp.wait %0 : tensor<2x1x3x4xf32> -> tensor<2x1x3x4xf32>
    %2 = tp.reshape %1 : tensor<2x1x3x4xf32> -> tensor<1x1x6x4xf32>
    %3 = tp.map relu(%2) : (tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
    return %3 : tensor<1x1x6x4xf32>
  }
}

//--- c_of_a_view_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x3x4xf32>) -> (tensor<1x6x4xf32>) {
    %0 = tp.reshape %x0 : tensor<1x3x4xf32> -> tensor<3x4xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> async : tensor<3x4xf32> -> tensor<6x4xf32>
    %2 = tp.wait %1 : tensor<6x4xf32> -> tensor<6x4xf32>
    %3 = tp.reshape %2 : tensor<6x4xf32> -> tensor<1x6x4xf32>
    %4 = tp.map relu(%3) : (tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
    return %4 : tensor<1x6x4xf32>
  }
}

//--- d_batch_1_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x3x4xf32>) -> (tensor<1x12x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<1x3x4xf32> -> tensor<4x3x4xf32>
    %1 = tp.wait %0 : tensor<4x3x4xf32> -> tensor<4x3x4xf32>
    %2 = tp.reshape %1 : tensor<4x3x4xf32> -> tensor<1x12x4xf32>
    %3 = tp.map relu(%2) : (tensor<1x12x4xf32>) -> tensor<1x12x4xf32>
    return %3 : tensor<1x12x4xf32>
  }
}

//--- e_two_dims_in_front_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 2 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x1x3x4xf32>) -> (tensor<1x1x12x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<1x1x3x4xf32> -> tensor<4x1x3x4xf32>
    %1 = tp.wait %0 : tensor<4x1x3x4xf32> -> tensor<4x1x3x4xf32>
    %2 = tp.reshape %1 : tensor<4x1x3x4xf32> -> tensor<1x1x12x4xf32>
    %3 = tp.map relu(%2) : (tensor<1x1x12x4xf32>) -> tensor<1x1x12x4xf32>
    return %3 : tensor<1x1x12x4xf32>
  }
}

//--- f_of_a_view_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x3x4xf32>) -> (tensor<1x12x4xf32>) {
    %0 = tp.reshape %x0 : tensor<1x3x4xf32> -> tensor<3x4xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<3x4xf32> -> tensor<12x4xf32>
    %2 = tp.wait %1 : tensor<12x4xf32> -> tensor<12x4xf32>
    %3 = tp.reshape %2 : tensor<12x4xf32> -> tensor<1x12x4xf32>
    %4 = tp.map relu(%3) : (tensor<1x12x4xf32>) -> tensor<1x12x4xf32>
    return %4 : tensor<1x12x4xf32>
  }
}

//--- g_batch_1_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x3x4xf32>) -> (tensor<1x24x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<1x3x4xf32> -> tensor<8x3x4xf32>
    %1 = tp.wait %0 : tensor<8x3x4xf32> -> tensor<8x3x4xf32>
    %2 = tp.reshape %1 : tensor<8x3x4xf32> -> tensor<1x24x4xf32>
    %3 = tp.map relu(%2) : (tensor<1x24x4xf32>) -> tensor<1x24x4xf32>
    return %3 : tensor<1x24x4xf32>
  }
}

//--- h_two_dims_in_front_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 2 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x1x3x4xf32>) -> (tensor<1x1x24x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<1x1x3x4xf32> -> tensor<8x1x3x4xf32>
    %1 = tp.wait %0 : tensor<8x1x3x4xf32> -> tensor<8x1x3x4xf32>
    %2 = tp.reshape %1 : tensor<8x1x3x4xf32> -> tensor<1x1x24x4xf32>
    %3 = tp.map relu(%2) : (tensor<1x1x24x4xf32>) -> tensor<1x1x24x4xf32>
    return %3 : tensor<1x1x24x4xf32>
  }
}

//--- i_of_a_view_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<1x3x4xf32>) -> (tensor<1x24x4xf32>) {
    %0 = tp.reshape %x0 : tensor<1x3x4xf32> -> tensor<3x4xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<3x4xf32> -> tensor<24x4xf32>
    %2 = tp.wait %1 : tensor<24x4xf32> -> tensor<24x4xf32>
    %3 = tp.reshape %2 : tensor<24x4xf32> -> tensor<1x24x4xf32>
    %4 = tp.map relu(%3) : (tensor<1x24x4xf32>) -> tensor<1x24x4xf32>
    return %4 : tensor<1x24x4xf32>
  }
}
