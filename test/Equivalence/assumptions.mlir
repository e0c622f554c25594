// What nothing states is assumed, and said: weights of norms are replicated,
// other inputs varying. A rewrite that needs more is not proven.
// RUN: split-file %s %t
// RUN: commute verify %t/captured.mlir %t/captured.mlir | FileCheck %s
// RUN: not commute verify %t/captured.mlir %t/local.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: sed 's/"residual"/"residual", tp.placements = {"0" = #tp.placement<replicated>}/' %t/captured.mlir > %t/stated.mlir
// RUN: commute verify %t/stated.mlir %t/local.mlir | FileCheck %s --check-prefix=STATED

// CHECK: equivalent on 2 ranks
// CHECK-NEXT: assumed (not stated):
// CHECK-NEXT:   input 'x' is varying on group '0'
// CHECK-NEXT:   input 'residual' is varying on group '0'
// CHECK-NEXT:   input 'w' is replicated on group '0' (the weight or bias of a norm)

// DIFFERENT: different: output 0 differs on rank 0

// STATED: equivalent on 2 ranks
// STATED-NEXT: stated of inputs:
// STATED-NEXT:   on group '0', replicated: residual
// STATED-NEXT: assumed (not stated):
// STATED-NOT: residual

// A rewrite rests on the default without a proof, too.
// RUN: commute opt %t/stated.mlir -o %t/out.mlir --no-verify --policy=always --passes=sequence-parallel | FileCheck %s --check-prefix=OPT
// RUN: commute opt %t/stated.mlir -o %t/out.mlir --no-verify --policy=always --passes=sequence-parallel --json | FileCheck %s --check-prefix=OPT-JSON
// RUN: commute explain %t/stated.mlir | FileCheck %s --check-prefix=OPT
// RUN: commute verify %t/stated.mlir %t/local.mlir --json | FileCheck %s --check-prefix=JSON
// OPT: assumed (not stated): on group '0', replicated: w (weights or biases of norms)
// OPT-JSON: "assumptions": [
// OPT-JSON-NEXT: "on group '0', replicated: w (weights or biases of norms)"
// JSON: "premises": [
// JSON-NEXT: "on group '0', replicated: residual"

//--- captured.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}, %residual: tensor<4x6xf32> {tp.name = "residual"}, %w: tensor<6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %1 = tp.map add(%0, %residual) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-05 dims 1 : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %2 : tensor<4x6xf32>
  }
}

//--- local.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}, %residual: tensor<4x6xf32> {tp.name = "residual"}, %w: tensor<6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<2x6xf32>
    %1 = tp.rank_slice %residual slice_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<2x6xf32>
    %2 = tp.map add(%0, %1) : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
    %3 = tp.rms_norm %2 weight %w epsilon 1.0e-05 dims 1 : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
    %4 = tp.all_gather %3 gather_axis 0 group <"0", [0, 1]> : tensor<2x6xf32> -> tensor<4x6xf32>
    return %4 : tensor<4x6xf32>
  }
}
