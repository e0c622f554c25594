// What both programs have in common is not evaluated, and neither are layers
// that repeat, however often; a difference in one of them is found.
// RUN: split-file %s %t
// RUN: commute verify %t/captured.mlir %t/captured.mlir --json | FileCheck %s --check-prefix=SAME
// RUN: commute verify %t/captured.mlir %t/captured.mlir --json --whole | FileCheck %s --check-prefix=WHOLE
// RUN: commute verify %t/captured.mlir %t/rewritten.mlir --json | FileCheck %s --check-prefix=REPEATED
// RUN: sed 's/reduce_scatter sum %%b3/reduce_scatter avg %%b3/' %t/rewritten.mlir > %t/faulty.mlir
// RUN: not commute verify %t/captured.mlir %t/faulty.mlir | FileCheck %s --check-prefix=FAULTY

// SAME: "equivalent": true
// SAME-NEXT: "evaluated_ops": 0
// WHOLE: "evaluated_ops": 16

// Of four layers in both programs, the third and the fourth are the second.
// REPEATED: "equivalent": true
// REPEATED-NEXT: "evaluated_ops": {{[1-9]|1[0-4]}},
// REPEATED: "ops": 20

// FAULTY: different: output 0 differs on rank 0 at index [0, 0]

//--- captured.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x8xf32>, %w0: tensor<8xf32>, %w1: tensor<8xf32>, %w2: tensor<8xf32>, %w3: tensor<8xf32>) -> tensor<4x8xf32> {
    %b0 = tp.map mul(%x, %w0) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %c0 = tp.all_reduce sum %b0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    %b1 = tp.map mul(%c0, %w1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %c1 = tp.all_reduce sum %b1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    %b2 = tp.map mul(%c1, %w2) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %c2 = tp.all_reduce sum %b2 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    %b3 = tp.map mul(%c2, %w3) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %c3 = tp.all_reduce sum %b3 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    return %c3 : tensor<4x8xf32>
  }
}

//--- rewritten.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x8xf32>, %w0: tensor<8xf32>, %w1: tensor<8xf32>, %w2: tensor<8xf32>, %w3: tensor<8xf32>) -> tensor<4x8xf32> {
    %b0 = tp.map mul(%x, %w0) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %s0 = tp.reduce_scatter sum %b0 scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
    %c0 = tp.all_gather %s0 gather_axis 0 group <"0", [0, 1]> : tensor<2x8xf32> -> tensor<4x8xf32>
    %b1 = tp.map mul(%c0, %w1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %s1 = tp.reduce_scatter sum %b1 scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
    %c1 = tp.all_gather %s1 gather_axis 0 group <"0", [0, 1]> : tensor<2x8xf32> -> tensor<4x8xf32>
    %b2 = tp.map mul(%c1, %w2) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %s2 = tp.reduce_scatter sum %b2 scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
    %c2 = tp.all_gather %s2 gather_axis 0 group <"0", [0, 1]> : tensor<2x8xf32> -> tensor<4x8xf32>
    %b3 = tp.map mul(%c2, %w3) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %s3 = tp.reduce_scatter sum %b3 scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
    %c3 = tp.all_gather %s3 gather_axis 0 group <"0", [0, 1]> : tensor<2x8xf32> -> tensor<4x8xf32>
    return %c3 : tensor<4x8xf32>
  }
}
