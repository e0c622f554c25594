// The default pipeline takes the order of passes with the least time for the
// whole program.

// RUN: rm -rf %t && split-file %s %t
// RUN: (commute opt %t/chain.mlir -o %t/out.mlir && cat %t/out.mlir) | FileCheck %s --check-prefix=CHAIN
// RUN: (commute opt %t/excluded.mlir -o %t/out.mlir --force --policy=always && cat %t/out.mlir) | FileCheck %s --check-prefix=EXCLUDED

// No pass is best by itself: each rank's product leaves an all_reduce, whose
// halves are fused with the products on both sides.
// CHAIN: sequence-parallel:
// CHAIN: applied {{.*}}: 1 all_reduces replaced by reduce_scatters
// CHAIN: micro-pipeline:
// CHAIN-COUNT-2: applied {{.*}}: fused with tp.matmul
// CHAIN: proof: equivalent on 2 ranks
// CHAIN: tp.matmul_reduce_scatter
// CHAIN-NEXT: tp.all_gather_matmul
// CHAIN-NEXT: return %

//--- chain.mlir

module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<8192x4096xbf16>, %v: tensor<4096x8192xbf16>, %w: tensor<8192x8192xbf16>) -> (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) {
    %h = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<8192x4096xbf16> -> tensor<8192x8192xbf16>
    %g = tp.all_gather %v gather_axis 0 group <"0", [0, 1]> : tensor<4096x8192xbf16> -> tensor<8192x8192xbf16>
    %y = tp.matmul %h, %g : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>
    %z = tp.matmul %y, %w : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>
    return %y, %z : tensor<8192x8192xbf16>, tensor<8192x8192xbf16>
  }
}

// Of two rewrites that exclude each other the cheaper one is made, and the site
// of the other one says what both take.
// EXCLUDED: refused {{.*}}: not fused: another rewrite excludes it: a step takes {{[0-9.]+}} us with micro-pipeline, and {{[0-9.]+}} us with {{[a-z-]+}}, on h100x8
// EXCLUDED: tp.matmul
// EXCLUDED-NEXT: tp.all_reduce

//--- excluded.mlir

module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<64x32xbf16>, %v: tensor<32x64xbf16>) -> tensor<64x64xbf16> {
    %h = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<64x32xbf16> -> tensor<64x64xbf16>
    %g = tp.all_gather %v gather_axis 0 group <"0", [0, 1]> : tensor<32x64xbf16> -> tensor<64x64xbf16>
    %y = tp.matmul %h, %g : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
}
