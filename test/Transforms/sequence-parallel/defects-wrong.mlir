// Graphs that TensorCast's pass makes wrong or breaks: docs/known-defects.md. Each
// is rewritten here, and proven on its number of ranks.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --policy=always --passes=sequence-parallel && cat $f.once.mlir; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.once.mlir; do commute opt $f -o $f.twice.mlir --quiet --policy=always --passes=sequence-parallel && diff $f $f.twice.mlir; done

//--- b01_residual_of_add_rms_norm.mlir
// The residual is whole; the norm's other operand becomes a shard, and so does it.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[S:.*]] = tp.reduce_scatter sum %arg0 {{.*}} -> tensor<4x16xbf16>
// CHECK-DAG: %[[R:.*]] = tp.rank_slice %arg2 {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.add_rms_norm %[[S]], %[[R]] {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.add_rms_norm %[[S]], %[[R]] {{.*}} -> (tensor<4x16xbf16>, tensor<4x16xbf16>)
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 1 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %r: tensor<8x16xbf16> {tp.placements = {"0,1" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.add_rms_norm %0, %r weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2:2 = tp.add_rms_norm %0, %r weight %w epsilon 1.0e-05 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %3 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %2#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3, %4, %2#1 : tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}

//--- b02a_flattened_batch.mlir
// Two batches of nine tokens: two ranks have one each.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %{{.*}} scatter_axis 0
// CHECK: tp.rms_norm {{.*}} -> tensor<1x9x15xbf16>
// CHECK: tp.all_gather {{.*}} gather_axis 0 {{.*}} -> tensor<2x9x15xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<18x15xbf16>, %w: tensor<15xbf16>, %b: tensor<15x15xbf16>) -> tensor<2x9x15xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<18x15xbf16> -> tensor<18x15xbf16>
    %1 = tp.reshape %0 : tensor<18x15xbf16> -> tensor<2x9x15xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<2x9x15xbf16>, tensor<15xbf16>) -> tensor<2x9x15xbf16>
    %3 = tp.matmul %2, %b : (tensor<2x9x15xbf16>, tensor<15x15xbf16>) -> tensor<2x9x15xbf16>
    return %3 : tensor<2x9x15xbf16>
  }
}

//--- b02b_sequence_of_a_flattened_batch.mlir
// Three ranks share the sequence, which is no block of the flattened rows: these are
// a view again before they are scattered.
// CHECK: proof: equivalent on 3 ranks
// CHECK-LABEL: func.func @main
// CHECK: %[[V:.*]] = tp.reshape %arg0 : tensor<18x15xbf16> -> tensor<2x9x15xbf16>
// CHECK-NEXT: tp.reduce_scatter sum %[[V]] scatter_axis 1 {{.*}} -> tensor<2x3x15xbf16>
// CHECK: tp.rms_norm {{.*}} -> tensor<2x3x15xbf16>
// CHECK: tp.all_gather {{.*}} gather_axis 1
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<18x15xbf16>, %w: tensor<15xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<2x15x9xbf16, #tp.layout<strides = [135, 1, 15]>> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2]> : tensor<18x15xbf16> -> tensor<18x15xbf16>
    %1 = tp.reshape %0 : tensor<18x15xbf16> -> tensor<2x9x15xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<2x9x15xbf16>, tensor<15xbf16>) -> tensor<2x9x15xbf16>
    %3 = tp.permute %2 [0, 2, 1] : tensor<2x9x15xbf16> -> tensor<2x15x9xbf16, #tp.layout<strides = [135, 1, 15]>>
    return %3 : tensor<2x15x9xbf16, #tp.layout<strides = [135, 1, 15]>>
  }
}

//--- b03_groups_of_equal_size.mlir
// A shard on rows of the mesh is none on its columns.
// CHECK: proof: equivalent on 4 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter {{.*}} group <"row"
// CHECK-NOT: tp.map add({{.*}}) : (tensor<4x16xbf16>, tensor<4x16xbf16>)
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"row" = #tp.placement<replicated>, "column" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"row", [[0, 1], [2, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"column", [[0, 2], [1, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4:2 = tp.add_rms_norm %3, %0 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %5 = tp.matmul %4#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %5 : tensor<8x16xbf16>
  }
}

//--- b04_marker_with_another_reader.mlir
// The product behind the marker needs all rows, and reads what is gathered.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK-NEXT: %[[M:.*]] = tp.region_marker begin {{.*}} -> tensor<4x16xbf16>
// CHECK: %[[G:.*]] = tp.all_gather %[[M]]
// CHECK: tp.matmul %[[G]]
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %m = tp.region_marker begin %0 id 0 : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %m weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %m, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2, %3 : tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}

