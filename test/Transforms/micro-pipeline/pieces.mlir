// Shards that are put together in another order, or only in part: the law still
// holds, for the rows of a product, or for a contraction with the other operand's
// rows in the same order; and blocks that are scattered in another order.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=normalize-collectives,micro-pipeline || exit 1; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=micro-pipeline && commute opt $f.once.mlir -o - --quiet --policy=always --passes=micro-pipeline || exit 1; done | FileCheck %s
// By the price, none of these small ones pays.
// RUN: for f in %t/*_2.mlir; do commute opt $f -o - --quiet --passes=micro-pipeline | grep -c "_matmul\|matmul_" && exit 1; done; true

//--- a_contraction_permuted_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %3, %2 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.matmul %4, %x1 : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
    return %5 : tensor<4x8xf32>
  }
}

//--- a_contraction_permuted_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<24x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %4, %2, %5, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %7 = tp.matmul %6, %x1 : (tensor<4x24xf32>, tensor<24x8xf32>) -> tensor<4x8xf32>
    return %7 : tensor<4x8xf32>
  }
}

//--- a_contraction_permuted_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<48x8xf32>) -> (tensor<4x8xf32>) {
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
    %10 = tp.concat %5, %3, %9, %7, %2, %4, %8, %6 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %11 = tp.matmul %10, %x1 : (tensor<4x48xf32>, tensor<48x8xf32>) -> tensor<4x8xf32>
    return %11 : tensor<4x8xf32>
  }
}

//--- b_rows_permuted_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<2x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x6x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x3x6xf32> -> tensor<4x3x6xf32>
    %1 = tp.wait %0 : tensor<4x3x6xf32> -> tensor<4x3x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x3x6xf32> -> tensor<2x3x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x3x6xf32> -> tensor<2x3x6xf32>
    %4 = tp.concat %3, %2 dim 1 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x6x6xf32>
    %5 = tp.matmul %4, %x1 : (tensor<2x6x6xf32>, tensor<6x8xf32>) -> tensor<2x6x8xf32>
    return %5 : tensor<2x6x8xf32>
  }
}

//--- b_rows_permuted_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<2x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x12x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x3x6xf32> -> tensor<8x3x6xf32>
    %1 = tp.wait %0 : tensor<8x3x6xf32> -> tensor<8x3x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %6 = tp.concat %4, %2, %5, %3 dim 1 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x12x6xf32>
    %7 = tp.matmul %6, %x1 : (tensor<2x12x6xf32>, tensor<6x8xf32>) -> tensor<2x12x8xf32>
    return %7 : tensor<2x12x8xf32>
  }
}

//--- b_rows_permuted_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<2x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x24x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<2x3x6xf32> -> tensor<16x3x6xf32>
    %1 = tp.wait %0 : tensor<16x3x6xf32> -> tensor<16x3x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %10 = tp.concat %5, %3, %9, %7, %2, %4, %8, %6 dim 1 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x24x6xf32>
    %11 = tp.matmul %10, %x1 : (tensor<2x24x6xf32>, tensor<6x8xf32>) -> tensor<2x24x8xf32>
    return %11 : tensor<2x24x8xf32>
  }
}

//--- c_rows_trimmed_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 0
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>, %x2: tensor<6x10xf32>) -> (tensor<7x8xf32>, tensor<7x10xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<7x6xf32>
    %3 = tp.matmul %2, %x1 : (tensor<7x6xf32>, tensor<6x8xf32>) -> tensor<7x8xf32>
    %4 = tp.matmul %2, %x2 : (tensor<7x6xf32>, tensor<6x10xf32>) -> tensor<7x10xf32>
    return %3, %4 : tensor<7x8xf32>, tensor<7x10xf32>
  }
}

//--- c_rows_trimmed_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 0
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>, %x2: tensor<6x10xf32>) -> (tensor<15x8xf32>, tensor<15x10xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<15x6xf32>
    %3 = tp.matmul %2, %x1 : (tensor<15x6xf32>, tensor<6x8xf32>) -> tensor<15x8xf32>
    %4 = tp.matmul %2, %x2 : (tensor<15x6xf32>, tensor<6x10xf32>) -> tensor<15x10xf32>
    return %3, %4 : tensor<15x8xf32>, tensor<15x10xf32>
  }
}

