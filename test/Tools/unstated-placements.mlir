// A remark names the inputs of unknown placement that a rewrite would need, and
// `explain` says what stating them would save. A conflict with a default is
// none: nothing says that `hidden` is not a summand's factor.
// RUN: commute opt %s -o %t.mlir | FileCheck %s
// RUN: commute explain %s | FileCheck %s --check-prefix=EXPLAIN
// RUN: commute opt %s -o %t.mlir --input-placement='(norm.weight|bias)=replicated' --input-placement='gain=replicated@tp' | FileCheck %s --check-prefix=STATED
// RUN: commute show %s | FileCheck %s --check-prefix=SHOW
// RUN: commute show %s --input-placement=scale=replicated | FileCheck %s --check-prefix=CONFLICT

// CHECK: kept as all_reduce: along dim 0, tp.map uses operand 1, which is not known to be replicated: nothing states the placement of 'gain', 'bias'; with that, sequence parallelism would take {{.*}} us instead of {{.*}} us on h100x8; as it is, {{.*}} us instead of {{.*}} us; if they are equal on all ranks, state that with --input-placement='(gain|bias)=replicated@tp'

// EXPLAIN: 1. {{[0-9.]+}} us ({{.*}} %), 1 site: if these inputs are equal on all ranks, state that
// EXPLAIN-NEXT: --input-placement='(gain|bias)=replicated@tp'

// STATED: applied
// STATED: stated of inputs:
// STATED-NEXT: on group 'tp', replicated: bias, gain, norm.weight

// SHOW-NOT: placements that conflict
// CONFLICT: placements that conflict with operations:
// CONFLICT: sums a value that is replicated

module {
  func.func @main(%x: tensor<8192x1024xbf16> {tp.name = "x"}, %down: tensor<1024x4096xbf16> {tp.name = "down"},
      %gain: tensor<4096xbf16> {tp.name = "gain"}, %bias: tensor<4096xbf16> {tp.name = "bias"},
      %norm: tensor<4096xbf16> {tp.name = "p_norm_weight", tp.parameter = "norm.weight"},
      %up: tensor<4096x1024xbf16> {tp.name = "up"}, %scale: tensor<8xf32> {tp.name = "scale"})
      -> (tensor<8192x1024xbf16>, tensor<4x8xf32>) {
    %0 = tp.matmul %x, %down : (tensor<8192x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<8192x4096xbf16>
    %1 = tp.all_reduce sum %0 group <"tp", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8192x4096xbf16> -> tensor<8192x4096xbf16>
    %2 = tp.map add(%gain, %bias) : (tensor<4096xbf16>, tensor<4096xbf16>) -> tensor<4096xbf16>
    %3 = tp.map add(%1, %2) : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> tensor<8192x4096xbf16>
    %silu = tp.map silu(%3) : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %product = tp.map mul(%silu, %3) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %exp = tp.map tanh(%product) : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %4 = tp.rms_norm %exp weight %norm epsilon 1.0e-05 dims 1 : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> tensor<8192x4096xbf16>
    %5 = tp.matmul %4, %up : (tensor<8192x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<8192x1024xbf16>
    // The default of a weight of a norm, here of constant rows.
    %one = tp.constant 1.0 : f64 -> tensor<4x8xf32>
    %6 = tp.rms_norm %one weight %scale epsilon 1.0e-05 dims 1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %7 = tp.all_reduce sum %6 group <"tp", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4x8xf32> -> tensor<4x8xf32>
    return %5, %7 : tensor<8192x1024xbf16>, tensor<4x8xf32>
  }
}
