// Equal functions of one value are computed once, and collectives of equal values are one.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.after.mlir --passes=normalize-collectives && cat $f.after.mlir; done | FileCheck %s
// RUN: commute opt %t/a_casts.mlir -o %t/fused.mlir --policy=always && FileCheck %s --input-file=%t/fused.mlir --check-prefix=FUSED

// The gather then moves behind the one cast, and is fused with all products.
// FUSED: %[[SHARD:.*]] = tp.cast %arg0 : tensor<4x6xf32> -> tensor<4x6xbf16>
// FUSED-NEXT: %{{.*}}:3 = tp.all_gather_matmul %[[SHARD]], rhs(%arg1, %arg2, %arg3) gather_axis 0

// Autocast converts a gathered value once for each product.
//--- a_casts.mlir
// CHECK-COUNT-2: applied ({{.*}}): removed: it repeats tp.cast, whose result its readers read instead
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: %[[C:.*]] = tp.cast %[[W]]
// CHECK-NEXT: %[[Q:.*]] = tp.matmul %[[C]], %arg1
// CHECK-NEXT: %[[K:.*]] = tp.matmul %[[C]], %arg2
// CHECK-NEXT: %[[V:.*]] = tp.matmul %[[C]], %arg3
// CHECK-NEXT: return %[[Q]], %[[K]], %[[V]]
module {
  func.func @main(%x: tensor<4x6xf32>, %q: tensor<6x8xbf16>, %k: tensor<6x2xbf16>, %v: tensor<6x2xbf16>) -> (tensor<8x8xbf16>, tensor<8x2xbf16>, tensor<8x2xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.cast %1 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %3 = tp.matmul %2, %q : (tensor<8x6xbf16>, tensor<6x8xbf16>) -> tensor<8x8xbf16>
    %4 = tp.cast %1 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %5 = tp.matmul %4, %k : (tensor<8x6xbf16>, tensor<6x2xbf16>) -> tensor<8x2xbf16>
    %6 = tp.cast %1 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %7 = tp.matmul %6, %v : (tensor<8x6xbf16>, tensor<6x2xbf16>) -> tensor<8x2xbf16>
    return %3, %5, %7 : tensor<8x8xbf16>, tensor<8x2xbf16>, tensor<8x2xbf16>
  }
}

// The gathers repeat each other, and then the casts, each of a view of its own.
//--- b_gathers_and_casts.mlir
// CHECK: removed: it repeats tp.all_gather
// CHECK: removed: it repeats tp.cast
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: = tp.all_gather
// CHECK-COUNT-1: = tp.cast
// CHECK-NOT: = tp.all_gather
// CHECK-NOT: = tp.cast
// CHECK: return
module {
  func.func @main(%x: tensor<2x2x6xf32>, %q: tensor<6x8xbf16>, %k: tensor<6x2xbf16>) -> (tensor<8x8xbf16>, tensor<8x2xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<2x2x6xf32> -> tensor<4x2x6xf32>
    %1 = tp.wait %0 : tensor<4x2x6xf32> -> tensor<4x2x6xf32>
    %2 = tp.reshape %1 : tensor<4x2x6xf32> -> tensor<8x6xf32>
    %3 = tp.cast %2 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %4 = tp.matmul %3, %q : (tensor<8x6xbf16>, tensor<6x8xbf16>) -> tensor<8x8xbf16>
    %5 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<2x2x6xf32> -> tensor<4x2x6xf32>
    %6 = tp.wait %5 : tensor<4x2x6xf32> -> tensor<4x2x6xf32>
    %7 = tp.reshape %6 : tensor<4x2x6xf32> -> tensor<8x6xf32>
    %8 = tp.cast %7 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %9 = tp.matmul %8, %k : (tensor<8x6xbf16>, tensor<6x2xbf16>) -> tensor<8x2xbf16>
    return %4, %9 : tensor<8x8xbf16>, tensor<8x2xbf16>
  }
}

