// Parts that are gathered along the contraction: each rank multiplies its own
// shard, and one all_reduce adds up what would have been gathered.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=split-linear && commute opt $f.once.mlir -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s

//--- a_one_gather.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.all_gather
// CHECK: %[[W:.*]] = tp.rank_slice %arg1 slice_axis 1
// CHECK: %[[P:.*]] = tp.matmul %arg0, %[[W]] transpose_rhs :
// CHECK: %[[S:.*]] = tp.all_reduce sum %[[P]]
// CHECK: tp.map add(%[[S]], %arg2)
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<8x4xf32>, %w: tensor<5x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}, %c: tensor<5xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<8x5xf32> {
    %x = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<8x8xf32>, tensor<5x8xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- b_two_gathers_and_a_replicated_part.mlir
// One all_reduce for both; the replicated part adds to it.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.all_gather
// CHECK: %[[P:.*]] = tp.matmul %arg0
// CHECK: %[[Q:.*]] = tp.matmul %arg1, {{.*}} bias %[[P]]
// CHECK: %[[S:.*]] = tp.all_reduce sum %[[Q]]
// CHECK: %[[R:.*]] = tp.matmul %arg2, {{.*}} bias %arg4
// CHECK: tp.map add(%[[S]], %[[R]])
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<8x4xf32>, %u: tensor<8x2xf32>, %r: tensor<8x3xf32> {tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<5x15xf32> {tp.placements = {"0" = #tp.placement<replicated>}}, %c: tensor<5xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<8x5xf32> {
    %g = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %h = tp.all_gather %u gather_axis 1 group <"0", [0, 1]> : tensor<8x2xf32> -> tensor<8x4xf32>
    %x = tp.concat %g, %h, %r dim 1 : (tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<8x15xf32>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<8x15xf32>, tensor<5x15xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- c_without_bias.mlir
// The replicated part adds to the sum of the ranks at once.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = tp.all_reduce sum
// CHECK: %[[Y:.*]] = tp.matmul %arg1, {{.*}} bias %[[S]]
// CHECK: return %[[Y]]
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<8x4xf32>, %r: tensor<8x3xf32>, %w: tensor<11x5xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<8x5xf32> {
    %g = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %x = tp.concat %g, %r dim 1 : (tensor<8x8xf32>, tensor<8x3xf32>) -> tensor<8x11xf32>
    %y = tp.matmul %x, %w : (tensor<8x11xf32>, tensor<11x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- d_groups_of_a_mesh.mlir
// One all_reduce for each group.
// CHECK-LABEL: func.func @main
// CHECK: tp.all_reduce sum %{{.*}} group <"row"
// CHECK: tp.all_reduce sum %{{.*}} group <"column"
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<8x4xf32>, %u: tensor<8x2xf32>, %w: tensor<12x5xf32> {tp.placements = {row = #tp.placement<replicated>, column = #tp.placement<replicated>}}) -> tensor<8x5xf32> {
    %g = tp.all_gather %t gather_axis 1 group <"row", [[0, 1], [2, 3]]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %h = tp.all_gather %u gather_axis 1 group <"column", [[0, 2], [1, 3]]> : tensor<8x2xf32> -> tensor<8x4xf32>
    %x = tp.concat %g, %h dim 1 : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x12xf32>
    %y = tp.matmul %x, %w : (tensor<8x12xf32>, tensor<12x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- e_weight_gathered_too.mlir
// Each rank has its shard of both, whatever its number.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.all_gather
// CHECK: %[[P:.*]] = tp.matmul %arg0, %arg1 :
// CHECK: tp.all_reduce sum %[[P]]
module {
  func.func @main(%t: tensor<8x4xf32>, %s: tensor<4x5xf32>) -> tensor<8x5xf32> {
    %x = tp.all_gather %t gather_axis 1 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x8xf32>
    %w = tp.all_gather %s gather_axis 0 group <"0", [0, 1]> : tensor<4x5xf32> -> tensor<8x5xf32>
    %y = tp.matmul %x, %w : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- f_waited_for.mlir
// An asynchronous gather, a view behind it, four ranks.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.all_gather
// CHECK: tp.reshape %arg0 : tensor<2x4x4xf32> -> tensor<8x4xf32>
// CHECK: tp.all_reduce sum
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<2x4x4xf32>, %w: tensor<16x5xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<8x5xf32> {
    %g = tp.all_gather %t gather_axis 2 group <"0", [0, 1, 2, 3]> async : tensor<2x4x4xf32> -> tensor<2x4x16xf32>
    %x = tp.wait %g : tensor<2x4x16xf32> -> tensor<2x4x16xf32>
    %v = tp.reshape %x : tensor<2x4x16xf32> -> tensor<8x16xf32>
    %y = tp.matmul %v, %w : (tensor<8x16xf32>, tensor<16x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}
