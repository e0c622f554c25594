// Placements on one axis of a mesh pass through collectives over the other one;
// of groups that lie across each other nothing follows.
// RUN: commute-opt %s --print-op-facts="placements=true" -verify-diagnostics
module attributes {tp.groups = [#tp.group<"tp", [[0, 1], [2, 3]]>, #tp.group<"dp", [[0, 2], [1, 3]]>, #tp.group<"all", [0, 1, 2, 3]>]} {
func.func @axes(%x: tensor<4x8xf32> {tp.placements = {"tp" = #tp.placement<partial(sum)>, "dp" = #tp.placement<shard(0)>, "all" = #tp.placement<varying>}}) {
  // expected-remark @below {{result 0 is replicated on 'tp', shard(0) on 'dp', varying on 'all'}}
  %0 = tp.all_reduce sum %x group <"tp", [[0, 1], [2, 3]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on 'tp', replicated on 'dp', varying on 'all'}}
  %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // Sums over one axis of what are summands on the other one are summands;
  // maxima are not.
  // expected-remark @below {{result 0 is partial(sum) on 'tp', replicated on 'dp', varying on 'all'}}
  %2 = tp.all_gather %x gather_axis 0 group <"dp", [[0, 2], [1, 3]]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{result 0 is varying on 'tp', replicated on 'dp', varying on 'all'}}
  // expected-warning @below {{uses a value that is partial on group 'tp', and is not linear in it; the value must be reduced first}}
  // expected-warning @below {{reduces shards of one tensor on group 'dp'; an all_gather would reassemble them}}
  %3 = tp.all_reduce max %x group <"dp", [[0, 2], [1, 3]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
// What all ranks compute together is equal on the ranks of each axis.
func.func @larger_group(%x: tensor<4x8xf32> {tp.placements = {"tp" = #tp.placement<partial(sum)>, "dp" = #tp.placement<replicated>, "all" = #tp.placement<varying>}}) {
  // expected-remark @below {{result 0 is replicated on 'tp', replicated on 'dp', replicated on 'all'}}
  %0 = tp.all_reduce sum %x group <"all", [0, 1, 2, 3]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on 'tp', replicated on 'dp', replicated on 'all'}}
  // expected-warning @below {{reduces by max on group 'tp' a value that is partial(sum)}}
  %1 = tp.all_reduce max %x group <"all", [0, 1, 2, 3]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is replicated on 'tp', replicated on 'dp', replicated on 'all'}}
  // expected-warning @below {{moves a value that is partial on group 'tp'; it must be reduced first}}
  %2 = tp.all_gather %x gather_axis 0 group <"all", [0, 1, 2, 3]> : tensor<4x8xf32> -> tensor<16x8xf32>
  // expected-remark @below {{result 0 is varying on 'tp', varying on 'dp', shard(0) on 'all'}}
  %3 = tp.reduce_scatter sum %x scatter_axis 0 group <"all", [0, 1, 2, 3]> : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}
// A value of each rank's own is the same along the other axes.
func.func @values_of_ranks(%x: tensor<4x8xf32> {tp.placements = {"tp" = #tp.placement<replicated>, "dp" = #tp.placement<replicated>, "all" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is varying on 'tp', replicated on 'dp', varying on 'all'}}
  %0 = tp.rank_select %x, %x group <"tp", [[0, 1], [2, 3]]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on 'tp', varying on 'dp', varying on 'all'}}
  %1 = tp.rank_select %x, %x, %x, %x group <"all", [0, 1, 2, 3]> : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
func.func @slices(%x: tensor<4x8xf32> {tp.placements = {"tp" = #tp.placement<replicated>, "dp" = #tp.placement<replicated>, "all" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is shard(0) on 'tp', replicated on 'dp', varying on 'all'}}
  %0 = tp.rank_slice %x slice_axis 0 group <"tp", [[0, 1], [2, 3]]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{result 0 is varying on 'tp', varying on 'dp', shard(0) on 'all'}}
  %1 = tp.rank_slice %x slice_axis 0 group <"all", [0, 1, 2, 3]> : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}
}
