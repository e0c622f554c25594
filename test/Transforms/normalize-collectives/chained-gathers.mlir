// All_gathers over several axes of a mesh that together are one.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives || exit 1; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_rows_2_of_1_and_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"tp"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<6x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"self", [[0], [1]]> : tensor<3x5xf32> -> tensor<3x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"tp", [0, 1]> : tensor<3x5xf32> -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}

//--- b_rows_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- c_waits_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.wait %0 : tensor<6x5xf32> -> tensor<6x5xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<6x5xf32> -> tensor<12x5xf32>
    %3 = tp.wait %2 : tensor<12x5xf32> -> tensor<12x5xf32>
    return %3 : tensor<12x5xf32>
  }
}

//--- d_other_order_put_right_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.wait %0 : tensor<6x5xf32> -> tensor<6x5xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<6x5xf32> -> tensor<12x5xf32>
    %3 = tp.wait %2 : tensor<12x5xf32> -> tensor<12x5xf32>
    %4 = tp.reshape %3 : tensor<12x5xf32> -> tensor<2x2x3x5xf32>
    %5 = tp.permute %4 [1, 0, 2, 3] : tensor<2x2x3x5xf32> -> tensor<2x2x3x5xf32, #tp.layout<strides = [15, 30, 5, 1]>>
    %6 = tp.copy %5 : tensor<2x2x3x5xf32, #tp.layout<strides = [15, 30, 5, 1]>> -> tensor<2x2x3x5xf32>
    %7 = tp.reshape %6 : tensor<2x2x3x5xf32> -> tensor<12x5xf32>
    %8 = tp.map relu(%7) : (tensor<12x5xf32>) -> tensor<12x5xf32>
    return %8 : tensor<12x5xf32>
  }
}

//--- e_group_of_that_order_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"columns first"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>, #tp.group<"columns first", [0, 2, 1, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- f_columns_each_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 1 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<3x20xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.wait %0 : tensor<6x5xf32> -> tensor<6x5xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<6x5xf32> -> tensor<3x5xf32>
    %3 = tp.slice %1 dim 0 start 3 step 1 : tensor<6x5xf32> -> tensor<3x5xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x10xf32>
    %5 = tp.all_gather %4 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<3x10xf32> -> tensor<6x10xf32>
    %6 = tp.wait %5 : tensor<6x10xf32> -> tensor<6x10xf32>
    %7 = tp.slice %6 dim 0 start 0 step 1 : tensor<6x10xf32> -> tensor<3x10xf32>
    %8 = tp.slice %6 dim 0 start 3 step 1 : tensor<6x10xf32> -> tensor<3x10xf32>
    %9 = tp.concat %7, %8 dim 1 : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x20xf32>
    %10 = tp.map relu(%9) : (tensor<3x20xf32>) -> tensor<3x20xf32>
    return %10 : tensor<3x20xf32>
  }
}

//--- g_columns_at_last_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 1 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<3x20xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.wait %0 : tensor<6x5xf32> -> tensor<6x5xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<6x5xf32> -> tensor<12x5xf32>
    %3 = tp.wait %2 : tensor<12x5xf32> -> tensor<12x5xf32>
    %4 = tp.slice %3 dim 0 start 0 step 1 : tensor<12x5xf32> -> tensor<3x5xf32>
    %5 = tp.slice %3 dim 0 start 3 step 1 : tensor<12x5xf32> -> tensor<3x5xf32>
    %6 = tp.slice %3 dim 0 start 6 step 1 : tensor<12x5xf32> -> tensor<3x5xf32>
    %7 = tp.slice %3 dim 0 start 9 step 1 : tensor<12x5xf32> -> tensor<3x5xf32>
    %8 = tp.concat %4, %5, %6, %7 dim 1 : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x20xf32>
    %9 = tp.map relu(%8) : (tensor<3x20xf32>) -> tensor<3x20xf32>
    return %9 : tensor<3x20xf32>
  }
}

//--- h_views_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.all_gather {{.*}} group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<1x3x5xf32>) -> (tensor<1x12x5xf32>) {
    %0 = tp.reshape %x0 : tensor<1x3x5xf32> -> tensor<3x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> async : tensor<3x5xf32> -> tensor<6x5xf32>
    %2 = tp.wait %1 : tensor<6x5xf32> -> tensor<6x5xf32>
    %3 = tp.reshape %2 : tensor<6x5xf32> -> tensor<1x6x5xf32>
    %4 = tp.reshape %3 : tensor<1x6x5xf32> -> tensor<6x5xf32>
    %5 = tp.all_gather %4 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> async : tensor<6x5xf32> -> tensor<12x5xf32>
    %6 = tp.wait %5 : tensor<12x5xf32> -> tensor<12x5xf32>
    %7 = tp.reshape %6 : tensor<12x5xf32> -> tensor<1x12x5xf32>
    %8 = tp.map relu(%7) : (tensor<1x12x5xf32>) -> tensor<1x12x5xf32>
    return %8 : tensor<1x12x5xf32>
  }
}

//--- i_rows_8_of_4_and_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<24x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<3x5xf32> -> tensor<12x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<12x5xf32> -> tensor<24x5xf32>
    return %1 : tensor<24x5xf32>
  }
}

//--- j_rows_8_of_2_and_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<24x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<6x5xf32> -> tensor<24x5xf32>
    return %1 : tensor<24x5xf32>
  }
}

//--- k_three_axes_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<24x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"a", [[0, 1], [2, 3], [4, 5], [6, 7]]> async : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.wait %0 : tensor<6x5xf32> -> tensor<6x5xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"b", [[0, 2], [1, 3], [4, 6], [5, 7]]> async : tensor<6x5xf32> -> tensor<12x5xf32>
    %3 = tp.wait %2 : tensor<12x5xf32> -> tensor<12x5xf32>
    %4 = tp.all_gather %3 gather_axis 0 group <"c", [[0, 4], [1, 5], [2, 6], [3, 7]]> async : tensor<12x5xf32> -> tensor<24x5xf32>
    %5 = tp.wait %4 : tensor<24x5xf32> -> tensor<24x5xf32>
    return %5 : tensor<24x5xf32>
  }
}

//--- l_three_axes_by_two_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>, #tp.group<"half", [[0, 1, 2, 3], [4, 5, 6, 7]]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<24x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"a", [[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"b", [[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"c", [[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<12x5xf32> -> tensor<24x5xf32>
    return %2 : tensor<24x5xf32>
  }
}

//--- m_group_of_another_op_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    %2 = tp.all_reduce sum %1 group <"world", [0, 1, 2, 3]> : tensor<12x5xf32> -> tensor<12x5xf32>
    return %2 : tensor<12x5xf32>
  }
}

//--- n_two_meshes_of_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"plane"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"plane", [[0, 1, 2, 3], [4, 5, 6, 7]]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"a", [[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"b", [[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- o_symbolic_rows_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}}gather_axis 0 group <"world"
// CHECK-NOT: = tp.all_gather 
// CHECK: return
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x: tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>) -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 4, 5]>> {
    %0 = tp.all_gather %x gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>> -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 2, 5]>>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 2, 5]>> -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 4, 5]>>
    return %1 : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 4, 5]>>
  }
}
