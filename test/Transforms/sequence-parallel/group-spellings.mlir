// Groups whose collectives are those of another system, and what these can say.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute opt %t/any_dim.mlir -o - --quiet --policy=always --passes=lower-collectives | FileCheck %s --check-prefix=ANY
// RUN: commute opt %t/dim_0.mlir -o - --quiet --policy=always --passes=lower-collectives | FileCheck %s --check-prefix=ZERO
// RUN: commute opt %t/no_scatter.mlir -o %t/out.mlir --policy=always --passes=sequence-parallel | FileCheck %s --check-prefix=NONE
// RUN: commute opt %t/scatter.mlir -o %t/out.mlir --policy=always --passes=sequence-parallel | FileCheck %s --check-prefix=SCATTER
// RUN: not commute opt %t/bad.mlir -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=BAD
// ANY: tp.all_gather %arg0 gather_axis 1
// ZERO: tp.all_gather {{.*}} gather_axis 0
// NONE: kept as all_reduce: other has no reduce_scatter, and PyTorch's name of group 'g' is not stated
// SCATTER: 1 all_reduces replaced by reduce_scatters
// BAD: attribute 'tp.group_spellings' must be a dictionary from group names to dictionaries

//--- any_dim.mlir
module attributes {tp.group_spellings = {g = {gathers_any_dim, vocabulary = "other"}}} {
  func.func @main(%x: tensor<8x16xbf16>) -> (tensor<8x32xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"g", [0, 1]> : tensor<8x16xbf16> -> tensor<8x32xbf16>
    return %0 : tensor<8x32xbf16>
  }
}

//--- dim_0.mlir
module attributes {tp.group_spellings = {g = {vocabulary = "other"}}} {
  func.func @main(%x: tensor<8x16xbf16>) -> (tensor<8x32xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"g", [0, 1]> : tensor<8x16xbf16> -> tensor<8x32xbf16>
    return %0 : tensor<8x32xbf16>
  }
}

//--- no_scatter.mlir
module attributes {tp.group_spellings = {g = {no_reduce_scatter, vocabulary = "other"}}} {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"g", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- scatter.mlir
module attributes {tp.group_spellings = {g = {vocabulary = "other"}}} {
  func.func @main(%p: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"g", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.matmul %1, %b : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- bad.mlir
module attributes {tp.group_spellings = {g = "other"}} {
  func.func @main(%x: tensor<8x16xbf16>) -> (tensor<8x32xbf16>) {
    %0 = tp.all_gather %x gather_axis 1 group <"g", [0, 1]> : tensor<8x16xbf16> -> tensor<8x32xbf16>
    return %0 : tensor<8x32xbf16>
  }
}