//--- c_rows_trimmed_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 0
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>, %x2: tensor<6x10xf32>) -> (tensor<31x8xf32>, tensor<31x10xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<31x6xf32>
    %3 = tp.matmul %2, %x1 : (tensor<31x6xf32>, tensor<6x8xf32>) -> tensor<31x8xf32>
    %4 = tp.matmul %2, %x2 : (tensor<31x6xf32>, tensor<6x10xf32>) -> tensor<31x10xf32>
    return %3, %4 : tensor<31x8xf32>, tensor<31x10xf32>
  }
}

//--- d_rows_trimmed_inside_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<2x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x5x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<2x3x6xf32> -> tensor<4x3x6xf32>
    %1 = tp.wait %0 : tensor<4x3x6xf32> -> tensor<4x3x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<4x3x6xf32> -> tensor<2x3x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<4x3x6xf32> -> tensor<2x3x6xf32>
    %4 = tp.slice %3 dim 1 start 0 step 1 : tensor<2x3x6xf32> -> tensor<2x2x6xf32, #tp.layout<strides = [18, 6, 1]>>
    %5 = tp.concat %2, %4 dim 1 : (tensor<2x3x6xf32>, tensor<2x2x6xf32, #tp.layout<strides = [18, 6, 1]>>) -> tensor<2x5x6xf32>
    %6 = tp.matmul %5, %x1 : (tensor<2x5x6xf32>, tensor<6x8xf32>) -> tensor<2x5x8xf32>
    return %6 : tensor<2x5x8xf32>
  }
}

//--- d_rows_trimmed_inside_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<2x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x11x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x3x6xf32> -> tensor<8x3x6xf32>
    %1 = tp.wait %0 : tensor<8x3x6xf32> -> tensor<8x3x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %6 = tp.slice %5 dim 1 start 0 step 1 : tensor<2x3x6xf32> -> tensor<2x2x6xf32, #tp.layout<strides = [18, 6, 1]>>
    %7 = tp.concat %2, %3, %4, %6 dim 1 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x2x6xf32, #tp.layout<strides = [18, 6, 1]>>) -> tensor<2x11x6xf32>
    %8 = tp.matmul %7, %x1 : (tensor<2x11x6xf32>, tensor<6x8xf32>) -> tensor<2x11x8xf32>
    return %8 : tensor<2x11x8xf32>
  }
}

//--- d_rows_trimmed_inside_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<2x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x23x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<2x3x6xf32> -> tensor<16x3x6xf32>
    %1 = tp.wait %0 : tensor<16x3x6xf32> -> tensor<16x3x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x3x6xf32> -> tensor<2x3x6xf32>
    %10 = tp.slice %9 dim 1 start 0 step 1 : tensor<2x3x6xf32> -> tensor<2x2x6xf32, #tp.layout<strides = [18, 6, 1]>>
    %11 = tp.concat %2, %3, %4, %5, %6, %7, %8, %10 dim 1 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x2x6xf32, #tp.layout<strides = [18, 6, 1]>>) -> tensor<2x23x6xf32>
    %12 = tp.matmul %11, %x1 : (tensor<2x23x6xf32>, tensor<6x8xf32>) -> tensor<2x23x8xf32>
    return %12 : tensor<2x23x8xf32>
  }
}

//--- e_halves_of_shards_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<12x8xf32>) -> (tensor<4x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %2 dim 1 start 0 step 1 : tensor<4x6xf32> -> tensor<4x3xf32, #tp.layout<strides = [6, 1]>>
    %5 = tp.slice %2 dim 1 start 3 step 1 : tensor<4x6xf32> -> tensor<4x3xf32, #tp.layout<strides = [6, 1]>>
    %6 = tp.slice %3 dim 1 start 0 step 1 : tensor<4x6xf32> -> tensor<4x3xf32, #tp.layout<strides = [6, 1]>>
    %7 = tp.slice %3 dim 1 start 3 step 1 : tensor<4x6xf32> -> tensor<4x3xf32, #tp.layout<strides = [6, 1]>>
    %8 = tp.concat %6, %5, %4, %7 dim 1 : (tensor<4x3xf32, #tp.layout<strides = [6, 1]>>, tensor<4x3xf32, #tp.layout<strides = [6, 1]>>, tensor<4x3xf32, #tp.layout<strides = [6, 1]>>, tensor<4x3xf32, #tp.layout<strides = [6, 1]>>) -> tensor<4x12xf32>
    %9 = tp.matmul %8, %x1 : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
    return %9 : tensor<4x8xf32>
  }
}

