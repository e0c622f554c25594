// Graphs that TensorCast's pass leaves alone or makes slower: docs/known-defects.md.
// Each is rewritten here, and proven on its number of ranks.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --policy=always --passes=sequence-parallel{pad=true} && cat $f.once.mlir; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.once.mlir; do commute opt $f -o $f.twice.mlir --quiet --policy=always --passes=sequence-parallel{pad=true} && diff $f $f.twice.mlir; done

//--- l1_replicated_first_residual.mlir
// CHECK: proof: equivalent on 4 ranks
// CHECK-LABEL: func.func @main
// CHECK-DAG: tp.reduce_scatter sum %arg0
// CHECK-DAG: tp.rank_slice %arg2 {{.*}} -> tensor<2x16xbf16>
// CHECK: tp.add_rms_norm {{.*}} -> (tensor<2x16xbf16>, tensor<2x16xbf16>)
// CHECK-NOT: tp.all_reduce
// CHECK: return
module attributes {tp.rank = 2 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %x: tensor<8x16xbf16> {tp.placements = {"0,1,2,3" = #tp.placement<replicated>}}, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1, 2, 3]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1:2 = tp.add_rms_norm %0, %x weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %2 = tp.matmul %1#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"", [0, 1, 2, 3]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4:2 = tp.add_rms_norm %3, %1#1 weight %w epsilon 1.0e-06 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>)
    %5 = tp.matmul %4#0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %5 : tensor<8x16xbf16>
  }
}

//--- l2_first_group_has_one_member.mlir
// CHECK: kept as all_reduce: its group has one member
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum {{.*}} group <"pair"
// CHECK: tp.rms_norm {{.*}} -> tensor<4x16xbf16>
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"self", [[0], [1]]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %0 group <"pair", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3 : tensor<8x16xbf16>
  }
}

//--- l3_all_reduces_with_several_readers.mlir
// Two norms and a product read the first one: one reduce_scatter, no all_reduce
// beside it, and each value gathered once.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0
// CHECK-COUNT-3: tp.all_gather
// CHECK-NOT: tp.{{all_reduce|all_gather}}
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %v: tensor<16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %v epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %5 = tp.matmul %0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3, %4, %5 : tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}

//--- l4a_cast_bias_dropout_layer_norm.mlir
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter sum %arg0
// CHECK: tp.cast {{.*}} -> tensor<4x16xf32>
// CHECK: tp.map add{{.*}} -> tensor<4x16xf32>
// CHECK: tp.map mul{{.*}} -> tensor<4x16xf32>
// CHECK: tp.layer_norm {{.*}} -> tensor<4x16xf32>
// CHECK-NEXT: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %bias: tensor<16xf32> {tp.placements = {"0" = #tp.placement<replicated>}}, %mask: tensor<8x16xf32> {tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<16xf32>, %b: tensor<16x16xf32>) -> tensor<8x16xf32> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.cast %0 : tensor<8x16xbf16> -> tensor<8x16xf32>
    %2 = tp.map add(%1, %bias) : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
    %3 = tp.map mul(%2, %mask) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %4 = tp.layer_norm %3 weight %w epsilon 1.0e-05 dims 1 : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
    %5 = tp.matmul %4, %b : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    return %5 : tensor<8x16xf32>
  }
}

//--- l4b_wait.mlir
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = tp.reduce_scatter sum {{.*}} async {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: %[[W:.*]] = tp.wait %[[S]]
// CHECK-NEXT: tp.rms_norm %[[W]] {{.*}} -> tensor<4x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> async : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.wait %0 : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3 : tensor<8x16xbf16>
  }
}

//--- l4c_two_all_reduces_in_one_sum.mlir
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK-DAG: tp.reduce_scatter sum %arg0
// CHECK-DAG: tp.reduce_scatter sum %arg1
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %q group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.map add(%0, %1) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.rms_norm %2 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %3, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %4 : tensor<8x16xbf16>
  }
}

//--- l4d_sum_that_is_read_again.mlir
// What every pre-norm model without fused norms does.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = tp.reduce_scatter sum %arg0
// CHECK: %[[A:.*]] = tp.map add({{.*}}%[[S]]{{.*}}) {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather
// CHECK: %[[T:.*]] = tp.reduce_scatter sum
// CHECK: tp.map add(%[[A]], %[[T]]) {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather
// CHECK-NOT: tp.{{all_reduce|all_gather}}
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %x: tensor<8x16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map add(%x, %0) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.all_reduce sum %3 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %5 = tp.map add(%1, %4) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %5 : tensor<8x16xbf16>
  }
}

