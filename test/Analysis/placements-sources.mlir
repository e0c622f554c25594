// Where placements come from: statements, the default, collectives.
// RUN: commute-opt %s --print-op-facts="placements=true" -verify-diagnostics
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
func.func @stated(%r: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}},
                  %s: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}},
                  %p: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<partial(sum)>}},
                  %v: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<varying>}}) {
  // expected-remark @below {{result 0 is replicated on '0'}}
  %0 = tp.copy %r : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is shard(1) on '0'}}
  %1 = tp.copy %s : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is partial(sum) on '0'}}
  %2 = tp.copy %p : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %3 = tp.copy %v : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
// Parameters of norms are replicated, other inputs varying; one that is read as
// both is an input like others.
func.func @assumed(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>, %both: tensor<8xf32>, %r: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is varying on '0'}}
  %0 = tp.copy %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %1 = tp.layer_norm %r weight %w bias %b epsilon 1.0e-05 dims 1 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %2 = tp.rms_norm %r weight %both epsilon 1.0e-05 dims 1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %3 = tp.map mul(%r, %both) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}
// The residual of a fused norm is no parameter, its weight is.
func.func @fused_norm(%residual: tensor<4x8xf32>, %w: tensor<8xf32>, %r: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is replicated on '0'}}
  %0 = tp.add_rms_norm %r, %r weight %w epsilon 1.0e-06 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %1 = tp.add_rms_norm %r, %residual weight %w epsilon 1.0e-06 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}
func.func @factories() {
  // expected-remark @below {{result 0 is replicated on '0'}}
  %0 = tp.constant 1.0 : f64 -> tensor<4xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %1 = tp.iota 0 : i64 step 1 : i64 -> tensor<4xi64>
  return
}
func.func @collectives(%v: tensor<4x8xf32>, %r: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is replicated on '0'}}
  %0 = tp.all_reduce sum %v group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %1 = tp.all_gather %v gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{result 0 is shard(1) on '0'}}
  %2 = tp.reduce_scatter sum %v scatter_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %3 = tp.rank_slice %r slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // A slice of what differs already is nothing that has a name.
  // expected-remark @below {{result 0 is varying on '0'}}
  %4 = tp.rank_slice %v slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}
// Of an opaque op nothing is known.
func.func @opaque(%r: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is varying on '0'}}
  %0 = tp.call "my.op"(%r) arguments "[]" : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
// Memory that is not initialized differs between ranks.
func.func @empty() {
  // expected-remark @below {{result 0 is varying on '0'}}
  %0 = tp.empty : tensor<4x8xf32>
  return
}
}
