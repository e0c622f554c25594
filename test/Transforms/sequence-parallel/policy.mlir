// The price decides: decode stays, prefill is rewritten, and the remark names the
// size from which it pays.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute opt %t/decode.mlir -o %t/out.mlir --passes=sequence-parallel | FileCheck %s --check-prefix=DECODE
// RUN: commute opt %t/prefill.mlir -o %t/out.mlir --passes=sequence-parallel | FileCheck %s --check-prefix=PREFILL
// RUN: commute opt %t/decode.mlir -o %t/out.mlir --passes=sequence-parallel --policy=always | FileCheck %s --check-prefix=ALWAYS
// RUN: commute opt %t/prefill.mlir -o %t/out.mlir --passes='sequence-parallel{target=mi300x8}' | FileCheck %s --check-prefix=OTHER
// RUN: not commute opt %t/decode.mlir -o %t/none.mlir --policy=sometimes 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not commute opt %t/decode.mlir -o %t/none.mlir --target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not ls %t/none.mlir
// DECODE: kept as all_reduce: sequence parallelism along dim 0 (64 rows over 8 ranks of group '0') would take {{[0-9.]+}} us instead of {{[0-9.]+}} us on h100x8; profitable from about {{[0-9]+}} rows
// DECODE-NOT: replaced by
// PREFILL: sequence parallelism along dim 0 (16384 rows over 8 ranks of group '0'): 3 all_reduces replaced by reduce_scatters, 5 ops run on shards, 3 values gathered; {{[0-9.]+}} us before, {{[0-9.]+}} us after on h100x8; profitable from about {{[0-9]+}} rows
// PREFILL: proof: equivalent on 8 ranks
// ALWAYS: 3 all_reduces replaced by reduce_scatters
// OTHER: on mi300x8
// POLICY: error: --policy=sometimes: expected always or profitable
// TARGET: error: {{.*}}abacus{{.*}}h100x8

//--- decode.mlir
module {
  func.func @main(%p: tensor<64x8192xbf16>, %q: tensor<64x8192xbf16>, %w: tensor<8192xbf16>, %b: tensor<8192x1024xbf16>, %c: tensor<1024x8192xbf16>) -> (tensor<64x1024xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<64x8192xbf16> -> tensor<64x8192xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<64x8192xbf16>, tensor<8192xbf16>) -> tensor<64x8192xbf16>
    %2 = tp.matmul %1, %b : (tensor<64x8192xbf16>, tensor<8192x1024xbf16>) -> tensor<64x1024xbf16>
    %3 = tp.matmul %2, %c : (tensor<64x1024xbf16>, tensor<1024x8192xbf16>) -> tensor<64x8192xbf16>
    %4 = tp.all_reduce sum %3 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<64x8192xbf16> -> tensor<64x8192xbf16>
    %5 = tp.map add(%0, %4) : (tensor<64x8192xbf16>, tensor<64x8192xbf16>) -> tensor<64x8192xbf16>
    %6 = tp.rms_norm %5 weight %w epsilon 1.0e-06 dims 1 : (tensor<64x8192xbf16>, tensor<8192xbf16>) -> tensor<64x8192xbf16>
    %7 = tp.matmul %6, %b : (tensor<64x8192xbf16>, tensor<8192x1024xbf16>) -> tensor<64x1024xbf16>
    %8 = tp.matmul %7, %c : (tensor<64x1024xbf16>, tensor<1024x8192xbf16>) -> tensor<64x8192xbf16>
    %9 = tp.all_reduce sum %8 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<64x8192xbf16> -> tensor<64x8192xbf16>
    %10 = tp.map add(%5, %9) : (tensor<64x8192xbf16>, tensor<64x8192xbf16>) -> tensor<64x8192xbf16>
    %11 = tp.rms_norm %10 weight %w epsilon 1.0e-06 dims 1 : (tensor<64x8192xbf16>, tensor<8192xbf16>) -> tensor<64x8192xbf16>
    %12 = tp.matmul %11, %b : (tensor<64x8192xbf16>, tensor<8192x1024xbf16>) -> tensor<64x1024xbf16>
    return %12 : tensor<64x1024xbf16>
  }
}

//--- prefill.mlir
module {
  func.func @main(%p: tensor<16384x8192xbf16>, %q: tensor<16384x8192xbf16>, %w: tensor<8192xbf16>, %b: tensor<8192x1024xbf16>, %c: tensor<1024x8192xbf16>) -> (tensor<16384x1024xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<16384x8192xbf16> -> tensor<16384x8192xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<16384x8192xbf16>, tensor<8192xbf16>) -> tensor<16384x8192xbf16>
    %2 = tp.matmul %1, %b : (tensor<16384x8192xbf16>, tensor<8192x1024xbf16>) -> tensor<16384x1024xbf16>
    %3 = tp.matmul %2, %c : (tensor<16384x1024xbf16>, tensor<1024x8192xbf16>) -> tensor<16384x8192xbf16>
    %4 = tp.all_reduce sum %3 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<16384x8192xbf16> -> tensor<16384x8192xbf16>
    %5 = tp.map add(%0, %4) : (tensor<16384x8192xbf16>, tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    %6 = tp.rms_norm %5 weight %w epsilon 1.0e-06 dims 1 : (tensor<16384x8192xbf16>, tensor<8192xbf16>) -> tensor<16384x8192xbf16>
    %7 = tp.matmul %6, %b : (tensor<16384x8192xbf16>, tensor<8192x1024xbf16>) -> tensor<16384x1024xbf16>
    %8 = tp.matmul %7, %c : (tensor<16384x1024xbf16>, tensor<1024x8192xbf16>) -> tensor<16384x8192xbf16>
    %9 = tp.all_reduce sum %8 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<16384x8192xbf16> -> tensor<16384x8192xbf16>
    %10 = tp.map add(%5, %9) : (tensor<16384x8192xbf16>, tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    %11 = tp.rms_norm %10 weight %w epsilon 1.0e-06 dims 1 : (tensor<16384x8192xbf16>, tensor<8192xbf16>) -> tensor<16384x8192xbf16>
    %12 = tp.matmul %11, %b : (tensor<16384x8192xbf16>, tensor<8192x1024xbf16>) -> tensor<16384x1024xbf16>
    return %12 : tensor<16384x1024xbf16>
  }
}