//--- b05_view_with_another_reader.mlir
// The view has the shard's rows, and its other reader the gathered ones.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0
// CHECK: tp.reduce_scatter sum %arg1
// CHECK-NOT: tp.reshape {{.*}} : tensor<4x16xbf16> -> tensor<1x8x16xbf16>
// CHECK: tp.map add{{.*}} -> tensor<1x4x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<1x8x16xbf16>, tensor<1x8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1:2 = tp.add_rms_norm %0, %0 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %2 = tp.all_reduce sum %q group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %v = tp.reshape %2 : tensor<8x16xbf16> -> tensor<1x8x16xbf16>
    %u = tp.reshape %1#1 : tensor<8x16xbf16> -> tensor<1x8x16xbf16>
    %3 = tp.map add(%u, %v) : (tensor<1x8x16xbf16>, tensor<1x8x16xbf16>) -> tensor<1x8x16xbf16>
    %4 = tp.rms_norm %3 weight %w epsilon 1.0e-06 dims 1 : (tensor<1x8x16xbf16>, tensor<16xbf16>) -> tensor<1x8x16xbf16>
    %5 = tp.matmul %4, %b : (tensor<1x8x16xbf16>, tensor<16x16xbf16>) -> tensor<1x8x16xbf16>
    %6 = tp.matmul %v, %b : (tensor<1x8x16xbf16>, tensor<16x16xbf16>) -> tensor<1x8x16xbf16>
    return %5, %6 : tensor<1x8x16xbf16>, tensor<1x8x16xbf16>
  }
}

//--- b06_pair_of_two_dims.mlir
// Both results are gathered along the dim that was scattered.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: tp.reduce_scatter sum {{.*}} scatter_axis 0
// CHECK: tp.add_rms_norm {{.*}} -> (tensor<4x16xbf16>, tensor<4x16xbf16>)
// CHECK-COUNT-2: tp.all_gather {{.*}} gather_axis 0
// CHECK-NOT: tp.all_gather
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %q group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2:2 = tp.add_rms_norm %0, %1 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %3 = tp.matmul %2#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %2#1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3, %4 : tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}

//--- b07_operands_in_the_other_order.mlir
// The first all_reduce is the residual, in the second place; at the end the residual
// is in the first. All stays local in between.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[P:.*]] = tp.reduce_scatter sum %arg0
// CHECK-DAG: %[[Q:.*]] = tp.reduce_scatter sum %arg1
// CHECK: %[[N:.*]], %[[SUM:.*]] = tp.add_rms_norm %[[Q]], %[[P]]
// CHECK: tp.all_gather %[[N]]
// CHECK: %[[C:.*]] = tp.reduce_scatter sum
// CHECK-NEXT: %[[T:.*]] = tp.add_rms_norm %[[C]], %[[SUM]] {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.all_gather %[[T]]
// CHECK-NOT: tp.all_gather
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %q group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2:2 = tp.add_rms_norm %1, %0 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %3 = tp.matmul %2#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.all_reduce sum %3 group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %5 = tp.add_rms_norm %4, %2#1 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %6 = tp.matmul %5, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %6 : tensor<8x16xbf16>
  }
}

//--- b08_groups_of_two_and_four.mlir
// Half of the rows is no quarter of them: the residual is never added as it is.
// CHECK: proof: equivalent on 4 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter {{.*}} group <"row"{{.*}} -> tensor<4x16xbf16>
// CHECK-NOT: tp.add_rms_norm {{.*}}tensor<4x16xbf16>, tensor<2x16xbf16>
// CHECK-NOT: tp.add_rms_norm {{.*}}tensor<2x16xbf16>, tensor<4x16xbf16>
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"row" = #tp.placement<replicated>, "all" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"row", [[0, 1], [2, 3]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"all", [0, 1, 2, 3]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4:2 = tp.add_rms_norm %0, %3 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %5 = tp.matmul %4#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %5 : tensor<8x16xbf16>
  }
}

//--- b09_gather_that_was_there.mlir
// The norm is gathered along another dim by somebody: those who read it whole are
// given the whole all the same.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0 scatter_axis 0
// CHECK: %[[N:.*]] = tp.rms_norm {{.*}} -> tensor<4x16xbf16>
// CHECK: %[[G:.*]] = tp.all_gather %[[N]] gather_axis 0 {{.*}} -> tensor<8x16xbf16>
// CHECK-DAG: tp.all_gather %[[G]] gather_axis 1 {{.*}} -> tensor<8x32xbf16>
// CHECK-DAG: tp.matmul %[[G]]
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x32xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.all_gather %1 gather_axis 1 group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x32xbf16>
    %3 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2, %3 : tensor<8x32xbf16>, tensor<8x16xbf16>
  }
}

//--- b10_scatter_in_the_place_of_the_residual.mlir
// Both operands and both results have the shard's rows, whichever is the residual.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.add_rms_norm {{.*}} : (tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>)
// CHECK: tp.add_rms_norm {{.*}} : (tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>)
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1:2 = tp.add_rms_norm %0, %0 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %2 = tp.matmul %1#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4:2 = tp.add_rms_norm %1#1, %3 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %5 = tp.matmul %4#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %5, %4#1 : tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}
