// Programs that are compiled for a range of a symbolic size: a rewrite must pay at the
// smallest size, whatever the size at capture.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute opt %t/large.mlir -o %t/out.mlir --passes=sequence-parallel --assume='s0 % 4 == 0' | FileCheck %s --check-prefix=LARGE
// RUN: commute opt %t/small.mlir -o %t/out.mlir --passes=sequence-parallel --assume='s0 % 4 == 0' | FileCheck %s --check-prefix=SMALL
// RUN: commute opt %t/small.mlir -o %t/out.mlir --passes=sequence-parallel --assume='s0 % 4 == 0' --policy=always | FileCheck %s --check-prefix=LARGE
// RUN: not commute opt %t/reversed.mlir -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=REVERSED
// LARGE: 1 all_reduces replaced by reduce_scatters
// SMALL: kept as all_reduce: sequence parallelism along dim 0 ({{.*}}16 rows
// REVERSED: attribute 'tp.size_ranges' must be a dictionary from symbols to their smallest and largest value, for example {s0 = array<i64: 16, 64>}

//--- large.mlir
module attributes {tp.size_ranges = {s0 = array<i64: 65536, 131072>}, tp.symbol_hints = {s0 = 16 : i64}} {
  func.func @main(%p: tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, %w: tensor<8192xbf16>, %b: tensor<8192x8192xbf16>) -> (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>> -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %3 = tp.matmul %2, %b : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192x8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    return %3 : tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
  }
}

//--- small.mlir
module attributes {tp.size_ranges = {s0 = array<i64: 16, 131072>}, tp.symbol_hints = {s0 = 131072 : i64}} {
  func.func @main(%p: tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, %w: tensor<8192xbf16>, %b: tensor<8192x8192xbf16>) -> (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>> -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %3 = tp.matmul %2, %b : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192x8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    return %3 : tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
  }
}

//--- reversed.mlir
module attributes {tp.size_ranges = {s0 = array<i64: 64, 16>}, tp.symbol_hints = {s0 = 16 : i64}} {
  func.func @main(%p: tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, %w: tensor<8192xbf16>, %b: tensor<8192x8192xbf16>) -> (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>> -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    %3 = tp.matmul %2, %b : (tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>, tensor<8192x8192xbf16>) -> tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
    return %3 : tensor<?x8192xbf16, #tp.layout<[s0] sizes = [s0, 8192]>>
  }
}
