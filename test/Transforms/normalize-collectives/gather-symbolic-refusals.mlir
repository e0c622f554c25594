// Symbolic sizes in the wrong order.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --passes=normalize-collectives; done | FileCheck %s --implicit-check-not=applied

//--- a_reversed_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: cannot prove that the concatenation tp.concat concatenates the shards along any dim
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, %w: tensor<8x3xf32>) -> (tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>>
    %s0 = tp.slice %q dim 0 start 0 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s1 = tp.slice %q dim 0 start 1 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 2, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %g = tp.concat %s1, %s0 dim 1 : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>
    %r = tp.matmul %g, %w : (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>, tensor<8x3xf32>) -> tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
    return %r : tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
  }
}

//--- b_reversed_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: cannot prove that the concatenation tp.concat concatenates the shards along any dim
module {
  func.func @main(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, %w: tensor<16x3xf32>) -> (tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>>
    %q = tp.wait %h : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>>
    %s0 = tp.slice %q dim 0 start 0 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s1 = tp.slice %q dim 0 start 1 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s2 = tp.slice %q dim 0 start 2 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %s3 = tp.slice %q dim 0 start 3 blocks step 1 : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0 * 4, 4]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>
    %g = tp.concat %s3, %s2, %s1, %s0 dim 1 : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>
    %r = tp.matmul %g, %w : (tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>, tensor<16x3xf32>) -> tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
    return %r : tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
  }
}

//--- c_reversed_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: cannot prove that the concatenation tp.concat concatenates the shards along any dim
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
    %g = tp.concat %s7, %s6, %s5, %s4, %s3, %s2, %s1, %s0 dim 1 : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>) -> tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>
    %r = tp.matmul %g, %w : (tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>, tensor<32x3xf32>) -> tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
    return %r : tensor<?x3xf32, #tp.layout<[s0] sizes = [s0, 3]>>
  }
}
