// Grouped products: each row is multiplied by the matrix of its group.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- experts.mlir
// Products of all rows with each matrix, of which each row takes its own.
func.func @main(%x: tensor<48x512xf32>, %w: tensor<3x512x256xf32>) -> tensor<48x256xf32> {
  %i = tp.iota 16 : i64 step 16 : i64 -> tensor<3xi64>
  %r = tp.grouped_matmul %x, %w offsets %i : (tensor<48x512xf32>, tensor<3x512x256xf32>, tensor<3xi64>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- experts.equal.mlir
func.func @main(%x: tensor<48x512xf32>, %w: tensor<3x512x256xf32>) -> tensor<48x256xf32> {
  %rows = tp.reshape %x : tensor<48x512xf32> -> tensor<3x16x512xf32>
  %p = tp.matmul %rows, %w : (tensor<3x16x512xf32>, tensor<3x512x256xf32>) -> tensor<3x16x256xf32>
  %r = tp.reshape %p : tensor<3x16x256xf32> -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- experts.equal-contraction.mlir
// Parts of the contraction dim are summed.
func.func @main(%x: tensor<48x512xf32>, %w: tensor<3x512x256xf32>) -> tensor<48x256xf32> {
  %i = tp.iota 16 : i64 step 16 : i64 -> tensor<3xi64>
  %x0 = tp.slice %x dim 1 start 0 step 1 : tensor<48x512xf32> -> tensor<48x200xf32, #tp.layout<strides = [512, 1]>>
  %x1 = tp.slice %x dim 1 start 200 step 1 : tensor<48x512xf32> -> tensor<48x312xf32, #tp.layout<strides = [512, 1]>>
  %w0 = tp.slice %w dim 1 start 0 step 1 : tensor<3x512x256xf32> -> tensor<3x200x256xf32, #tp.layout<strides = [131072, 256, 1]>>
  %w1 = tp.slice %w dim 1 start 200 step 1 : tensor<3x512x256xf32> -> tensor<3x312x256xf32, #tp.layout<strides = [131072, 256, 1]>>
  %a = tp.grouped_matmul %x0, %w0 offsets %i : (tensor<48x200xf32, #tp.layout<strides = [512, 1]>>, tensor<3x200x256xf32, #tp.layout<strides = [131072, 256, 1]>>, tensor<3xi64>) -> tensor<48x256xf32>
  %b = tp.grouped_matmul %x1, %w1 offsets %i : (tensor<48x312xf32, #tp.layout<strides = [512, 1]>>, tensor<3x312x256xf32, #tp.layout<strides = [131072, 256, 1]>>, tensor<3xi64>) -> tensor<48x256xf32>
  %r = tp.map add(%a, %b) : (tensor<48x256xf32>, tensor<48x256xf32>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- experts.wrong-offsets.mlir
func.func @main(%x: tensor<48x512xf32>, %w: tensor<3x512x256xf32>) -> tensor<48x256xf32> {
  %i = tp.iota 15 : i64 step 16 : i64 -> tensor<3xi64>
  %r = tp.grouped_matmul %x, %w offsets %i : (tensor<48x512xf32>, tensor<3x512x256xf32>, tensor<3xi64>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- rest.mlir
// Rows of no group are zero.
func.func @main(%x: tensor<48x512xf32>, %w: tensor<2x512x256xf32>) -> tensor<48x256xf32> {
  %i = tp.iota 10 : i64 step 10 : i64 -> tensor<2xi64>
  %r = tp.grouped_matmul %x, %w offsets %i : (tensor<48x512xf32>, tensor<2x512x256xf32>, tensor<2xi64>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- rest.equal.mlir
func.func @main(%x: tensor<48x512xf32>, %w: tensor<2x512x256xf32>) -> tensor<48x256xf32> {
  %zeros = tp.constant 0.0 : f64 -> tensor<48x256xf32>
  %i = tp.iota 10 : i64 step 10 : i64 -> tensor<2xi64>
  %r = tp.grouped_matmul %x, %w offsets %i rest %zeros : (tensor<48x512xf32>, tensor<2x512x256xf32>, tensor<2xi64>, tensor<48x256xf32>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- rest.wrong-ones.mlir
func.func @main(%x: tensor<48x512xf32>, %w: tensor<2x512x256xf32>) -> tensor<48x256xf32> {
  %ones = tp.constant 1.0 : f64 -> tensor<48x256xf32>
  %i = tp.iota 10 : i64 step 10 : i64 -> tensor<2xi64>
  %r = tp.grouped_matmul %x, %w offsets %i rest %ones : (tensor<48x512xf32>, tensor<2x512x256xf32>, tensor<2xi64>, tensor<48x256xf32>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- rest.wrong-uninitialized.mlir
func.func @main(%x: tensor<48x512xf32>, %w: tensor<2x512x256xf32>) -> tensor<48x256xf32> {
  %e = tp.empty : tensor<48x256xf32>
  %i = tp.iota 10 : i64 step 10 : i64 -> tensor<2xi64>
  %r = tp.grouped_matmul %x, %w offsets %i rest %e : (tensor<48x512xf32>, tensor<2x512x256xf32>, tensor<2xi64>, tensor<48x256xf32>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}

//--- weights.mlir
// The contraction dim is grouped.
func.func @main(%x: tensor<256x48xf32>, %g: tensor<48x128xf32>) -> tensor<3x256x128xf32> {
  %i = tp.iota 16 : i64 step 16 : i64 -> tensor<3xi64>
  %r = tp.grouped_matmul %x, %g offsets %i : (tensor<256x48xf32>, tensor<48x128xf32>, tensor<3xi64>) -> tensor<3x256x128xf32>
  return %r : tensor<3x256x128xf32>
}

//--- weights.equal.mlir
func.func @main(%x: tensor<256x48xf32>, %g: tensor<48x128xf32>) -> tensor<3x256x128xf32> {
  %split = tp.reshape %x : tensor<256x48xf32> -> tensor<256x3x16xf32>
  %first = tp.permute %split [1, 0, 2] : tensor<256x3x16xf32> -> tensor<3x256x16xf32, #tp.layout<strides = [16, 48, 1]>>
  %rows = tp.reshape %g : tensor<48x128xf32> -> tensor<3x16x128xf32>
  %r = tp.matmul %first, %rows : (tensor<3x256x16xf32, #tp.layout<strides = [16, 48, 1]>>, tensor<3x16x128xf32>) -> tensor<3x256x128xf32>
  return %r : tensor<3x256x128xf32>
}

//--- weights.wrong-offsets.mlir
func.func @main(%x: tensor<256x48xf32>, %g: tensor<48x128xf32>) -> tensor<3x256x128xf32> {
  %i = tp.iota 14 : i64 step 17 : i64 -> tensor<3xi64>
  %r = tp.grouped_matmul %x, %g offsets %i : (tensor<256x48xf32>, tensor<48x128xf32>, tensor<3xi64>) -> tensor<3x256x128xf32>
  return %r : tensor<3x256x128xf32>
}

//--- unknown.mlir
// Offsets from outside.
func.func @main(%x: tensor<20x512xf32>, %w: tensor<2x512x256xf32>, %i: tensor<2xi64>) -> tensor<20x256xf32> {
  %r = tp.grouped_matmul %x, %w offsets %i : (tensor<20x512xf32>, tensor<2x512x256xf32>, tensor<2xi64>) -> tensor<20x256xf32>
  return %r : tensor<20x256xf32>
}

//--- unknown.wrong-first.mlir
func.func @main(%x: tensor<20x512xf32>, %w: tensor<2x512x256xf32>, %i: tensor<2xi64>) -> tensor<20x256xf32> {
  %w0 = tp.slice %w dim 0 start 0 step 1 : tensor<2x512x256xf32> -> tensor<1x512x256xf32>
  %m = tp.reshape %w0 : tensor<1x512x256xf32> -> tensor<512x256xf32>
  %r = tp.matmul %x, %m : (tensor<20x512xf32>, tensor<512x256xf32>) -> tensor<20x256xf32>
  return %r : tensor<20x256xf32>
}
