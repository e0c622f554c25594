// Sizes that are symbols: what holds for all of them is proven.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_blocks_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.slice
// CHECK: return
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, %w: tensor<8x3xf32>) -> (tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>
    %s0 = tp.slice %q dim 0 start 0 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s1 = tp.slice %q dim 0 start 1 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %g = tp.concat %s0, %s1 dim 1 : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
    %r = tp.matmul %g, %w : (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>, tensor<8x3xf32>) -> tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
    return %r : tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
  }
}

//--- b_permuted_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>
    %c = tp.reshape %q : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<2x?x4xf32, #tp.layout<[s0] sizes = [2, s0, 4]>>
    %p = tp.permute %c [1, 0, 2] : tensor<2x?x4xf32, #tp.layout<[s0] sizes = [2, s0, 4]>> -> tensor<?x2x4xf32, #tp.layout<[s0] sizes = [s0, 2, 4], strides = [4, s0 * 4, 1]>>
    %d = tp.copy %p : tensor<?x2x4xf32, #tp.layout<[s0] sizes = [s0, 2, 4], strides = [4, s0 * 4, 1]>> -> tensor<?x2x4xf32, #tp.layout<[s0] sizes = [s0, 2, 4]>>
    %g = tp.reshape %d : tensor<?x2x4xf32, #tp.layout<[s0] sizes = [s0, 2, 4]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
    return %g : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
  }
}

//--- c_blocks_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.slice
// CHECK: return
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, %w: tensor<16x3xf32>) -> (tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>>
    %s0 = tp.slice %q dim 0 start 0 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s1 = tp.slice %q dim 0 start 1 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s2 = tp.slice %q dim 0 start 2 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s3 = tp.slice %q dim 0 start 3 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %g = tp.concat %s0, %s1, %s2, %s3 dim 1 : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>
    %r = tp.matmul %g, %w : (tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>, tensor<16x3xf32>) -> tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
    return %r : tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
  }
}

//--- d_permuted_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> (tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>>
    %c = tp.reshape %q : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<4x?x4xf32, #tp.layout<[s0] sizes = [4, s0, 4]>>
    %p = tp.permute %c [1, 0, 2] : tensor<4x?x4xf32, #tp.layout<[s0] sizes = [4, s0, 4]>> -> tensor<?x4x4xf32, #tp.layout<[s0] sizes = [s0, 4, 4], strides = [4, s0 * 4, 1]>>
    %d = tp.copy %p : tensor<?x4x4xf32, #tp.layout<[s0] sizes = [s0, 4, 4], strides = [4, s0 * 4, 1]>> -> tensor<?x4x4xf32, #tp.layout<[s0] sizes = [s0, 4, 4]>>
    %g = tp.reshape %d : tensor<?x4x4xf32, #tp.layout<[s0] sizes = [s0, 4, 4]>> -> tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>
    return %g : tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>
  }
}

//--- e_blocks_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.slice
// CHECK: return
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, %w: tensor<32x3xf32>) -> (tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>>
    %s0 = tp.slice %q dim 0 start 0 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s1 = tp.slice %q dim 0 start 1 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s2 = tp.slice %q dim 0 start 2 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s3 = tp.slice %q dim 0 start 3 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s4 = tp.slice %q dim 0 start 4 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s5 = tp.slice %q dim 0 start 5 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s6 = tp.slice %q dim 0 start 6 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s7 = tp.slice %q dim 0 start 7 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %g = tp.concat %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7 dim 1 : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>
    %r = tp.matmul %g, %w : (tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>, tensor<32x3xf32>) -> tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
    return %r : tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
  }
}

//--- f_permuted_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 1 
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: return %[[W]]
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> (tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>>
    %c = tp.reshape %q : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 8, 4]>> -> tensor<8x?x4xf32, #tp.layout<[s0] sizes = [8, s0, 4]>>
    %p = tp.permute %c [1, 0, 2] : tensor<8x?x4xf32, #tp.layout<[s0] sizes = [8, s0, 4]>> -> tensor<?x8x4xf32, #tp.layout<[s0] sizes = [s0, 8, 4], strides = [4, s0 * 4, 1]>>
    %d = tp.copy %p : tensor<?x8x4xf32, #tp.layout<[s0] sizes = [s0, 8, 4], strides = [4, s0 * 4, 1]>> -> tensor<?x8x4xf32, #tp.layout<[s0] sizes = [s0, 8, 4]>>
    %g = tp.reshape %d : tensor<?x8x4xf32, #tp.layout<[s0] sizes = [s0, 8, 4]>> -> tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>
    return %g : tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>
  }
}
