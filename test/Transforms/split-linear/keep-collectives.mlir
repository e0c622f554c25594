// Before autograd, collectives along another dim are left to later passes,
// which may fuse them with the products.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes='split-linear{keep-collectives=true}'; done | FileCheck %s

//--- a_gathered.mlir
// CHECK: refused {{.*}}: not split: it is part of a collective along another dim, tp.all_gather, with which a later pass may fuse the product
module {
  func.func @main(%x: tensor<4x2xf32>, %w: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %g = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x2xf32> -> tensor<8x2xf32>
    %a = tp.slice %g dim 0 start 0 step 1 : tensor<8x2xf32> -> tensor<4x2xf32>
    %b = tp.slice %g dim 0 start 4 step 1 : tensor<8x2xf32> -> tensor<4x2xf32>
    %h = tp.concat %a, %b dim 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
    %y = tp.matmul %h, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

//--- b_gathered_and_more.mlir
// Together with another value, the parts are no collective.
// CHECK: applied {{.*}}: split into a sum of
module {
  func.func @main(%x: tensor<4x2xf32>, %z: tensor<4x2xf32>, %w: tensor<6x8xf32>) -> tensor<4x8xf32> {
    %g = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x2xf32> -> tensor<8x2xf32>
    %a = tp.slice %g dim 0 start 0 step 1 : tensor<8x2xf32> -> tensor<4x2xf32>
    %b = tp.slice %g dim 0 start 4 step 1 : tensor<8x2xf32> -> tensor<4x2xf32>
    %h = tp.concat %a, %z, %b dim 1 : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
    %y = tp.matmul %h, %w : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}

//--- c_scattered.mlir
// CHECK: refused {{.*}}: not split: it is part of a collective along another dim, tp.reduce_scatter, with which a later pass may fuse the product
module {
  func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x8xf32>) -> tensor<4x4xf32> {
    %y = tp.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %a = tp.slice %y dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %b = tp.slice %y dim 1 start 4 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %c = tp.concat %a, %b dim 0 : (tensor<4x4xf32, #tp.layout<strides = [8, 1]>>, tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<8x4xf32>
    %s = tp.reduce_scatter sum %c scatter_axis 0 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<4x4xf32>
    return %s : tensor<4x4xf32>
  }
}

//--- d_sliced.mlir
// CHECK: applied {{.*}}: reduced to 1 product that computes only the slice that is used
module {
  func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x8xf32>) -> tensor<4x4xf32> {
    %y = tp.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %a = tp.slice %y dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
    %c = tp.copy %a : tensor<4x4xf32, #tp.layout<strides = [8, 1]>> -> tensor<4x4xf32>
    %s = tp.reduce_scatter sum %c scatter_axis 0 group <"0", [0, 1]> : tensor<4x4xf32> -> tensor<2x4xf32>
    %g = tp.all_gather %s gather_axis 0 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<4x4xf32>
    return %g : tensor<4x4xf32>
  }
}
