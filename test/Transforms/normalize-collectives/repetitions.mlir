// A collective of the same value as the collective before it is removed.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.after.mlir --passes=normalize-collectives && cat $f.after.mlir; done | FileCheck %s

//--- a_waited_for.mlir
// CHECK: applied ({{.*}}): removed: it repeats tp.all_gather, whose result its readers read instead
// CHECK: applied ({{.*}}): removed: it repeats tp.all_gather, whose result its readers read instead
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_gather %arg0 gather_axis 0
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[A]]
// CHECK-NEXT: %[[X:.*]] = tp.map relu(%[[W]])
// CHECK-NEXT: %[[Y:.*]] = tp.map exp(%[[W]])
// CHECK-NEXT: %[[Z:.*]] = tp.map sin(%[[W]])
// CHECK-NEXT: return %[[X]], %[[Y]], %[[Z]]
module {
  func.func @main(%x: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.map relu(%1) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %3 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %4 = tp.wait %3 : tensor<8x6xf32> -> tensor<8x6xf32>
    %5 = tp.map exp(%4) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %6 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %7 = tp.wait %6 : tensor<8x6xf32> -> tensor<8x6xf32>
    %8 = tp.map sin(%7) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %2, %5, %8 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
  }
}

// Equal once both are recognized along dim 1.
//--- b_along_another_dim.mlir
// CHECK-COUNT-2: recognized as an all_gather along dim 1
// CHECK: removed: it repeats tp.all_gather
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather {{.*}} gather_axis 1
// CHECK-NOT: = tp.all_gather
// CHECK: return
module {
  func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.slice %0 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %2 = tp.slice %0 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.concat %1, %2 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %4 = tp.map relu(%3) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %5 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %6 = tp.slice %5 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %5 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %8 = tp.concat %6, %7 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %9 = tp.map exp(%8) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %4, %9 : tensor<4x12xf32>, tensor<4x12xf32>
  }
}

// Not only all_gathers.
//--- c_all_reduce.mlir
// CHECK: removed: it repeats tp.all_reduce
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.all_reduce sum %arg0
// CHECK-NEXT: %[[B:.*]] = tp.map relu(%[[A]])
// CHECK-NEXT: return %[[A]], %[[B]]
module {
  func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %1 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = tp.map relu(%1) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %0, %2 : tensor<4x6xf32>, tensor<4x6xf32>
  }
}

// Gathered again for the backward pass, so that the value can be freed.
//--- d_another_one_between.mlir
// CHECK: removed: it repeats tp.all_gather
// CHECK: refused ({{.*}}): kept: the result of tp.all_gather is the same, but tp.all_reduce comes between; the value would occupy memory until here
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: = tp.all_gather
// CHECK-NOT: = tp.all_gather
// CHECK: return
module {
  func.func @main(%x: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<4x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %2 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %3 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %4 = tp.map relu(%3) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %0, %2, %4, %1 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<4x6xf32>
  }
}

//--- e_waited_for_later.mlir
// CHECK: kept: the result of tp.all_gather is the same, but is waited for later
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: = tp.all_gather
module {
  func.func @main(%x: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %2 = tp.wait %1 : tensor<8x6xf32> -> tensor<8x6xf32>
    %3 = tp.map exp(%2) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %4 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    return %3, %4 : tensor<8x6xf32>, tensor<8x6xf32>
  }
}

// Different, of which there is nothing to say: operands, dims, groups and reductions.
//--- f_different.mlir
// CHECK-NOT: repeats
// CHECK-NOT: kept
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: = tp.all_gather
// CHECK-COUNT-2: tp.all_reduce
module {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<4x12xf32>, tensor<8x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.all_gather %y gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %2 = tp.all_gather %y gather_axis 1 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x12xf32>
    %3 = tp.all_gather %x gather_axis 0 group <"1", [1, 0]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %4 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %5 = tp.all_reduce max %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    return %0, %1, %2, %3, %4, %5 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<4x12xf32>, tensor<8x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
  }
}

// A write between the two ends what is known.
//--- g_write_between.mlir
// CHECK-NOT: repeats
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: = tp.all_gather
module {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<4x6xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.map relu(%y) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tp.all_reduce sum %1 group <"0", [0, 1]> in_place : tensor<4x6xf32> -> tensor<4x6xf32>
    %3 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    return %0, %3, %2 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<4x6xf32>
  }
}

// A caller that writes into one output does not expect another one to change. A product is
// memory of its own.
//--- h_both_returned.mlir
// CHECK: removed: it repeats tp.all_gather
// CHECK: refused ({{.*}}): kept: the result of tp.all_gather is the same, but both are returned, and a caller may write into one of them
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: = tp.all_gather
// CHECK-NOT: = tp.all_gather
// CHECK: return
module {
  func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x5xf32>) -> (tensor<8x6xf32>, tensor<48xf32>, tensor<8x5xf32>) {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %2 = tp.reshape %1 : tensor<8x6xf32> -> tensor<48xf32>
    %3 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<8x6xf32>
    %4 = tp.matmul %3, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    return %0, %2, %4 : tensor<8x6xf32>, tensor<48xf32>, tensor<8x5xf32>
  }
}
