// Ops that reduce rows run on shards of them, and an all_reduce completes their result.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.after.mlir --passes=sequence-parallel && cat $f.after.mlir; done | FileCheck %s
// RUN: commute opt %t/a_gradient_of_a_norm.mlir -o %t/exact.mlir --passes=sequence-parallel --exact-rounding | FileCheck %s --check-prefix=EXACT

// The gradient of a norm's weight is a sum over the rows: its operands are not gathered.
//--- a_gradient_of_a_norm.mlir
// CHECK: sequence parallelism along dim 0 (8192 rows over 8 ranks of group '0'): 1 all_reduces replaced by reduce_scatters, 4 ops run on shards, 1 values gathered, 1 reductions of rows completed by an all_reduce;
// CHECK: proof: equivalent on 8 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum
// CHECK: %[[SUM:.*]] = tp.reduce sum {{.*}} dims [0] : tensor<1024x4096xf32> -> tensor<4096xf32>
// CHECK-NEXT: %[[GRADIENT:.*]] = tp.all_reduce sum %[[SUM]]
// CHECK: return {{.*}}, %[[GRADIENT]]
// EXACT-NOT: reductions of rows
// EXACT: 3 ops run on shards, 2 values gathered;
module {
  func.func @main(%p: tensor<8192x4096xf32>, %x: tensor<1024x4096xf32>, %w: tensor<4096x512xbf16>) -> (tensor<8192x512xbf16>, tensor<4096xf32>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8192x4096xf32> -> tensor<8192x4096xf32>
    %gathered = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<1024x4096xf32> -> tensor<8192x4096xf32>
    %1 = tp.map tanh(%gathered) : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
    %2 = tp.map mul(%0, %1) : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
    %3 = tp.reduce sum %2 dims [0] : tensor<8192x4096xf32> -> tensor<4096xf32>
    %4 = tp.cast %0 : tensor<8192x4096xf32> -> tensor<8192x4096xbf16>
    %5 = tp.matmul %4, %w : (tensor<8192x4096xbf16>, tensor<4096x512xbf16>) -> tensor<8192x512xbf16>
    return %5, %3 : tensor<8192x512xbf16>, tensor<4096xf32>
  }
}

// A maximum of maxima, and a product that is contracted along the rows.
//--- b_maximum_and_product.mlir
// CHECK: applied ({{.*}}): sequence parallelism along dim 0 {{.*}}, 0 values gathered, 2 reductions of rows completed by an all_reduce;
// CHECK: proof: equivalent on 8 ranks
// CHECK-LABEL: func.func @main
// CHECK: %[[MAX:.*]] = tp.reduce max {{.*}} : tensor<1024x4094xf32>
// CHECK-NEXT: tp.all_reduce max %[[MAX]]
// CHECK: %[[PRODUCT:.*]] = tp.matmul {{.*}} : (tensor<4094x1024xf32{{.*}}>, tensor<1024x4xf32>)
// CHECK-NEXT: tp.all_reduce sum %[[PRODUCT]]
module {
  func.func @main(%p: tensor<8192x4094xf32>, %q: tensor<1024x4xf32>) -> (tensor<4094xf32>, tensor<4094x4xf32>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8192x4094xf32> -> tensor<8192x4094xf32>
    %1 = tp.map exp(%0) : (tensor<8192x4094xf32>) -> tensor<8192x4094xf32>
    %2 = tp.all_gather %q gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<1024x4xf32> -> tensor<8192x4xf32>
    %3 = tp.reduce max %1 dims [0] : tensor<8192x4094xf32> -> tensor<4094xf32>
    %4 = tp.permute %1 [1, 0] : tensor<8192x4094xf32> -> tensor<4094x8192xf32, #tp.layout<strides = [1, 4094]>>
    %5 = tp.matmul %4, %2 : (tensor<4094x8192xf32, #tp.layout<strides = [1, 4094]>>, tensor<8192x4xf32>) -> tensor<4094x4xf32>
    return %3, %5 : tensor<4094xf32>, tensor<4094x4xf32>
  }
}

// Not every backend computes means. The bias of a product would be added on every rank, and
// truth values have no all_reduce.
//--- c_kept.mlir
// CHECK-NOT: reductions of rows
// CHECK: proof: equivalent on 8 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce avg {{.*}} : tensor<8192x4094xf32>
// CHECK: tp.matmul {{.*}} bias {{.*}} : (tensor<4094x8192xf32
// CHECK: tp.reduce max {{.*}} : tensor<8192x4094xi1>
module {
  func.func @main(%p: tensor<8192x4094xf32>, %q: tensor<1024x4xf32>, %b: tensor<4xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> (tensor<4094xf32>, tensor<4094x4xf32>, tensor<4094xi1>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8192x4094xf32> -> tensor<8192x4094xf32>
    %1 = tp.map exp(%0) : (tensor<8192x4094xf32>) -> tensor<8192x4094xf32>
    %2 = tp.map tanh(%1) : (tensor<8192x4094xf32>) -> tensor<8192x4094xf32>
    %3 = tp.map sin(%2) : (tensor<8192x4094xf32>) -> tensor<8192x4094xf32>
    %4 = tp.all_gather %q gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<1024x4xf32> -> tensor<8192x4xf32>
    %5 = tp.reduce avg %3 dims [0] : tensor<8192x4094xf32> -> tensor<4094xf32>
    %6 = tp.permute %3 [1, 0] : tensor<8192x4094xf32> -> tensor<4094x8192xf32, #tp.layout<strides = [1, 4094]>>
    %7 = tp.matmul %6, %4 bias %b : (tensor<4094x8192xf32, #tp.layout<strides = [1, 4094]>>, tensor<8192x4xf32>, tensor<4xf32>) -> tensor<4094x4xf32>
    %8 = tp.constant 0.5 : f64 -> tensor<f32>
    %9 = tp.map greater(%3, %8) : (tensor<8192x4094xf32>, tensor<f32>) -> tensor<8192x4094xi1>
    %10 = tp.reduce max %9 dims [0] : tensor<8192x4094xi1> -> tensor<4094xi1>
    return %5, %7, %10 : tensor<4094xf32>, tensor<4094x4xf32>, tensor<4094xi1>
  }
}
