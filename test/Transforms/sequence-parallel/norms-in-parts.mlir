// Norms that are spelled out, in the forms that models have: every pass works on
// them by the rules of their ops, as on fused ones, and they are written back as
// they were spelled.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always || exit 1; done | FileCheck %s --implicit-check-not="= tp.rms_norm" --implicit-check-not="= tp.layer_norm"
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done

//--- a_square_weight_in_f32_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.cast {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<8x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<8x16xbf16> -> tensor<8x16xf32>
    %q = tp.map mul(%x, %x) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<8x16xf32> -> tensor<8x1xf32>
    %d = tp.map add(%eps, %a) : (tensor<f32>, tensor<8x1xf32>) -> tensor<8x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %y = tp.map mul(%i, %x) : (tensor<8x1xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %wf = tp.cast %w : tensor<16xbf16> -> tensor<16xf32>
    %z = tp.map mul(%wf, %y) : (tensor<16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %n = tp.cast %z : tensor<8x16xf32> -> tensor<8x16xbf16>
    %r = tp.matmul %n, %m : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    return %r : tensor<8x8xbf16>
  }
}

//--- a_square_weight_in_f32_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.cast {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<16x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<16x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<16x16xbf16> -> tensor<16x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<16x16xbf16> -> tensor<16x16xf32>
    %q = tp.map mul(%x, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<16x16xf32> -> tensor<16x1xf32>
    %d = tp.map add(%eps, %a) : (tensor<f32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<16x1xf32>) -> tensor<16x1xf32>
    %y = tp.map mul(%i, %x) : (tensor<16x1xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %wf = tp.cast %w : tensor<16xbf16> -> tensor<16xf32>
    %z = tp.map mul(%wf, %y) : (tensor<16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %n = tp.cast %z : tensor<16x16xf32> -> tensor<16x16xbf16>
    %r = tp.matmul %n, %m : (tensor<16x16xbf16>, tensor<16x8xbf16>) -> tensor<16x8xbf16>
    return %r : tensor<16x8xbf16>
  }
}

//--- a_square_weight_in_f32_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.cast {{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<32x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<32x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<32x16xbf16> -> tensor<32x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<32x16xbf16> -> tensor<32x16xf32>
    %q = tp.map mul(%x, %x) : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<32x16xf32> -> tensor<32x1xf32>
    %d = tp.map add(%eps, %a) : (tensor<f32>, tensor<32x1xf32>) -> tensor<32x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %y = tp.map mul(%i, %x) : (tensor<32x1xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %wf = tp.cast %w : tensor<16xbf16> -> tensor<16xf32>
    %z = tp.map mul(%wf, %y) : (tensor<16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %n = tp.cast %z : tensor<32x16xf32> -> tensor<32x16xbf16>
    %r = tp.matmul %n, %m : (tensor<32x16xbf16>, tensor<16x8xbf16>) -> tensor<32x8xbf16>
    return %r : tensor<32x8xbf16>
  }
}

//--- b_power_weight_in_bf16_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.map mul{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<8x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<8x16xbf16> -> tensor<8x16xf32>
    %q = tp.map pow(%x, %two) : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<8x16xf32> -> tensor<8x1xf32>
    %d = tp.map add(%a, %eps) : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %y = tp.map mul(%x, %i) : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
    %z = tp.cast %y : tensor<8x16xf32> -> tensor<8x16xbf16>
    %n = tp.map mul(%z, %w) : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %r = tp.matmul %n, %m : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    return %r : tensor<8x8xbf16>
  }
}

//--- b_power_weight_in_bf16_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.map mul{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<16x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<16x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<16x16xbf16> -> tensor<16x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<16x16xbf16> -> tensor<16x16xf32>
    %q = tp.map pow(%x, %two) : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<16x16xf32> -> tensor<16x1xf32>
    %d = tp.map add(%a, %eps) : (tensor<16x1xf32>, tensor<f32>) -> tensor<16x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<16x1xf32>) -> tensor<16x1xf32>
    %y = tp.map mul(%x, %i) : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    %z = tp.cast %y : tensor<16x16xf32> -> tensor<16x16xbf16>
    %n = tp.map mul(%z, %w) : (tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<16x16xbf16>
    %r = tp.matmul %n, %m : (tensor<16x16xbf16>, tensor<16x8xbf16>) -> tensor<16x8xbf16>
    return %r : tensor<16x8xbf16>
  }
}