//--- f_rows_twice_and_never_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<2x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<2x9x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x3x6xf32> -> tensor<8x3x6xf32>
    %1 = tp.wait %0 : tensor<8x3x6xf32> -> tensor<8x3x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x3x6xf32> -> tensor<2x3x6xf32>
    %6 = tp.concat %3, %3, %5 dim 1 : (tensor<2x3x6xf32>, tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x9x6xf32>
    %7 = tp.matmul %6, %x1 : (tensor<2x9x6xf32>, tensor<6x8xf32>) -> tensor<2x9x8xf32>
    return %7 : tensor<2x9x8xf32>
  }
}

//--- g_rows_of_dim_0_swapped_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 0
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<8x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %3, %2 dim 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %5 = tp.matmul %4, %x1 : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    return %5 : tensor<8x8xf32>
  }
}

//--- h_rows_of_one_batch_trimmed_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 0
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<1x3x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<5x8xf32>) {
    %0 = tp.all_gather %x0 gather_axis 1 group <"0", [0, 1]> async : tensor<1x3x6xf32> -> tensor<1x6x6xf32>
    %1 = tp.wait %0 : tensor<1x6x6xf32> -> tensor<1x6x6xf32>
    %2 = tp.slice %1 dim 1 start 0 step 1 : tensor<1x6x6xf32> -> tensor<1x5x6xf32, #tp.layout<strides = [36, 6, 1]>>
    %3 = tp.reshape %2 : tensor<1x5x6xf32, #tp.layout<strides = [36, 6, 1]>> -> tensor<5x6xf32>
    %4 = tp.matmul %3, %x1 : (tensor<5x6xf32>, tensor<6x8xf32>) -> tensor<5x8xf32>
    return %4 : tensor<5x8xf32>
  }
}

//--- i_pieces_that_others_read_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 0
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<7x8xf32>, tensor<7x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<7x6xf32>
    %3 = tp.matmul %2, %x1 : (tensor<7x6xf32>, tensor<6x8xf32>) -> tensor<7x8xf32>
    %4 = tp.map relu(%2) : (tensor<7x6xf32>) -> tensor<7x6xf32>
    return %3, %4 : tensor<7x8xf32>, tensor<7x6xf32>
  }
}

//--- j_columns_scattered_permuted_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 1
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x6xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x6xf32> -> tensor<4x3xf32, #tp.layout<strides = [6, 1]>>
    %2 = tp.slice %0 dim 1 start 3 step 1 : tensor<4x6xf32> -> tensor<4x3xf32, #tp.layout<strides = [6, 1]>>
    %3 = tp.concat %2, %1 dim 0 : (tensor<4x3xf32, #tp.layout<strides = [6, 1]>>, tensor<4x3xf32, #tp.layout<strides = [6, 1]>>) -> tensor<8x3xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<8x3xf32> -> tensor<4x3xf32>
    %5 = tp.wait %4 : tensor<4x3xf32> -> tensor<4x3xf32>
    return %5 : tensor<4x3xf32>
  }
}

//--- j_columns_scattered_permuted_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 1
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x12xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x12xf32>) -> tensor<4x12xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %2 = tp.slice %0 dim 1 start 3 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %3 = tp.slice %0 dim 1 start 6 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %4 = tp.slice %0 dim 1 start 9 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %5 = tp.concat %3, %1, %4, %2 dim 0 : (tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>) -> tensor<16x3xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<16x3xf32> -> tensor<4x3xf32>
    %7 = tp.wait %6 : tensor<4x3xf32> -> tensor<4x3xf32>
    return %7 : tensor<4x3xf32>
  }
}

