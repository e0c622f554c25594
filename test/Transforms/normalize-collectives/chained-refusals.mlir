// Collectives over several axes of a mesh, one behind the other, that are not one
// over a group that the program has, and why.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --passes=normalize-collectives | grep -v "^proof"; done | FileCheck %s --implicit-check-not=applied
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives -o $f.after && diff $f.plain $f.after || exit 1; done
// Stated on the command line, the group is known.
// RUN: commute opt %t/a_no_group_4.mlir -o - --quiet --group=all=0-3 --passes=normalize-collectives | FileCheck %s --check-prefix=STATED
// STATED: tp.all_gather %arg0 gather_axis 0 group <"all", [0, 1, 2, 3]>
// STATED-NOT: = tp.all_gather

//--- a_no_group_4.mlir
// CHECK: refused {{.*}}not merged with tp.all_gather: together they are an all_gather along dim 0 over the ranks 0-3, but no group of the program has these members in this order; declare one with --group=NAME=0-3
module {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- b_other_order_4.mlir
// CHECK: refused {{.*}}an all_gather along dim 0 over the ranks 0,2,1,3, but no group of the program has these members in this order (group 'world' has them in the order 0-3); declare one with --group=NAME=0,2,1,3
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- c_other_reader_4.mlir
// CHECK: refused {{.*}}together they are an all_gather along dim 0 over group 'world', but tp.map uses an intermediate value
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>, tensor<6x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    %2 = tp.map relu(%0) : (tensor<6x5xf32>) -> tensor<6x5xf32>
    return %1, %2 : tensor<12x5xf32>, tensor<6x5xf32>
  }
}

//--- d_two_dims_4.mlir
// CHECK: refused {{.*}}not merged with tp.all_gather: cannot prove that the result concatenates the shards of the ranks along any dim
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<6x10xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 1 group <"dp", [[0, 2], [1, 3]]> : tensor<6x5xf32> -> tensor<6x10xf32>
    return %1 : tensor<6x10xf32>
  }
}

//--- e_swapped_between_4.mlir
// CHECK: refused {{.*}}over the ranks 1,0,3,2, but no group of the program has these members in this order (group 'world' has them in the order 0-3); declare one with --group=NAME=1,0,3,2
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.slice %0 dim 0 start 3 step 1 : tensor<6x5xf32> -> tensor<3x5xf32>
    %2 = tp.slice %0 dim 0 start 0 step 1 : tensor<6x5xf32> -> tensor<3x5xf32>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<6x5xf32>
    %4 = tp.all_gather %3 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %4 : tensor<12x5xf32>
  }
}

//--- f_mirrored_axis_4.mlir
// CHECK: refused {{.*}}they do not form an all_gather along dim 0: ranks 0 and 1 would order the members of their group differently
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"mirrored", [[0, 2], [3, 1]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- g_same_ranks_twice_4.mlir
// CHECK: refused {{.*}}they do not form an all_gather along dim 0: rank 0 would be in a group twice
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"swapped", [[1, 0], [3, 2]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- h_two_planes_8.mlir
// CHECK: refused {{.*}}over the ranks 0-3/4-7, but no group of the program has these members in this order; declare one with --group=NAME=0-3/4-7
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"a", [[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"b", [[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

//--- i_slice_between_4.mlir
// CHECK: refused {{.*}}not merged with tp.all_gather: cannot prove that the result concatenates the shards
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<3x5xf32>) -> (tensor<12x5xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.slice %0 dim 0 start 0 step 1 : tensor<6x5xf32> -> tensor<3x5xf32>
    %2 = tp.slice %0 dim 0 start 0 step 1 : tensor<6x5xf32> -> tensor<3x5xf32>
    %3 = tp.concat %1, %2 dim 0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<6x5xf32>
    %4 = tp.all_gather %3 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %4 : tensor<12x5xf32>
  }
}

//--- j_scatter_without_group_4.mlir
// CHECK: refused {{.*}}together they are a reduce_scatter along dim 0 over the ranks 0-3, but no group of the program has these members in this order; declare one with --group=NAME=0-3
module {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}

//--- k_scatter_other_order_4.mlir
// CHECK: refused {{.*}}together they are a reduce_scatter along dim 0 over the ranks 0,2,1,3, but no group of the program has these members in this order (group 'world' has them in the order 0-3
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}

//--- l_scatter_reductions_4.mlir
// CHECK: refused {{.*}}their reductions differ: max and sum
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter max %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}

//--- m_scatter_other_reader_4.mlir
// CHECK: refused {{.*}}together they are a reduce_scatter along dim 0 over group 'world', but tp.map uses an intermediate value
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>, tensor<4x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    %2 = tp.map relu(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %1, %2 : tensor<2x6xf32>, tensor<4x6xf32>
  }
}

//--- n_scatter_two_dims_4.mlir
// CHECK: refused {{.*}}cannot prove that each rank gets one block along any dim
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<4x3xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 1 group <"tp", [[0, 1], [2, 3]]> : tensor<4x6xf32> -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}

//--- o_scatter_mirrored_axis_4.mlir
// CHECK: refused {{.*}}they do not form a reduce_scatter along dim 0: ranks {{.*}} would sum different blocks
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3]>]} {
  func.func @main(%x0: tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %0 = tp.reduce_scatter sum %x0 scatter_axis 0 group <"mirrored", [[0, 2], [3, 1]]> : tensor<8x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    return %1 : tensor<2x6xf32>
  }
}