//--- b_power_weight_in_bf16_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.map mul{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<32x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<32x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<32x16xbf16> -> tensor<32x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<32x16xbf16> -> tensor<32x16xf32>
    %q = tp.map pow(%x, %two) : (tensor<32x16xf32>, tensor<f32>) -> tensor<32x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<32x16xf32> -> tensor<32x1xf32>
    %d = tp.map add(%a, %eps) : (tensor<32x1xf32>, tensor<f32>) -> tensor<32x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %y = tp.map mul(%x, %i) : (tensor<32x16xf32>, tensor<32x1xf32>) -> tensor<32x16xf32>
    %z = tp.cast %y : tensor<32x16xf32> -> tensor<32x16xbf16>
    %n = tp.map mul(%z, %w) : (tensor<32x16xbf16>, tensor<16xbf16>) -> tensor<32x16xbf16>
    %r = tp.matmul %n, %m : (tensor<32x16xbf16>, tensor<16x8xbf16>) -> tensor<32x8xbf16>
    return %r : tensor<32x8xbf16>
  }
}

//--- c_layer_norm_2.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<8x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<8x16xbf16> -> tensor<8x16xf32>
    %e = tp.reduce avg %x dims [1] keep_dims : tensor<8x16xf32> -> tensor<8x1xf32>
    %c = tp.map sub(%x, %e) : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
    %q = tp.map pow(%c, %two) : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<8x16xf32> -> tensor<8x1xf32>
    %d = tp.map add(%a, %eps) : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %y = tp.map mul(%c, %i) : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
    %z = tp.cast %y : tensor<8x16xf32> -> tensor<8x16xbf16>
    %k = tp.map mul(%z, %w) : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %n = tp.map add(%k, %b) : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %r = tp.matmul %n, %m : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
    return %r : tensor<8x8xbf16>
  }
}

//--- c_layer_norm_4.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<16x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<16x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<16x16xbf16> -> tensor<16x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<16x16xbf16> -> tensor<16x16xf32>
    %e = tp.reduce avg %x dims [1] keep_dims : tensor<16x16xf32> -> tensor<16x1xf32>
    %c = tp.map sub(%x, %e) : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    %q = tp.map pow(%c, %two) : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<16x16xf32> -> tensor<16x1xf32>
    %d = tp.map add(%a, %eps) : (tensor<16x1xf32>, tensor<f32>) -> tensor<16x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<16x1xf32>) -> tensor<16x1xf32>
    %y = tp.map mul(%c, %i) : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    %z = tp.cast %y : tensor<16x16xf32> -> tensor<16x16xbf16>
    %k = tp.map mul(%z, %w) : (tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<16x16xbf16>
    %n = tp.map add(%k, %b) : (tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<16x16xbf16>
    %r = tp.matmul %n, %m : (tensor<16x16xbf16>, tensor<16x8xbf16>) -> tensor<16x8xbf16>
    return %r : tensor<16x8xbf16>
  }
}

//--- c_layer_norm_8.mlir
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter
// CHECK: tp.map rsqrt{{.*}} -> tensor<4x1xf32>
// CHECK: tp.map add{{.*}} -> tensor<4x16xbf16>
// CHECK: tp.all_gather_matmul
// CHECK-NOT: tp.all_reduce
// CHECK: return
module {
  func.func @main(%p: tensor<32x16xbf16>, %w: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %b: tensor<16xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}, %m: tensor<16x8xbf16>) -> tensor<32x8xbf16> {
    %s = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<32x16xbf16> -> tensor<32x16xbf16>
    %eps = tp.constant 1.0e-05 : f32 -> tensor<f32>
    %two = tp.constant 2.0 : f32 -> tensor<f32>
    %x = tp.cast %s : tensor<32x16xbf16> -> tensor<32x16xf32>
    %e = tp.reduce avg %x dims [1] keep_dims : tensor<32x16xf32> -> tensor<32x1xf32>
    %c = tp.map sub(%x, %e) : (tensor<32x16xf32>, tensor<32x1xf32>) -> tensor<32x16xf32>
    %q = tp.map pow(%c, %two) : (tensor<32x16xf32>, tensor<f32>) -> tensor<32x16xf32>
    %a = tp.reduce avg %q dims [1] keep_dims : tensor<32x16xf32> -> tensor<32x1xf32>
    %d = tp.map add(%a, %eps) : (tensor<32x1xf32>, tensor<f32>) -> tensor<32x1xf32>
    %i = tp.map rsqrt(%d) : (tensor<32x1xf32>) -> tensor<32x1xf32>
    %y = tp.map mul(%c, %i) : (tensor<32x16xf32>, tensor<32x1xf32>) -> tensor<32x16xf32>
    %z = tp.cast %y : tensor<32x16xf32> -> tensor<32x16xbf16>
    %k = tp.map mul(%z, %w) : (tensor<32x16xbf16>, tensor<16xbf16>) -> tensor<32x16xbf16>
    %n = tp.map add(%k, %b) : (tensor<32x16xbf16>, tensor<16xbf16>) -> tensor<32x16xbf16>
    %r = tp.matmul %n, %m : (tensor<32x16xbf16>, tensor<16x8xbf16>) -> tensor<32x8xbf16>
    return %r : tensor<32x8xbf16>
  }
}
