// A slice behind the gather stays one; where it cuts nothing it is part of the spelling.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_cuts_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: %[[T:.*]] = tp.slice %[[W]] dim 1 start 0 step 1 : tensor<2x12xf32> -> tensor<2x11xf32
// CHECK-NEXT: tp.matmul %[[T]],
module {
  func.func @main(%x0: tensor<2x6xf32>, %x1: tensor<11x3xf32>) -> (tensor<2x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x6xf32> -> tensor<4x6xf32>
    %1 = tp.wait %0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x12xf32>
    %5 = tp.slice %4 dim 1 start 0 step 1 : tensor<2x12xf32> -> tensor<2x11xf32, #tp.layout<strides = [12, 1]>>
    %6 = tp.matmul %5, %x1 : (tensor<2x11xf32, #tp.layout<strides = [12, 1]>>, tensor<11x3xf32>) -> tensor<2x3xf32>
    return %6 : tensor<2x3xf32>
  }
}

//--- b_cuts_nothing_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK: tp.map relu
module {
  func.func @main(%x0: tensor<2x6xf32>) -> (tensor<2x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x6xf32> -> tensor<4x6xf32>
    %1 = tp.wait %0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x12xf32>
    %5 = tp.slice %4 dim 1 start 0 step 1 : tensor<2x12xf32> -> tensor<2x12xf32>
    %6 = tp.map relu(%5) : (tensor<2x12xf32>) -> tensor<2x12xf32>
    return %6 : tensor<2x12xf32>
  }
}

//--- c_cuts_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: %[[T:.*]] = tp.slice %[[W]] dim 1 start 0 step 1 : tensor<2x24xf32> -> tensor<2x23xf32
// CHECK-NEXT: tp.matmul %[[T]],
module {
  func.func @main(%x0: tensor<2x6xf32>, %x1: tensor<23x3xf32>) -> (tensor<2x3xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x24xf32>
    %7 = tp.slice %6 dim 1 start 0 step 1 : tensor<2x24xf32> -> tensor<2x23xf32, #tp.layout<strides = [24, 1]>>
    %8 = tp.matmul %7, %x1 : (tensor<2x23xf32, #tp.layout<strides = [24, 1]>>, tensor<23x3xf32>) -> tensor<2x3xf32>
    return %8 : tensor<2x3xf32>
  }
}

//--- d_cuts_nothing_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK: tp.map relu
module {
  func.func @main(%x0: tensor<2x6xf32>) -> (tensor<2x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x24xf32>
    %7 = tp.slice %6 dim 1 start 0 step 1 : tensor<2x24xf32> -> tensor<2x24xf32>
    %8 = tp.map relu(%7) : (tensor<2x24xf32>) -> tensor<2x24xf32>
    return %8 : tensor<2x24xf32>
  }
}

//--- e_cuts_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: %[[T:.*]] = tp.slice %[[W]] dim 1 start 0 step 1 : tensor<2x48xf32> -> tensor<2x47xf32
// CHECK-NEXT: tp.matmul %[[T]],
module {
  func.func @main(%x0: tensor<2x6xf32>, %x1: tensor<47x3xf32>) -> (tensor<2x3xf32>) {
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
    %11 = tp.slice %10 dim 1 start 0 step 1 : tensor<2x48xf32> -> tensor<2x47xf32, #tp.layout<strides = [48, 1]>>
    %12 = tp.matmul %11, %x1 : (tensor<2x47xf32, #tp.layout<strides = [48, 1]>>, tensor<47x3xf32>) -> tensor<2x3xf32>
    return %12 : tensor<2x3xf32>
  }
}

//--- f_cuts_nothing_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK: tp.map relu
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
    %11 = tp.slice %10 dim 1 start 0 step 1 : tensor<2x48xf32> -> tensor<2x48xf32>
    %12 = tp.map relu(%11) : (tensor<2x48xf32>) -> tensor<2x48xf32>
    return %12 : tensor<2x48xf32>
  }
}
