// RUN: split-file %s %t
// RUN: not commute run %t/index.mlir 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not commute run %t/outside.mlir 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not commute run %t/rows.mlir 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not commute run %t/symbol.mlir 2>&1 | FileCheck %s --check-prefix=SYMBOL
// RUN: not commute run %t/complex.mlir 2>&1 | FileCheck %s --check-prefix=COMPLEX
// RUN: not commute run %t/large.mlir 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not commute run %t/offsets.mlir 2>&1 | FileCheck %s --check-prefix=OFFSETS
// RUN: not commute run %t/opaque.mlir 2>&1 | FileCheck %s --check-prefix=OPAQUE
// RUN: not commute run %t/index.mlir --ranks=3 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not commute run %t/index.mlir --timeout=0 2>&1 | FileCheck %s --check-prefix=TIMEOUT
// RUN: not commute run %t/index.mlir --inputs=%t/index.mlir 2>&1 | FileCheck %s --check-prefix=FILE

// One rank fails while the other waits for it in a collective.
// INDEX: error: {{.*}}index.mlir: rank 1: tp.take at {{.*}}index.mlir:6: index 2 is out of range: dim 0 of the table has size 2
//--- index.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<2xf32>) -> tensor<1xf32> {
    %all = tp.iota 1 : i64 step 1 : i64 -> tensor<2xi64>
    %id = tp.rank_slice %all slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>

    %0 = tp.take %x, %id dim 0 : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
    %1 = tp.all_reduce sum %0 group <"0", [0, 1]> : tensor<1xf32> -> tensor<1xf32>
    return %1 : tensor<1xf32>
  }
}

// Rank 2 takes part in a collective of others.
// OUTSIDE: error: {{.*}}rank 2: tp.all_reduce at {{.*}}: rank 2 runs a collective of group "1", of which it is not a member
//--- outside.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1, 2]>]} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %1 = tp.all_reduce sum %x group <"1", [0, 1]> : tensor<2xf32> -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

// ROWS: error: {{.*}}tp.all_to_all at {{.*}}: expected {{3 rows from member 0 of the group, but received 1|1 rows from member 1 of the group, but received 3}}
//--- rows.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %1 = tp.all_to_all %x output_splits [3, 1] input_splits [1, 3] group <"0", [0, 1]>
      : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// SYMBOL: error: {{.*}}input 'arg0': the size of dim 0 is unknown; give the tensor with --inputs
//--- symbol.mlir
func.func @main(%x: tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>)
    -> tensor<?xf32, #tp.layout<[s0] sizes = [s0]>> {
  return %x : tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
}

// COMPLEX: error: {{.*}}tp.map on elements of type complex<f32>, which the runtime does not support
//--- complex.mlir
func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = tp.map neg(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}

// LARGE: error: {{.*}}tp.constant at {{.*}}: a tensor of sizes [1099511627776, 1099511627776] is larger than this machine's memory
//--- large.mlir
func.func @main() -> tensor<1099511627776x1099511627776xf32> {
  %0 = tp.constant 1.0 : f32 -> tensor<1099511627776x1099511627776xf32>
  return %0 : tensor<1099511627776x1099511627776xf32>
}

// OPAQUE: error: {{.*}}opaque.mlir:2: operator torch.ops.mylib.op.default is not modelled and cannot be run
//--- opaque.mlir
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tp.call "torch.ops.mylib.op.default"(%x) arguments "[]" : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// RANKS: error: --ranks=3: the groups of the graph have 2 ranks; --group states the members of a group
// TIMEOUT: error: --timeout=0: expected a number from 1 to
// FILE: error: {{.*}}index.mlir: not a safetensors file: it states a header of

// OFFSETS: error: {{.*}}tp.grouped_matmul at {{.*}}: offset 5 of group 1 is not between 4 and 4
//--- offsets.mlir
func.func @main(%x: tensor<4x8xf32>, %w: tensor<2x8x3xf32>) -> tensor<4x3xf32> {
  %i = tp.iota 4 : i64 step 1 : i64 -> tensor<2xi64>
  %r = tp.grouped_matmul %x, %w offsets %i : (tensor<4x8xf32>, tensor<2x8x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}
