// A concatenation that reassembles a gathered tensor in its original order is removed.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s

//--- a_shards_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<8x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %5 = tp.map relu(%4) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %5 : tensor<8x6xf32>
  }
}

//--- b_half_shards_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<8x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
    %7 = tp.map relu(%6) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %7 : tensor<8x6xf32>
  }
}

//--- c_all_at_once_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<8x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<8x6xf32>
    %3 = tp.concat %2 dim 0 : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %4 = tp.map relu(%3) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %4 : tensor<8x6xf32>
  }
}

//--- d_other_readers_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
// CHECK-NEXT: tp.map neg(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %5 = tp.map relu(%4) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %6 = tp.map neg(%1) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %5, %6 : tensor<8x6xf32>, tensor<8x6xf32>
  }
}

//--- e_shards_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<16x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<16x6xf32>
    %7 = tp.map relu(%6) : (tensor<16x6xf32>) -> tensor<16x6xf32>
    return %7 : tensor<16x6xf32>
  }
}

//--- f_half_shards_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<16x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<16x6xf32>
    %11 = tp.map relu(%10) : (tensor<16x6xf32>) -> tensor<16x6xf32>
    return %11 : tensor<16x6xf32>
  }
}

//--- g_all_at_once_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<16x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<16x6xf32>
    %3 = tp.concat %2 dim 0 : (tensor<16x6xf32>) -> tensor<16x6xf32>
    %4 = tp.map relu(%3) : (tensor<16x6xf32>) -> tensor<16x6xf32>
    return %4 : tensor<16x6xf32>
  }
}

//--- h_other_readers_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
// CHECK-NEXT: tp.map neg(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<16x6xf32>, tensor<16x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<16x6xf32>
    %7 = tp.map relu(%6) : (tensor<16x6xf32>) -> tensor<16x6xf32>
    %8 = tp.map neg(%1) : (tensor<16x6xf32>) -> tensor<16x6xf32>
    return %7, %8 : tensor<16x6xf32>, tensor<16x6xf32>
  }
}

//--- i_shards_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<32x6xf32>) {
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
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<32x6xf32>
    %11 = tp.map relu(%10) : (tensor<32x6xf32>) -> tensor<32x6xf32>
    return %11 : tensor<32x6xf32>
  }
}

//--- j_half_shards_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<32x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %10 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %11 = tp.slice %1 dim 0 start 18 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %12 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %13 = tp.slice %1 dim 0 start 22 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %14 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %15 = tp.slice %1 dim 0 start 26 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %16 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %17 = tp.slice %1 dim 0 start 30 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %18 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17 dim 0 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<32x6xf32>
    %19 = tp.map relu(%18) : (tensor<32x6xf32>) -> tensor<32x6xf32>
    return %19 : tensor<32x6xf32>
  }
}

//--- k_all_at_once_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<32x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<32x6xf32>
    %3 = tp.concat %2 dim 0 : (tensor<32x6xf32>) -> tensor<32x6xf32>
    %4 = tp.map relu(%3) : (tensor<32x6xf32>) -> tensor<32x6xf32>
    return %4 : tensor<32x6xf32>
  }
}

//--- l_other_readers_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: tp.map relu(%[[W]])
// CHECK-NEXT: tp.map neg(%[[W]])
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<32x6xf32>, tensor<32x6xf32>) {
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
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<32x6xf32>
    %11 = tp.map relu(%10) : (tensor<32x6xf32>) -> tensor<32x6xf32>
    %12 = tp.map neg(%1) : (tensor<32x6xf32>) -> tensor<32x6xf32>
    return %11, %12 : tensor<32x6xf32>, tensor<32x6xf32>
  }
}

// Both are returned: a caller may write into one of them.
//--- returned.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = tp.wait
// CHECK: %[[C:.*]] = tp.concat
// CHECK: return %[[C]], %[[W]]
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    return %4, %1 : tensor<8x6xf32>, tensor<8x6xf32>
  }
}
