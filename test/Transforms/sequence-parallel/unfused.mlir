// Models without fused norms: the residual sum feeds a norm and the next sum, and
// stays local from the first all_reduce to the last.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=sequence-parallel && commute opt $f.once.mlir -o - --quiet --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- a_two_layers.mlir
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: tp.reduce_scatter sum
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.all_reduce sum %2 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %4 = tp.map add(%0, %3) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %5 = tp.rms_norm %4 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %6 = tp.matmul %5, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %7 = tp.all_reduce sum %6 group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %8 = tp.map add(%4, %7) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %9 = tp.rms_norm %8 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %10 = tp.matmul %9, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %10 : tensor<8x16xbf16>
  }
}

//--- b_other_operand_order.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.reduce_scatter sum %arg0
// CHECK: %[[B:.*]] = tp.reduce_scatter sum %arg1
// CHECK: tp.map add(%[[B]], %[[A]]) {{.*}} -> tensor<4x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.all_reduce sum %q group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.map add(%1, %0) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.rms_norm %2 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %3, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %4 : tensor<8x16xbf16>
  }
}

//--- c_decomposed_norm.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.cast {{.*}} -> tensor<4x16xf32>
// CHECK: tp.map pow{{.*}} -> tensor<4x16xf32>
// CHECK: tp.reduce avg {{.*}} -> tensor<4x1xf32>
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.cast {{.*}} -> tensor<4x16xbf16>
// CHECK: %[[N:.*]] = tp.map mul{{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.all_gather %[[N]]
// CHECK-NOT: tp.all_reduce
// CHECK-NOT: tp.all_gather
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %scale: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.cast %0 : tensor<8x16xbf16> -> tensor<8x16xf32>
    %two = tp.constant 2 : i64 -> tensor<i64>
    %2 = tp.map pow(%1, %two) : (tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
    %3 = tp.reduce avg %2 dims [1] keep_dims : tensor<8x16xf32> -> tensor<8x1xf32>
    %eps = tp.constant 1.0e-06 : f64 -> tensor<f64>
    %4 = tp.map add(%3, %eps) : (tensor<8x1xf32>, tensor<f64>) -> tensor<8x1xf32>
    %5 = tp.map rsqrt(%4) : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %6 = tp.map mul(%1, %5) : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
    %7 = tp.cast %6 : tensor<8x16xf32> -> tensor<8x16xbf16>
    %8 = tp.map mul(%scale, %7) : (tensor<16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %9 = tp.matmul %8, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %9 : tensor<8x16xbf16>
  }
}

//--- d_layer_norm_and_bias.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.layer_norm {{.*}} -> tensor<4x16xbf16>
// CHECK-NEXT: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %bias: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map add(%0, %bias) : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.layer_norm %1 weight %w epsilon 1.0e-05 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3 : tensor<8x16xbf16>
  }
}

//--- e_dropout_mask_and_scale.mlir
// The mask is had as a shard as well.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map mul{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.map mul{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.rms_norm
// CHECK-NEXT: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %mask: tensor<8x16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map mul(%0, %mask) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %s = tp.constant 1.25 : f64 -> tensor<f64>
    %2 = tp.map mul(%1, %s) : (tensor<8x16xbf16>, tensor<f64>) -> tensor<8x16xbf16>
    %3 = tp.rms_norm %2 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %3, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %4 : tensor<8x16xbf16>
  }
}

//--- f_quantized_per_token.mlir
// What is gathered is the quantized value, and one scale a row.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.rms_norm {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.reduce max {{.*}} -> tensor<4x1xbf16>
// CHECK: %[[Q:.*]] = tp.cast {{.*}} -> tensor<4x16xi8>
// CHECK-NEXT: tp.all_gather %[[Q]]
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xi8>, tensor<8x1xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.map abs(%1) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.reduce max %2 dims [1] keep_dims : tensor<8x16xbf16> -> tensor<8x1xbf16>
    %4 = tp.map div(%1, %3) : (tensor<8x16xbf16>, tensor<8x1xbf16>) -> tensor<8x16xbf16>
    %5 = tp.map round(%4) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %6 = tp.cast %5 : tensor<8x16xbf16> -> tensor<8x16xi8>
    return %6, %3 : tensor<8x16xi8>, tensor<8x1xbf16>
  }
}

//--- g_two_norms_on_one_all_reduce.mlir
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: tp.reduce_scatter
// CHECK-NOT: tp.all_reduce
// CHECK-NOT: tp.reduce_scatter
// CHECK-COUNT-2: tp.all_gather
// CHECK-NOT: tp.all_gather
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %v: tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %0 weight %v epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %2, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %3, %4 : tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}

//--- h_several_kinds_of_users.mlir
// The value itself is gathered once for the two products that read all of it;
// there is no all_reduce beside the reduce_scatter.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: tp.reduce_scatter
// CHECK-NOT: tp.all_reduce
// CHECK-COUNT-2: tp.all_gather
// CHECK-NOT: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.matmul %0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %0, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2, %3, %4 : tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}

//--- i_router_of_experts.mlir
// A product with a replicated weight runs on rows as well; experts need all
// tokens.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: %[[N:.*]] = tp.rms_norm
// CHECK: tp.matmul {{.*}} -> tensor<4x4xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %router: tensor<16x4xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> (tensor<8x16xbf16>, tensor<8x4xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %router : (tensor<8x16xbf16>, tensor<16x4xbf16>) -> tensor<8x4xbf16>
    %3 = tp.rowwise softmax %2 dim 1 : tensor<8x4xbf16> -> tensor<8x4xbf16>
    %4 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %4, %3 : tensor<8x16xbf16>, tensor<8x4xbf16>
  }
}

//--- j_multimodal.mlir
// What is added differs between the ranks: that sum stays whole.
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map add{{.*}} -> tensor<8x16xbf16>
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %image: tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.map add(%0, %image) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.matmul %3, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2, %4 : tensor<8x16xbf16>, tensor<8x16xbf16>
  }
}
