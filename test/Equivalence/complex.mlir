// Complex numbers: their products are those of the parts, on all sizes and samples.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- product.mlir
func.func @main(%x: tensor<64x2xf32> {tp.name = "x"}, %y: tensor<64x2xf32> {tp.name = "y"}) -> tensor<64x2xf32> {
  %a = tp.bitcast %x : tensor<64x2xf32> -> tensor<64xcomplex<f32>>
  %b = tp.bitcast %y : tensor<64x2xf32> -> tensor<64xcomplex<f32>>
  %p = tp.map mul(%a, %b) : (tensor<64xcomplex<f32>>, tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
  %0 = tp.bitcast %p : tensor<64xcomplex<f32>> -> tensor<64x2xf32>
  return %0 : tensor<64x2xf32>
}

//--- product.equal.mlir
func.func @main(%x: tensor<64x2xf32> {tp.name = "x"}, %y: tensor<64x2xf32> {tp.name = "y"}) -> tensor<64x2xf32> {
  %a = tp.slice %x dim 1 start 0 step 1 : tensor<64x2xf32> -> tensor<64x1xf32, #tp.layout<strides = [2, 1]>>
  %b = tp.slice %x dim 1 start 1 step 1 : tensor<64x2xf32> -> tensor<64x1xf32, #tp.layout<strides = [2, 1]>>
  %c = tp.slice %y dim 1 start 0 step 1 : tensor<64x2xf32> -> tensor<64x1xf32, #tp.layout<strides = [2, 1]>>
  %d = tp.slice %y dim 1 start 1 step 1 : tensor<64x2xf32> -> tensor<64x1xf32, #tp.layout<strides = [2, 1]>>
  %ac = tp.map mul(%a, %c) : (tensor<64x1xf32, #tp.layout<strides = [2, 1]>>, tensor<64x1xf32, #tp.layout<strides = [2, 1]>>) -> tensor<64x1xf32>
  %bd = tp.map mul(%b, %d) : (tensor<64x1xf32, #tp.layout<strides = [2, 1]>>, tensor<64x1xf32, #tp.layout<strides = [2, 1]>>) -> tensor<64x1xf32>
  %ad = tp.map mul(%a, %d) : (tensor<64x1xf32, #tp.layout<strides = [2, 1]>>, tensor<64x1xf32, #tp.layout<strides = [2, 1]>>) -> tensor<64x1xf32>
  %bc = tp.map mul(%b, %c) : (tensor<64x1xf32, #tp.layout<strides = [2, 1]>>, tensor<64x1xf32, #tp.layout<strides = [2, 1]>>) -> tensor<64x1xf32>
  %r = tp.map sub(%ac, %bd) : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %i = tp.map add(%ad, %bc) : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %0 = tp.concat %r, %i dim 1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
  return %0 : tensor<64x2xf32>
}

// The parts of one factor exchanged.
//--- product.wrong.mlir
func.func @main(%x: tensor<64x2xf32> {tp.name = "x"}, %y: tensor<64x2xf32> {tp.name = "y"}) -> tensor<64x2xf32> {
  %c = tp.slice %y dim 1 start 0 step 1 : tensor<64x2xf32> -> tensor<64x1xf32, #tp.layout<strides = [2, 1]>>
  %d = tp.slice %y dim 1 start 1 step 1 : tensor<64x2xf32> -> tensor<64x1xf32, #tp.layout<strides = [2, 1]>>
  %s = tp.concat %d, %c dim 1 : (tensor<64x1xf32, #tp.layout<strides = [2, 1]>>, tensor<64x1xf32, #tp.layout<strides = [2, 1]>>) -> tensor<64x2xf32>
  %a = tp.bitcast %x : tensor<64x2xf32> -> tensor<64xcomplex<f32>>
  %b = tp.bitcast %s : tensor<64x2xf32> -> tensor<64xcomplex<f32>>
  %p = tp.map mul(%a, %b) : (tensor<64xcomplex<f32>>, tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
  %0 = tp.bitcast %p : tensor<64xcomplex<f32>> -> tensor<64x2xf32>
  return %0 : tensor<64x2xf32>
}

// A real factor, and the real part of a cast back.
//--- scaled.mlir
func.func @main(%z: tensor<8xcomplex<f32>> {tp.name = "z"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8x2xf32> {
  %p = tp.map mul(%z, %y) : (tensor<8xcomplex<f32>>, tensor<8xf32>) -> tensor<8xcomplex<f32>>
  %0 = tp.bitcast %p : tensor<8xcomplex<f32>> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

//--- scaled.equal.mlir
func.func @main(%z: tensor<8xcomplex<f32>> {tp.name = "z"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8x2xf32> {
  %p = tp.bitcast %z : tensor<8xcomplex<f32>> -> tensor<8x2xf32>
  %c = tp.reshape %y : tensor<8xf32> -> tensor<8x1xf32>
  %0 = tp.map mul(%p, %c) : (tensor<8x2xf32>, tensor<8x1xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

//--- scaled.wrong.mlir
func.func @main(%z: tensor<8xcomplex<f32>> {tp.name = "z"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8x2xf32> {
  %r = tp.cast %z : tensor<8xcomplex<f32>> -> tensor<8xf32>
  %c = tp.cast %r : tensor<8xf32> -> tensor<8xcomplex<f32>>
  %p = tp.map mul(%c, %y) : (tensor<8xcomplex<f32>>, tensor<8xf32>) -> tensor<8xcomplex<f32>>
  %0 = tp.bitcast %p : tensor<8xcomplex<f32>> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
