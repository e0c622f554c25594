// When a fusion pays: by price, by the incumbent's rule, or always.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute opt %t/prefill.mlir -o %t/out.mlir --passes=micro-pipeline | FileCheck %s --check-prefix=PREFILL
// RUN: commute opt %t/decode.mlir -o %t/out.mlir --passes=micro-pipeline | FileCheck %s --check-prefix=DECODE
// RUN: commute opt %t/prefill.mlir -o %t/out.mlir --passes='micro-pipeline{margin=1}' | FileCheck %s --check-prefix=MARGIN
// RUN: commute opt %t/decode.mlir -o %t/out.mlir --passes='micro-pipeline{policy=upstream}' | FileCheck %s --check-prefix=UPSTREAM
// RUN: commute opt %t/contraction.mlir -o %t/out.mlir --passes='micro-pipeline{policy=upstream}' | FileCheck %s --check-prefix=CONTRACTION
// RUN: commute opt %t/decode.mlir -o %t/out.mlir --policy=always --passes=micro-pipeline | FileCheck %s --check-prefix=ALWAYS
// RUN: not commute opt %t/decode.mlir -o %t/out.mlir --passes='micro-pipeline{policy=seldom}' 2>&1 | FileCheck %s --check-prefix=POLICY

// PREFILL: applied {{.*}}fused with tp.matmul; {{.*}} us before, {{.*}} us after on h100x8
// DECODE: refused {{.*}}not fused: {{.*}} us fused, {{.*}} us unfused on h100x8
// MARGIN: refused {{.*}}not fused: {{[0-9.]+}} us fused, {{[0-9.]+}} us unfused on h100x8; the gain of {{[0-9.]+}} % is below the margin of 100.0 %
// UPSTREAM: applied {{.*}}fused with tp.matmul
// CONTRACTION-DAG: applied {{.*}}fused with tp.matmul
// CONTRACTION-DAG: refused {{.*}}not fused: each rank's shard has 1000 elements along the contraction dimension, and upstream's rule needs at least 1024
// ALWAYS: applied {{.*}}fused with tp.matmul
// POLICY: micro-pipeline: unknown policy 'seldom'; expected always, profitable or upstream

//--- prefill.mlir
module {
  func.func @main(%x: tensor<4096x8192xbf16>, %a: tensor<8192x3584xbf16>) -> tensor<32768x3584xbf16> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4096x8192xbf16> -> tensor<32768x8192xbf16>
    %1 = tp.matmul %0, %a : (tensor<32768x8192xbf16>, tensor<8192x3584xbf16>) -> tensor<32768x3584xbf16>
    return %1 : tensor<32768x3584xbf16>
  }
}

//--- decode.mlir
module {
  func.func @main(%x: tensor<4x8192xbf16>, %a: tensor<8192x3584xbf16>) -> tensor<32x3584xbf16> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4x8192xbf16> -> tensor<32x8192xbf16>
    %1 = tp.matmul %0, %a : (tensor<32x8192xbf16>, tensor<8192x3584xbf16>) -> tensor<32x3584xbf16>
    return %1 : tensor<32x3584xbf16>
  }
}

//--- contraction.mlir
module {
  func.func @main(%x: tensor<64x1000xbf16>, %a: tensor<2000x128xbf16>, %y: tensor<64x1024xbf16>, %b: tensor<2048x128xbf16>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<64x1000xbf16> -> tensor<64x2000xbf16>
    %1 = tp.matmul %0, %a : (tensor<64x2000xbf16>, tensor<2000x128xbf16>) -> tensor<64x128xbf16>
    %2 = tp.all_gather %y gather_axis 1 group <"0", [0, 1]> : tensor<64x1024xbf16> -> tensor<64x2048xbf16>
    %3 = tp.matmul %2, %b : (tensor<64x2048xbf16>, tensor<2048x128xbf16>) -> tensor<64x128xbf16>
    return %1, %3 : tensor<64x128xbf16>, tensor<64x128xbf16>
  }
}
