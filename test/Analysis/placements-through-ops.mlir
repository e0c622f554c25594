// What ops make of shards: they follow the dims that belong together.
// RUN: commute-opt %s --print-op-facts="placements=true" -verify-diagnostics
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
func.func @elementwise(%s: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}},
                       %t: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}},
                       %r: tensor<8xf32> {tp.placements = {"0" = #tp.placement<replicated>}},
                       %full: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %0 = tp.map add(%s, %s) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %1 = tp.map mul(%s, %r) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // Shards along different dims, or a shard and a whole value of its size.
  // expected-remark @below {{result 0 is varying on '0'}}
  %2 = tp.map add(%s, %t) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %3 = tp.map add(%s, %full) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %4 = tp.cast %s : tensor<4x8xf32> -> tensor<4x8xbf16>
  return
}
func.func @contractions(%x: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}},
                        %rows: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}},
                        %columns: tensor<8x6xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}},
                        %inner: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}},
                        %w: tensor<8x6xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}},
                        %whole: tensor<8x6xf32> {tp.placements = {"0" = #tp.placement<replicated>}},
                        %bias: tensor<6xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is shard(1) on '0'}}
  %0 = tp.matmul %x, %columns : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %1 = tp.matmul %rows, %whole : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{result 0 is partial(sum) on '0'}}
  %2 = tp.matmul %inner, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // A bias would be added on every rank; the twin adds it after the sum.
  // expected-remark @below {{result 0 is varying on '0'}}
  %3 = tp.matmul %inner, %w bias %bias : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %4 = tp.all_reduce sum %2 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
  // expected-remark @below {{result 0 is replicated on '0'}}
  %5 = tp.map add(%4, %bias) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  // Only one of the two factors is cut.
  // expected-remark @below {{result 0 is varying on '0'}}
  %6 = tp.matmul %inner, %whole : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return
}
func.func @rowwise(%rows: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}},
                   %columns: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}},
                   %w: tensor<8xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) {
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %0 = tp.rms_norm %rows weight %w epsilon 1.0e-05 dims 1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %1 = tp.rms_norm %columns weight %w epsilon 1.0e-05 dims 1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %2 = tp.rowwise softmax %rows dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %3 = tp.rowwise softmax %columns dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
func.func @reductions(%rows: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}},
                      %columns: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(1)>}}) {
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %0 = tp.reduce sum %rows dims [1] keep_dims : tensor<4x8xf32> -> tensor<4x1xf32>
  // expected-remark @below {{result 0 is partial(sum) on '0'}}
  %1 = tp.reduce sum %columns dims [1] keep_dims : tensor<4x8xf32> -> tensor<4x1xf32>
  // expected-remark @below {{result 0 is partial(max) on '0'}}
  %2 = tp.reduce max %columns dims [1] keep_dims : tensor<4x8xf32> -> tensor<4x1xf32>
  return
}
func.func @reindexing(%rows: tensor<4x8xf32> {tp.placements = {"0" = #tp.placement<shard(0)>}}) {
  // expected-remark @below {{result 0 is shard(1) on '0'}}
  %0 = tp.permute %rows [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  // Split in two the major part leads, merged the major dim does.
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %1 = tp.reshape %rows : tensor<4x8xf32> -> tensor<2x2x8xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %2 = tp.reshape %rows : tensor<4x8xf32> -> tensor<32xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %3 = tp.slice %rows dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
  // Cut along the sharded dim, and put together along it.
  // expected-remark @below {{result 0 is varying on '0'}}
  %4 = tp.slice %rows dim 0 start 0 step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %5 = tp.concat %rows, %rows dim 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{result 0 is varying on '0'}}
  %6 = tp.concat %rows, %rows dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}
func.func @lookup(%table: tensor<16x8xf32> {tp.placements = {"0" = #tp.placement<replicated>}},
                  %ids: tensor<4xi64> {tp.placements = {"0" = #tp.placement<shard(0)>}}) {
  // expected-remark @below {{result 0 is shard(0) on '0'}}
  %0 = tp.take %table, %ids dim 0 : (tensor<16x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  return
}
}