// The gathers are of different values that are the same function of one value; a scale is
// a constant of its own each time.
//--- c_casts_before_gathers.mlir
// CHECK: removed: it repeats tp.all_gather
// CHECK-LABEL: func.func @main
// CHECK: tp.map mul
// CHECK-NEXT: tp.cast
// CHECK-NEXT: %[[G:.*]] = tp.all_gather
// CHECK-NEXT: %[[Q:.*]] = tp.matmul %[[G]], %arg1
// CHECK-NEXT: %[[K:.*]] = tp.matmul %[[G]], %arg2
// CHECK-NEXT: return %[[Q]], %[[K]]
module {
  func.func @main(%x: tensor<4x6xf32>, %q: tensor<6x8xbf16>, %k: tensor<6x2xbf16>) -> (tensor<8x8xbf16>, tensor<8x2xbf16>) {
    %0 = tp.constant 5.0e-01 : f64 -> tensor<f32>
    %1 = tp.map mul(%x, %0) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    %2 = tp.cast %1 : tensor<4x6xf32> -> tensor<4x6xbf16>
    %3 = tp.all_gather %2 gather_axis 0 group <"0", [0, 1]> : tensor<4x6xbf16> -> tensor<8x6xbf16>
    %4 = tp.matmul %3, %q : (tensor<8x6xbf16>, tensor<6x8xbf16>) -> tensor<8x8xbf16>
    %5 = tp.constant 5.0e-01 : f64 -> tensor<f32>
    %6 = tp.map mul(%x, %5) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    %7 = tp.cast %6 : tensor<4x6xf32> -> tensor<4x6xbf16>
    %8 = tp.all_gather %7 gather_axis 0 group <"0", [0, 1]> : tensor<4x6xbf16> -> tensor<8x6xbf16>
    %9 = tp.matmul %8, %k : (tensor<8x6xbf16>, tensor<6x2xbf16>) -> tensor<8x2xbf16>
    return %4, %9 : tensor<8x8xbf16>, tensor<8x2xbf16>
  }
}

// Computed again for the backward pass, so that the value can be freed; of the two that
// come after it, one is enough.
//--- d_another_one_between.mlir
// CHECK: removed: it repeats tp.cast
// CHECK: refused ({{.*}}): kept: the result of tp.cast is the same, but tp.all_reduce comes between; the value would occupy memory until here
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: = tp.cast
// CHECK-NOT: = tp.cast
// CHECK: return
module {
  func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x6xbf16>) -> (tensor<8x6xbf16>, tensor<8x6xbf16>, tensor<8x6xbf16>, tensor<4x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %2 = tp.matmul %1, %w : (tensor<8x6xbf16>, tensor<6x6xbf16>) -> tensor<8x6xbf16>
    %3 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %4 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %5 = tp.matmul %4, %w : (tensor<8x6xbf16>, tensor<6x6xbf16>) -> tensor<8x6xbf16>
    %6 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %7 = tp.map relu(%6) : (tensor<8x6xbf16>) -> tensor<8x6xbf16>
    return %2, %5, %7, %3 : tensor<8x6xbf16>, tensor<8x6xbf16>, tensor<8x6xbf16>, tensor<4x6xf32>
  }
}

// A caller that writes into one output does not expect another one to change.
//--- e_both_returned.mlir
// CHECK: refused ({{.*}}): kept: the result of tp.cast is the same, but both are returned, and a caller may write into one of them
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: = tp.cast
module {
  func.func @main(%x: tensor<4x6xf32>) -> (tensor<8x6xbf16>, tensor<48xbf16>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %2 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %3 = tp.reshape %2 : tensor<8x6xbf16> -> tensor<48xbf16>
    return %1, %3 : tensor<8x6xbf16>, tensor<48xbf16>
  }
}

// Of these there is nothing to say: other types, functions of two values, and functions of
// what no collective has a part in.
//--- f_different.mlir
// CHECK-NOT: repeats
// CHECK-NOT: kept
// CHECK-LABEL: func.func @main
// CHECK: tp.cast
// CHECK: tp.cast
// CHECK: tp.map relu
// CHECK: tp.map relu
// CHECK: tp.map add
// CHECK: tp.map add
module {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<8x6xf32>) -> (tensor<8x6xbf16>, tensor<8x6xf16>, tensor<8x1xf32>, tensor<8x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %2 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xf16>
    %3 = tp.map relu(%y) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %4 = tp.map relu(%y) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %5 = tp.map add(%0, %3) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %6 = tp.map add(%0, %3) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %7 = tp.reduce sum %5 dims [1] keep_dims : tensor<8x6xf32> -> tensor<8x1xf32>
    %8 = tp.map mul(%6, %4) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    return %1, %2, %7, %8 : tensor<8x6xbf16>, tensor<8x6xf16>, tensor<8x1xf32>, tensor<8x6xf32>
  }
}

// A write between the two ends what is known.
//--- g_write_between.mlir
// CHECK-NOT: repeats
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: = tp.cast
module {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %w: tensor<6x6xbf16>) -> (tensor<8x6xbf16>, tensor<8x6xbf16>, tensor<4x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %2 = tp.matmul %1, %w : (tensor<8x6xbf16>, tensor<6x6xbf16>) -> tensor<8x6xbf16>
    %3 = tp.map relu(%y) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %4 = tp.all_reduce sum %3 group <"0", [0, 1]> in_place : tensor<4x6xf32> -> tensor<4x6xf32>
    %5 = tp.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
    %6 = tp.matmul %5, %w : (tensor<8x6xbf16>, tensor<6x6xbf16>) -> tensor<8x6xbf16>
    return %2, %6, %4 : tensor<8x6xbf16>, tensor<8x6xbf16>, tensor<4x6xf32>
  }
}
