// split, or slice and narrow, with cat: an all_gather along the dim of the cat.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_last_dim_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x6xf32>) -> (tensor<2x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x6xf32> -> tensor<4x6xf32>
    %1 = tp.wait %0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x12xf32>
    %5 = tp.map relu(%4) : (tensor<2x12xf32>) -> tensor<2x12xf32>
    return %5 : tensor<2x12xf32>
  }
}

//--- b_middle_dim_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x3x4xf32>) -> (tensor<2x6x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x3x4xf32> -> tensor<4x3x4xf32>
    %1 = tp.wait %0 : tensor<4x3x4xf32> -> tensor<4x3x4xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x3x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x3x4xf32> -> tensor<2x3x4xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
    %5 = tp.map relu(%4) : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    return %5 : tensor<2x6x4xf32>
  }
}

//--- c_contraction_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 2 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: {{.*}} = tp.matmul %[[W]],
module {
  func.func @main(%x0: tensor<2x3x4xf32>, %x1: tensor<8x5xf32>) -> (tensor<2x3x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x3x4xf32> -> tensor<4x3x4xf32>
    %1 = tp.wait %0 : tensor<4x3x4xf32> -> tensor<4x3x4xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x3x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x3x4xf32> -> tensor<2x3x4xf32>
    %4 = tp.concat %2, %3 dim 2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
    %5 = tp.matmul %4, %x1 : (tensor<2x3x8xf32>, tensor<8x5xf32>) -> tensor<2x3x5xf32>
    return %5 : tensor<2x3x5xf32>
  }
}

//--- d_last_dim_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x6xf32>) -> (tensor<2x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x24xf32>
    %7 = tp.map relu(%6) : (tensor<2x24xf32>) -> tensor<2x24xf32>
    return %7 : tensor<2x24xf32>
  }
}

//--- e_middle_dim_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x3x4xf32>) -> (tensor<2x12x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x3x4xf32> -> tensor<8x3x4xf32>
    %1 = tp.wait %0 : tensor<8x3x4xf32> -> tensor<8x3x4xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x12x4xf32>
    %7 = tp.map relu(%6) : (tensor<2x12x4xf32>) -> tensor<2x12x4xf32>
    return %7 : tensor<2x12x4xf32>
  }
}

//--- f_contraction_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 2 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: {{.*}} = tp.matmul %[[W]],
module {
  func.func @main(%x0: tensor<2x3x4xf32>, %x1: tensor<16x5xf32>) -> (tensor<2x3x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x3x4xf32> -> tensor<8x3x4xf32>
    %1 = tp.wait %0 : tensor<8x3x4xf32> -> tensor<8x3x4xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x3x4xf32> -> tensor<2x3x4xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x16xf32>
    %7 = tp.matmul %6, %x1 : (tensor<2x3x16xf32>, tensor<16x5xf32>) -> tensor<2x3x5xf32>
    return %7 : tensor<2x3x5xf32>
  }
}

//--- g_last_dim_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x6xf32>) -> (tensor<2x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<2x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x48xf32>
    %11 = tp.map relu(%10) : (tensor<2x48xf32>) -> tensor<2x48xf32>
    return %11 : tensor<2x48xf32>
  }
}

//--- h_middle_dim_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<2x3x4xf32>) -> (tensor<2x24x4xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<2x3x4xf32> -> tensor<16x3x4xf32>
    %1 = tp.wait %0 : tensor<16x3x4xf32> -> tensor<16x3x4xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x24x4xf32>
    %11 = tp.map relu(%10) : (tensor<2x24x4xf32>) -> tensor<2x24x4xf32>
    return %11 : tensor<2x24x4xf32>
  }
}

//--- i_contraction_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 2 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: {{.*}} = tp.matmul %[[W]],
module {
  func.func @main(%x0: tensor<2x3x4xf32>, %x1: tensor<32x5xf32>) -> (tensor<2x3x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<2x3x4xf32> -> tensor<16x3x4xf32>
    %1 = tp.wait %0 : tensor<16x3x4xf32> -> tensor<16x3x4xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x3x4xf32> -> tensor<2x3x4xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x32xf32>
    %11 = tp.matmul %10, %x1 : (tensor<2x3x32xf32>, tensor<32x5xf32>) -> tensor<2x3x5xf32>
    return %11 : tensor<2x3x5xf32>
  }
}
