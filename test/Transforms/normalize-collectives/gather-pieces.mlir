// Pieces finer than a shard, and slices of several shards, that cover it all in order.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_half_shards_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.concat %2, %3 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %7 = tp.concat %5, %6 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %8 = tp.concat %4, %7 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %9 = tp.map relu(%8) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %9 : tensor<4x12xf32>
  }
}

//--- b_slices_of_slices_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<8x6xf32>
    %3 = tp.slice %2 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %2 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %5 = tp.concat %3, %4 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %6 = tp.map relu(%5) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %6 : tensor<4x12xf32>
  }
}

//--- c_half_shards_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %4 = tp.concat %2, %3 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %7 = tp.concat %5, %6 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %10 = tp.concat %8, %9 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %11 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %12 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %13 = tp.concat %11, %12 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %14 = tp.concat %4, %7, %10, %13 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %15 = tp.map relu(%14) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %15 : tensor<4x24xf32>
  }
}

//--- d_slices_of_slices_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<8x6xf32>
    %3 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<8x6xf32>
    %4 = tp.slice %2 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %2 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %4, %5 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %7 = tp.slice %3 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %3 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %9 = tp.concat %7, %8 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %10 = tp.concat %6, %9 dim 1 : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x24xf32>
    %11 = tp.map relu(%10) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %11 : tensor<4x24xf32>
  }
}

//--- e_half_shards_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %4 = tp.concat %2, %3 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 6 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %7 = tp.concat %5, %6 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 10 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %10 = tp.concat %8, %9 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %11 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %12 = tp.slice %1 dim 0 start 14 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %13 = tp.concat %11, %12 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %14 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %15 = tp.slice %1 dim 0 start 18 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %16 = tp.concat %14, %15 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %17 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %18 = tp.slice %1 dim 0 start 22 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %19 = tp.concat %17, %18 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %20 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %21 = tp.slice %1 dim 0 start 26 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %22 = tp.concat %20, %21 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %23 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %24 = tp.slice %1 dim 0 start 30 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %25 = tp.concat %23, %24 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %26 = tp.concat %4, %7, %10, %13, %16, %19, %22, %25 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %27 = tp.map relu(%26) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %27 : tensor<4x48xf32>
  }
}

//--- f_slices_of_slices_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.concat
// CHECK-NOT: = tp.slice
// CHECK: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %3 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %4 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %5 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %6 = tp.slice %2 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %2 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %8 = tp.concat %6, %7 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %9 = tp.slice %3 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %10 = tp.slice %3 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %11 = tp.concat %9, %10 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %12 = tp.slice %4 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %13 = tp.slice %4 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %14 = tp.concat %12, %13 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %15 = tp.slice %5 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %16 = tp.slice %5 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %17 = tp.concat %15, %16 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %18 = tp.concat %8, %11, %14, %17 dim 1 : (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x48xf32>
    %19 = tp.map relu(%18) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %19 : tensor<4x48xf32>
  }
}
