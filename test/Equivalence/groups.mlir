// Sub-groups, groups of unequal size in one program, and collectives that some
// rank cannot take part in.
// RUN: split-file %s %t
// RUN: commute verify %t/sub-groups.mlir %t/sub-groups-scattered.mlir | FileCheck %s --check-prefix=SAME
// RUN: commute verify %t/sub-groups.mlir %t/sub-groups-scattered.mlir --real-sizes | FileCheck %s --check-prefix=SAME
// RUN: not commute verify %t/sub-groups.mlir %t/sub-groups-reordered.mlir | FileCheck %s --check-prefix=REORDERED
// RUN: not commute verify %t/all-three.mlir %t/two-of-three.mlir | FileCheck %s --check-prefix=MEMBER
// RUN: sh %t/expect-2.sh %t/two-of-three.mlir %t/all-three.mlir | FileCheck %s --check-prefix=FIRST
// RUN: not commute verify %t/equal-splits.mlir %t/unequal-splits.mlir | FileCheck %s --check-prefix=SPLITS

// SAME: equivalent on 6 ranks
// REORDERED: different: output 0 differs on rank {{[0-5]}} at index

// MEMBER: different: rank 2 runs a collective of a group that it is not in
// MEMBER: different: the second program cannot run: {{.*}}rank 2 runs a collective of group "1", of which it is not a member

// The program that others are measured by has to run.
// FIRST: error: {{.*}}rank 2 runs a collective of group "1", of which it is not a member
// FIRST-NOT: exit code

// SPLITS: different: the second program cannot run: {{.*}}expected 1 rows from member 0 of the group, but received 3

//--- expect-2.sh
commute verify "$@" 2>&1
test $? -eq 2 || echo "the exit code is not 2"

//--- sub-groups.mlir
#pairs = #tp.group<"pairs", [[0, 3], [1, 4], [2, 5]]>
#triples = #tp.group<"triples", [[0, 1, 2], [3, 4, 5]]>
module attributes {tp.groups = [#pairs, #triples]} {
  func.func @main(%x: tensor<12x6xf32> {tp.name = "x", tp.placements = {"pairs" = #tp.placement<varying>, "triples" = #tp.placement<varying>}}) -> tensor<12x6xf32> {
    %0 = tp.all_reduce sum %x group <"pairs", [[0, 3], [1, 4], [2, 5]]> : tensor<12x6xf32> -> tensor<12x6xf32>
    %1 = tp.all_reduce sum %0 group <"triples", [[0, 1, 2], [3, 4, 5]]> : tensor<12x6xf32> -> tensor<12x6xf32>
    return %1 : tensor<12x6xf32>
  }
}

//--- sub-groups-scattered.mlir
#pairs = #tp.group<"pairs", [[0, 3], [1, 4], [2, 5]]>
#triples = #tp.group<"triples", [[0, 1, 2], [3, 4, 5]]>
module attributes {tp.groups = [#pairs, #triples]} {
  func.func @main(%x: tensor<12x6xf32> {tp.name = "x", tp.placements = {"pairs" = #tp.placement<varying>, "triples" = #tp.placement<varying>}}) -> tensor<12x6xf32> {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"triples", [[0, 1, 2], [3, 4, 5]]> : tensor<12x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"pairs", [[0, 3], [1, 4], [2, 5]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"pairs", [[0, 3], [1, 4], [2, 5]]> : tensor<2x6xf32> -> tensor<4x6xf32>
    %3 = tp.all_gather %2 gather_axis 0 group <"triples", [[0, 1, 2], [3, 4, 5]]> : tensor<4x6xf32> -> tensor<12x6xf32>
    return %3 : tensor<12x6xf32>
  }
}

//--- sub-groups-reordered.mlir
#pairs = #tp.group<"pairs", [[0, 3], [1, 4], [2, 5]]>
#triples = #tp.group<"triples", [[0, 1, 2], [3, 4, 5]]>
module attributes {tp.groups = [#pairs, #triples]} {
  func.func @main(%x: tensor<12x6xf32> {tp.name = "x", tp.placements = {"pairs" = #tp.placement<varying>, "triples" = #tp.placement<varying>}}) -> tensor<12x6xf32> {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"triples", [[0, 1, 2], [3, 4, 5]]> : tensor<12x6xf32> -> tensor<4x6xf32>
    %1 = tp.reduce_scatter sum %0 scatter_axis 0 group <"pairs", [[0, 3], [1, 4], [2, 5]]> : tensor<4x6xf32> -> tensor<2x6xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"triples", [[0, 1, 2], [3, 4, 5]]> : tensor<2x6xf32> -> tensor<6x6xf32>
    %3 = tp.all_gather %2 gather_axis 0 group <"pairs", [[0, 3], [1, 4], [2, 5]]> : tensor<6x6xf32> -> tensor<12x6xf32>
    return %3 : tensor<12x6xf32>
  }
}

//--- all-three.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1, 2]>, #tp.group<"1", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1, 2]> : tensor<4x6xf32> -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}

//--- two-of-three.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1, 2]>, #tp.group<"1", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
    %0 = tp.all_reduce sum %x group <"1", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}

//--- equal-splits.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
    %0 = tp.all_to_all %x output_splits [2, 2] input_splits [2, 2] group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}

//--- unequal-splits.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
    %0 = tp.all_to_all %x output_splits [1, 3] input_splits [3, 1] group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
