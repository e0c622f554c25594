// Values of each rank's own: the constants of a vocabulary-parallel embedding.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t
// RUN: sh %S/Inputs/judge.sh %t --real-sizes

//--- embedding.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%table: tensor<4x8xf32> {tp.name = "table", tp.placements = {"0" = #tp.placement<shard(0)>}},
                  %ids: tensor<6xi64> {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<6x8xf32> {
    %first0 = tp.constant 0 : i64 -> tensor<i64>
    %first1 = tp.constant 4 : i64 -> tensor<i64>
    %first = tp.rank_select %first0, %first1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %last0 = tp.constant 4 : i64 -> tensor<i64>
    %last1 = tp.constant 8 : i64 -> tensor<i64>
    %last = tp.rank_select %last0, %last1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %below = tp.map less(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %above = tp.map greater_equal(%ids, %last) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %outside = tp.map bitwise_or(%below, %above) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %own = tp.map sub(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
    %zero = tp.constant 0 : i64 -> tensor<i64>
    %safe = tp.map select(%outside, %zero, %own) : (tensor<6xi1>, tensor<i64>, tensor<6xi64>) -> tensor<6xi64>
    %rows = tp.take %table, %safe dim 0 : (tensor<4x8xf32>, tensor<6xi64>) -> tensor<6x8xf32>
    %mask = tp.reshape %outside : tensor<6xi1> -> tensor<6x1xi1>
    %nothing = tp.constant 0.0 : f32 -> tensor<f32>
    %part = tp.map select(%mask, %nothing, %rows) : (tensor<6x1xi1>, tensor<f32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %sum = tp.all_reduce sum %part group <"0", [0, 1]> : tensor<6x8xf32> -> tensor<6x8xf32>
    return %sum : tensor<6x8xf32>
  }
}

// The numbers are multiples of the rank.
//--- embedding.equal.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%table: tensor<4x8xf32> {tp.name = "table", tp.placements = {"0" = #tp.placement<shard(0)>}},
                  %ids: tensor<6xi64> {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<6x8xf32> {
    %firsts = tp.iota 0 : i64 step 4 : i64 -> tensor<2xi64>
    %first1 = tp.rank_slice %firsts slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %first = tp.reshape %first1 : tensor<1xi64> -> tensor<i64>
    %lasts = tp.iota 4 : i64 step 4 : i64 -> tensor<2xi64>
    %last1 = tp.rank_slice %lasts slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %last = tp.reshape %last1 : tensor<1xi64> -> tensor<i64>
    %below = tp.map less(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %above = tp.map greater_equal(%ids, %last) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %outside = tp.map bitwise_or(%below, %above) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %own = tp.map sub(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
    %zero = tp.constant 0 : i64 -> tensor<i64>
    %safe = tp.map select(%outside, %zero, %own) : (tensor<6xi1>, tensor<i64>, tensor<6xi64>) -> tensor<6xi64>
    %rows = tp.take %table, %safe dim 0 : (tensor<4x8xf32>, tensor<6xi64>) -> tensor<6x8xf32>
    %mask = tp.reshape %outside : tensor<6xi1> -> tensor<6x1xi1>
    %nothing = tp.constant 0.0 : f32 -> tensor<f32>
    %part = tp.map select(%mask, %nothing, %rows) : (tensor<6x1xi1>, tensor<f32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %sum = tp.all_reduce sum %part group <"0", [0, 1]> : tensor<6x8xf32> -> tensor<6x8xf32>
    return %sum : tensor<6x8xf32>
  }
}

// The program of rank 0, on all ranks.
//--- embedding.wrong-rank.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%table: tensor<4x8xf32> {tp.name = "table", tp.placements = {"0" = #tp.placement<shard(0)>}},
                  %ids: tensor<6xi64> {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<6x8xf32> {
    %first0 = tp.constant 0 : i64 -> tensor<i64>
    %first1 = tp.constant 0 : i64 -> tensor<i64>
    %first = tp.rank_select %first0, %first1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %last0 = tp.constant 4 : i64 -> tensor<i64>
    %last1 = tp.constant 4 : i64 -> tensor<i64>
    %last = tp.rank_select %last0, %last1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %below = tp.map less(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %above = tp.map greater_equal(%ids, %last) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %outside = tp.map bitwise_or(%below, %above) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %own = tp.map sub(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
    %zero = tp.constant 0 : i64 -> tensor<i64>
    %safe = tp.map select(%outside, %zero, %own) : (tensor<6xi1>, tensor<i64>, tensor<6xi64>) -> tensor<6xi64>
    %rows = tp.take %table, %safe dim 0 : (tensor<4x8xf32>, tensor<6xi64>) -> tensor<6x8xf32>
    %mask = tp.reshape %outside : tensor<6xi1> -> tensor<6x1xi1>
    %nothing = tp.constant 0.0 : f32 -> tensor<f32>
    %part = tp.map select(%mask, %nothing, %rows) : (tensor<6x1xi1>, tensor<f32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %sum = tp.all_reduce sum %part group <"0", [0, 1]> : tensor<6x8xf32> -> tensor<6x8xf32>
    return %sum : tensor<6x8xf32>
  }
}

// One number too small, on one rank.
//--- embedding.wrong-number.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%table: tensor<4x8xf32> {tp.name = "table", tp.placements = {"0" = #tp.placement<shard(0)>}},
                  %ids: tensor<6xi64> {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<6x8xf32> {
    %first0 = tp.constant 0 : i64 -> tensor<i64>
    %first1 = tp.constant 4 : i64 -> tensor<i64>
    %first = tp.rank_select %first0, %first1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %last0 = tp.constant 4 : i64 -> tensor<i64>
    %last1 = tp.constant 7 : i64 -> tensor<i64>
    %last = tp.rank_select %last0, %last1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %below = tp.map less(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %above = tp.map greater_equal(%ids, %last) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %outside = tp.map bitwise_or(%below, %above) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %own = tp.map sub(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
    %zero = tp.constant 0 : i64 -> tensor<i64>
    %safe = tp.map select(%outside, %zero, %own) : (tensor<6xi1>, tensor<i64>, tensor<6xi64>) -> tensor<6xi64>
    %rows = tp.take %table, %safe dim 0 : (tensor<4x8xf32>, tensor<6xi64>) -> tensor<6x8xf32>
    %mask = tp.reshape %outside : tensor<6xi1> -> tensor<6x1xi1>
    %nothing = tp.constant 0.0 : f32 -> tensor<f32>
    %part = tp.map select(%mask, %nothing, %rows) : (tensor<6x1xi1>, tensor<f32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %sum = tp.all_reduce sum %part group <"0", [0, 1]> : tensor<6x8xf32> -> tensor<6x8xf32>
    return %sum : tensor<6x8xf32>
  }
}

// The numbers of the other rank.
//--- embedding.wrong-order.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%table: tensor<4x8xf32> {tp.name = "table", tp.placements = {"0" = #tp.placement<shard(0)>}},
                  %ids: tensor<6xi64> {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<6x8xf32> {
    %first0 = tp.constant 4 : i64 -> tensor<i64>
    %first1 = tp.constant 0 : i64 -> tensor<i64>
    %first = tp.rank_select %first0, %first1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %last0 = tp.constant 8 : i64 -> tensor<i64>
    %last1 = tp.constant 4 : i64 -> tensor<i64>
    %last = tp.rank_select %last0, %last1 group <"0", [0, 1]> : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %below = tp.map less(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %above = tp.map greater_equal(%ids, %last) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
    %outside = tp.map bitwise_or(%below, %above) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %own = tp.map sub(%ids, %first) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
    %zero = tp.constant 0 : i64 -> tensor<i64>
    %safe = tp.map select(%outside, %zero, %own) : (tensor<6xi1>, tensor<i64>, tensor<6xi64>) -> tensor<6xi64>
    %rows = tp.take %table, %safe dim 0 : (tensor<4x8xf32>, tensor<6xi64>) -> tensor<6x8xf32>
    %mask = tp.reshape %outside : tensor<6xi1> -> tensor<6x1xi1>
    %nothing = tp.constant 0.0 : f32 -> tensor<f32>
    %part = tp.map select(%mask, %nothing, %rows) : (tensor<6x1xi1>, tensor<f32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %sum = tp.all_reduce sum %part group <"0", [0, 1]> : tensor<6x8xf32> -> tensor<6x8xf32>
    return %sum : tensor<6x8xf32>
  }
}
