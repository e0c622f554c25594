// Fused ops place their results as the ops they are made of would.
// RUN: commute-opt %s --print-op-facts="placements=true" -split-input-file -verify-diagnostics
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
func.func @gather_matmul(%s: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}},
                         %columns: tensor<8x6xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}},
                         %w: tensor<8x6xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is shard(1) on '0'}}
  // expected-remark @below {{result 1 is replicated on '0'}}
  %0:2 = tp.all_gather_matmul %s, rhs(%columns, %w) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>)
  return
}
func.func @matmul_scatter(%x: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}},
                          %w: tensor<8x6xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}}) {
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %0 = tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
  return
}
}

// -----

// On shards of the contraction over another axis the results are summands, unless
// every rank adds a bias to its own.
module attributes {tp.groups = [#tp.group<"tp", [[0, 1], [2, 3]]>, #tp.group<"dp", [[0, 2], [1, 3]]>]} {
func.func @contraction_over_another_axis(%x: tensor<4x8xf32> {tp.placements = {"tp" = #tp.placement<varying>, "dp" = #tp.placement<shard(1)>}},
                                         %w: tensor<8x6xf32> {tp.placements = {"tp" = #tp.placement<varying>, "dp" = #tp.placement<shard(0)>}},
                                         %b: tensor<6xf32> {tp.placements = {"tp" = #tp.placement<replicated>, "dp" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is shard(0) on 'tp', partial(sum) on 'dp'}}
  %0 = tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
  // expected-remark @below {{result 0 is shard(0) on 'tp', varying on 'dp'}}
  %1 = tp.matmul_reduce_scatter sum %x, %w bias %b scatter_axis 0 group <"tp", [[0, 1], [2, 3]]> : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  return
}
}