//--- j_columns_scattered_permuted_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 1
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x24xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x24xf32>) -> tensor<4x24xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %2 = tp.slice %0 dim 1 start 3 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %3 = tp.slice %0 dim 1 start 6 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %4 = tp.slice %0 dim 1 start 9 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %5 = tp.slice %0 dim 1 start 12 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %6 = tp.slice %0 dim 1 start 15 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %7 = tp.slice %0 dim 1 start 18 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %8 = tp.slice %0 dim 1 start 21 step 1 : tensor<4x24xf32> -> tensor<4x3xf32, #tp.layout<strides = [24, 1]>>
    %9 = tp.concat %4, %2, %8, %6, %1, %3, %7, %5 dim 0 : (tensor<4x3xf32, #tp.layout<strides = [24, 1]>>, tensor<4x3xf32, #tp.layout<strides = [24, 1]>>, tensor<4x3xf32, #tp.layout<strides = [24, 1]>>, tensor<4x3xf32, #tp.layout<strides = [24, 1]>>, tensor<4x3xf32, #tp.layout<strides = [24, 1]>>, tensor<4x3xf32, #tp.layout<strides = [24, 1]>>, tensor<4x3xf32, #tp.layout<strides = [24, 1]>>, tensor<4x3xf32, #tp.layout<strides = [24, 1]>>) -> tensor<32x3xf32>
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<32x3xf32> -> tensor<4x3xf32>
    %11 = tp.wait %10 : tensor<4x3xf32> -> tensor<4x3xf32>
    return %11 : tensor<4x3xf32>
  }
}

//--- k_rows_scattered_permuted_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 0
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<6x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<3x8xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<6x6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %1 = tp.slice %0 dim 0 start 0 step 1 : tensor<6x8xf32> -> tensor<3x8xf32>
    %2 = tp.slice %0 dim 0 start 3 step 1 : tensor<6x8xf32> -> tensor<3x8xf32>
    %3 = tp.concat %2, %1 dim 0 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<6x8xf32>
    %4 = tp.reduce_scatter sum %3 scatter_axis 0 group <"0", [0, 1]> async : tensor<6x8xf32> -> tensor<3x8xf32>
    %5 = tp.wait %4 : tensor<3x8xf32> -> tensor<3x8xf32>
    return %5 : tensor<3x8xf32>
  }
}

//--- k_rows_scattered_permuted_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 0
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<12x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<3x8xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<12x6xf32>, tensor<6x8xf32>) -> tensor<12x8xf32>
    %1 = tp.slice %0 dim 0 start 0 step 1 : tensor<12x8xf32> -> tensor<3x8xf32>
    %2 = tp.slice %0 dim 0 start 3 step 1 : tensor<12x8xf32> -> tensor<3x8xf32>
    %3 = tp.slice %0 dim 0 start 6 step 1 : tensor<12x8xf32> -> tensor<3x8xf32>
    %4 = tp.slice %0 dim 0 start 9 step 1 : tensor<12x8xf32> -> tensor<3x8xf32>
    %5 = tp.concat %3, %1, %4, %2 dim 0 : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<12x8xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<12x8xf32> -> tensor<3x8xf32>
    %7 = tp.wait %6 : tensor<3x8xf32> -> tensor<3x8xf32>
    return %7 : tensor<3x8xf32>
  }
}

//--- k_rows_scattered_permuted_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 0
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<24x6xf32>, %x1: tensor<6x8xf32>) -> (tensor<3x8xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<24x6xf32>, tensor<6x8xf32>) -> tensor<24x8xf32>
    %1 = tp.slice %0 dim 0 start 0 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %2 = tp.slice %0 dim 0 start 3 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %3 = tp.slice %0 dim 0 start 6 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %4 = tp.slice %0 dim 0 start 9 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %5 = tp.slice %0 dim 0 start 12 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %6 = tp.slice %0 dim 0 start 15 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %7 = tp.slice %0 dim 0 start 18 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %8 = tp.slice %0 dim 0 start 21 step 1 : tensor<24x8xf32> -> tensor<3x8xf32>
    %9 = tp.concat %4, %2, %8, %6, %1, %3, %7, %5 dim 0 : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<24x8xf32>
    %10 = tp.reduce_scatter sum %9 scatter_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<24x8xf32> -> tensor<3x8xf32>
    %11 = tp.wait %10 : tensor<3x8xf32> -> tensor<3x8xf32>
    return %11 : tensor<3x8xf32>
  }
}

