// Misuses of placements, each beside what would be right.
// RUN: commute-opt %s --print-op-facts="placements=true" -verify-diagnostics
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
func.func @nonlinear(%p: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(sum)>}}) {
  // expected-remark @below {{result 0 is varying on '0'}}
  // expected-warning @below {{uses a value that is partial on group '0', and is not linear in it; the value must be reduced first}}
  %0 = tp.map silu(%p) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %1 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %2 = tp.map silu(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
// Sums of summands are summands, products of two are not; a bias counts once
// for each rank.
func.func @linear(%p: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(sum)>}}, %r: tensor<8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is partial(sum) on '0'}}
  %0 = tp.map add(%p, %p) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is partial(sum) on '0'}}
  %1 = tp.map mul(%p, %r) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is partial(sum) on '0'}}
  %2 = tp.reshape %p : tensor<4x8xf32> -> tensor<32xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  // expected-warning @below {{uses a value that is partial on group '0', and is not linear in it; the value must be reduced first}}
  %3 = tp.map mul(%p, %p) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  // expected-warning @below {{uses a value that is partial on group '0', and is not linear in it; the value must be reduced first}}
  %4 = tp.map add(%p, %r) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}
func.func @norm(%p: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(sum)>}}, %w: tensor<8xf32>) {
  // expected-remark @below {{result 0 is varying on '0'}}
  // expected-warning @below {{uses a value that is partial on group '0', and is not linear in it; the value must be reduced first}}
  %0 = tp.rms_norm %p weight %w epsilon 1.0e-05 dims 1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}
// The mean, the maximum and the sum of equal values.
func.func @replicated(%r: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is replicated on '0'}}
  // expected-warning @below {{sums a value that is replicated on group '0', which multiplies it by 2}}
  %0 = tp.all_reduce sum %r group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %1 = tp.all_reduce avg %r group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %2 = tp.all_reduce max %r group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
func.func @shards(%s: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}}) {
  // expected-remark @below {{result 0 is replicated on '0'}}
  // expected-warning @below {{reduces shards of one tensor on group '0'; an all_gather would reassemble them}}
  %0 = tp.all_reduce sum %s group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %1 = tp.all_gather %s gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}
func.func @other_reduction(%p: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(sum)>}}, %m: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(max)>}}) {
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  // expected-warning @below {{reduces by max on group '0' a value that is partial(sum)}}
  %0 = tp.reduce_scatter max %p scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %1 = tp.reduce_scatter sum %p scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  // expected-warning @below {{reduces by sum on group '0' a value that is partial(max)}}
  %2 = tp.all_reduce sum %m group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %3 = tp.all_reduce max %m group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
func.func @moved(%p: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(sum)>}}) {
  // expected-remark @below {{result 0 is replicated on '0'}}
  // expected-warning @below {{moves a value that is partial on group '0'; it must be reduced first}}
  %0 = tp.all_gather %p gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}
func.func @returned(%p: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(sum)>}}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // expected-remark @below {{result 0 is replicated on '0'}}
  %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-warning @below {{output 1 is partial on group '0'; it must be reduced first}}
  return %0, %p : tensor<4x8xf32>, tensor<4x8xf32>
}
}
