// Fused ops place their results as the ops they are made of would.
// RUN: commute-opt %s --print-op-facts="placements=true" -verify-diagnostics
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