//--- l5_gather_of_what_is_small.mlir
// Behind the cast to a byte an element, not in front of it.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: %[[Q:.*]] = tp.cast {{.*}} -> tensor<4x16xi8>
// CHECK: tp.all_gather %[[Q]] {{.*}} -> tensor<8x16xi8>
// CHECK-NOT: tp.all_gather {{.*}} -> tensor<8x16xbf16>
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>) -> (tensor<8x16xi8>, tensor<8x1xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.map abs(%1) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.reduce max %2 dims [1] keep_dims : tensor<8x16xbf16> -> tensor<8x1xbf16>
    %4 = tp.map div(%1, %3) : (tensor<8x16xbf16>, tensor<8x1xbf16>) -> tensor<8x16xbf16>
    %5 = tp.cast %4 : tensor<8x16xbf16> -> tensor<8x16xi8>
    return %5, %3 : tensor<8x16xi8>, tensor<8x1xbf16>
  }
}

//--- l6a_rows_that_do_not_divide.mlir
// CHECK: proof: equivalent on 4 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter {{.*}} -> tensor<3x15xbf16>
// CHECK: tp.all_gather {{.*}} -> tensor<12x15xbf16>
// CHECK: tp.slice {{.*}} -> tensor<10x15xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<10x15xbf16>, %w: tensor<15xbf16>, %b: tensor<15x15xbf16>) -> tensor<10x15xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<10x15xbf16> -> tensor<10x15xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<10x15xbf16>, tensor<15xbf16>) -> tensor<10x15xbf16>
    %2 = tp.matmul %1, %b : (tensor<10x15xbf16>, tensor<15x15xbf16>) -> tensor<10x15xbf16>
    return %2 : tensor<10x15xbf16>
  }
}

//--- l6b_decode.mlir
// One token of each sequence: the batch is cut.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter {{.*}} scatter_axis 0 {{.*}} -> tensor<2x1x15xbf16>
// CHECK: tp.all_gather {{.*}} gather_axis 0
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<4x1x15xbf16>, %w: tensor<15xbf16>, %b: tensor<15x15xbf16>) -> tensor<4x1x15xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<4x1x15xbf16> -> tensor<4x1x15xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<4x1x15xbf16>, tensor<15xbf16>) -> tensor<4x1x15xbf16>
    %2 = tp.matmul %1, %b : (tensor<4x1x15xbf16>, tensor<15x15xbf16>) -> tensor<4x1x15xbf16>
    return %2 : tensor<4x1x15xbf16>
  }
}

//--- l6c_sequence_first.mlir
// Batch and sequence divide: the sequence, which is outermost, is cut.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter {{.*}} scatter_axis 0 {{.*}} -> tensor<4x2x16xbf16>
// CHECK: tp.all_gather {{.*}} gather_axis 0
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x2x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> tensor<8x2x16xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x2x16xbf16> -> tensor<8x2x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x2x16xbf16>, tensor<16xbf16>) -> tensor<8x2x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x2x16xbf16>, tensor<16x16xbf16>) -> tensor<8x2x16xbf16>
    return %2 : tensor<8x2x16xbf16>
  }
}

//--- l7_types_of_all_that_follows.mlir
// Every op between the scatter and the gather has the shard's type, markers too.
// CHECK: proof: equivalent on 2 ranks
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.region_marker begin {{.*}} : tensor<4x16xbf16> -> tensor<4x16xbf16>
// CHECK-NEXT: tp.map silu{{.*}} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
// CHECK-NEXT: tp.reshape {{.*}} : tensor<4x16xbf16> -> tensor<4x4x4xbf16>
// CHECK-NEXT: tp.region_marker end {{.*}} : tensor<4x4x4xbf16> -> tensor<4x4x4xbf16>
// CHECK-NEXT: tp.region_marker copy {{.*}} : tensor<4x4x4xbf16> -> tensor<4x4x4xbf16>
// CHECK-NEXT: tp.all_gather {{.*}} : tensor<4x4x4xbf16> -> tensor<8x4x4xbf16>
// CHECK-NEXT: return
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%p: tensor<8x16xbf16>) -> tensor<8x4x4xbf16> {
    %0 = tp.all_reduce sum %p group <"", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.region_marker begin %0 id 0 : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.map silu(%1) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.reshape %2 : tensor<8x16xbf16> -> tensor<8x4x4xbf16>
    %4 = tp.region_marker end %3 id 0 : tensor<8x4x4xbf16> -> tensor<8x4x4xbf16>
    %5 = tp.region_marker copy %4 id 0 : tensor<8x4x4xbf16> -> tensor<8x4x4xbf16>
    return %5 : tensor<8x4x4xbf16>
  }
}