// The blocks of the bias are scattered in the order of the columns' blocks.
//--- l_columns_with_bias_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.matmul_reduce_scatter {{.*}} scatter_axis 1
// CHECK: %[[C:.*]] = tp.concat {{.*}} dim 0 : (tensor<3xf32>
// CHECK: %[[B:.*]] = tp.reduce_scatter sum %[[C]] scatter_axis 0
// CHECK: tp.map add(%[[R]], %[[B]])
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x12xf32>, %x2: tensor<12xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.matmul %x0, %x1 bias %x2 : (tensor<4x6xf32>, tensor<6x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %2 = tp.slice %0 dim 1 start 3 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %3 = tp.slice %0 dim 1 start 6 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %4 = tp.slice %0 dim 1 start 9 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %5 = tp.concat %3, %1, %4, %2 dim 0 : (tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>) -> tensor<16x3xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1, 2, 3]> : tensor<16x3xf32> -> tensor<4x3xf32>
    return %6 : tensor<4x3xf32>
  }
}

//--- m_one_block_for_two_ranks_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 1
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x12xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x12xf32>) -> tensor<4x12xf32>
    %1 = tp.slice %0 dim 1 start 0 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %2 = tp.slice %0 dim 1 start 3 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %3 = tp.slice %0 dim 1 start 6 step 1 : tensor<4x12xf32> -> tensor<4x3xf32, #tp.layout<strides = [12, 1]>>
    %4 = tp.concat %3, %1, %3, %2 dim 0 : (tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>, tensor<4x3xf32, #tp.layout<strides = [12, 1]>>) -> tensor<16x3xf32>
    %5 = tp.reduce_scatter sum %4 scatter_axis 0 group <"0", [0, 1, 2, 3]> : tensor<16x3xf32> -> tensor<4x3xf32>
    return %5 : tensor<4x3xf32>
  }
}

//--- n_sum_of_products_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.matmul_reduce_scatter {{.*}} scatter_axis 1
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<6x8xf32>, %x2: tensor<4x5xf32>, %x3: tensor<5x8xf32>) -> (tensor<4x4xf32>) {
    %0 = tp.matmul %x0, %x1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %1 = tp.matmul %x2, %x3 : (tensor<4x5xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
    %2 = tp.map add(%0, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = tp.slice %2 dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %4 = tp.slice %2 dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %5 = tp.concat %4, %3 dim 0 : (tensor<4x4xf32, #tp.layout<strides = [8, 1]>>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %6 = tp.reduce_scatter sum %5 scatter_axis 0 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<4x4xf32>
    return %6 : tensor<4x4xf32>
  }
}

//--- o_symbolic_rows_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather_matmul {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x: tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>, %w: tensor<12x8xf32>) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>> -> tensor<?x6xf32, #tp.layout<[s0] sizes = [s0 * 2, 6]>>
    %1 = tp.slice %0 dim 0 start 1 blocks step 1 : tensor<?x6xf32, #tp.layout<[s0] sizes = [s0 * 2, 6]>> -> tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>
    %2 = tp.slice %0 dim 0 start 0 blocks step 1 : tensor<?x6xf32, #tp.layout<[s0] sizes = [s0 * 2, 6]>> -> tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>
    %3 = tp.concat %1, %2 dim 1 : (tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>, tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>) -> tensor<?x12xf32, #tp.layout<[s0] sizes = [s0, 12]>>
    %4 = tp.matmul %3, %w : (tensor<?x12xf32, #tp.layout<[s0] sizes = [s0, 12]>>, tensor<12x8xf32>) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
    return %4 : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
  }
}

//--- p_rows_under_other_sizes_2.mlir
// Rows that are cut in two: each rank gets whole rows of the product.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = tp.matmul_reduce_scatter {{.*}} scatter_axis 0
// CHECK: tp.reshape %[[R]]
// CHECK-NOT: = tp.reduce_scatter 
// CHECK-NOT: = tp.matmul 
// CHECK: return
module {
  func.func @main(%x: tensor<8x16xf32>, %a: tensor<16x8xf32>) -> (tensor<8x4xf32>) {
    %0 = tp.matmul %x, %a : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %1 = tp.reshape %0 : tensor<8x8xf32> -> tensor<16x4xf32>
    %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"0", [0, 1]> : tensor<16x4xf32> -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
