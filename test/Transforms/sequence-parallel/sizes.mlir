// Sizes that are proven or assumed divisible, and padding.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute opt %t/proven.mlir -o - --quiet --policy=always --passes=sequence-parallel | FileCheck %s --check-prefix=PROVEN
// RUN: commute opt %t/assumed.mlir -o - --policy=always --passes=sequence-parallel --assume='s0 % 4 == 0' | FileCheck %s --check-prefix=ASSUMED
// RUN: commute opt %t/padded.mlir -o - --quiet --policy=always --passes='sequence-parallel{pad=true}' | FileCheck %s --check-prefix=PADDED

//--- proven.mlir
// PROVEN: tp.reduce_scatter {{.*}} sizes = [s0 * 2, 16]
// PROVEN: tp.all_gather
module {
  func.func @main(%p: tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>> -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>, tensor<16xbf16>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>
    %2 = tp.matmul %1, %b : (tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>, tensor<16x16xbf16>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>
    return %2 : tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0 * 8, 16]>>
  }
}

//--- assumed.mlir
// ASSUMED: tp.assumptions = ["s0 % 4 == 0"]
// ASSUMED: tp.reduce_scatter {{.*}} sizes = [s0 floordiv 4, 16]
// ASSUMED: tp.all_gather
module {
  func.func @main(%p: tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>> -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>, tensor<16xbf16>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>
    %2 = tp.matmul %1, %b : (tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>, tensor<16x16xbf16>) -> tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>
    return %2 : tensor<?x16xbf16, #tp.layout<[s0] sizes = [s0, 16]>>
  }
}

//--- padded.mlir
// PADDED: tp.concat {{.*}} -> tensor<12x16xbf16>
// PADDED: tp.reduce_scatter {{.*}} -> tensor<3x16xbf16>
// PADDED: tp.rms_norm
// PADDED: tp.all_gather {{.*}} -> tensor<12x16xbf16>
// PADDED: tp.slice {{.*}} -> tensor<10x16xbf16>
module {
  func.func @main(%p: tensor<10x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<10x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<10x16xbf16> -> tensor<10x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<10x16xbf16>, tensor<16xbf16>) -> tensor<10x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<10x16xbf16>, tensor<16x16xbf16>) -> tensor<10x16xbf16>
    return %2 : tensor<10x16xbf16>
  }
}
