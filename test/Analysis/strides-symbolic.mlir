// Strides over symbolic sizes: what is proven, what symbols decide.
// RUN: commute-opt %s --print-op-facts="strides=true" -verify-diagnostics

!tokens = tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>
!split = tensor<?x8x64xf32, #tp.layout<[s0] sizes = [s0, 8, 64]>>
!any = tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64], strides = ?>>

func.func @dense_whatever_the_symbols_are(%x: !tokens, %row: tensor<64xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %a = tp.map neg(%x) : (!tokens) -> !any
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %b = tp.map add(%x, %row) : (!tokens, tensor<64xf32>) -> !any
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %c = tp.reshape %x : !tokens -> !split
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %d = tp.concat %x, %x dim 0 : (!tokens, !tokens) -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 16, 64], strides = ?>>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %e = tp.slice %x dim 0 start 8 step 1 : !tokens -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8 - 8, 64], strides = ?>>
  return
}

func.func @two_symbols(%x: tensor<?x?x64xf32, #tp.layout<[batch, length] sizes = [batch, length, 64]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %a = tp.reshape %x : tensor<?x?x64xf32, #tp.layout<[batch, length] sizes = [batch, length, 64]>> -> tensor<?x64xf32, #tp.layout<[batch, length] sizes = [batch * length, 64], strides = ?>>
  // A batch or a length of 1 would make this dense.
  // expected-remark @below {{result 0 is unknown: whether strides [64, length * 64, 1] are dense depends on symbols}}
  %b = tp.permute %x [1, 0, 2] : tensor<?x?x64xf32, #tp.layout<[batch, length] sizes = [batch, length, 64]>> -> tensor<?x?x64xf32, #tp.layout<[batch, length] sizes = [length, batch, 64], strides = [64, length * 64, 1]>>
  // An elementwise op keeps the order of dims: symbols are at least 1.
  // expected-remark @below {{result 0 is unknown: whether strides [64, length * 64, 1] are dense depends on symbols}}
  %c = tp.map neg(%b) : (tensor<?x?x64xf32, #tp.layout<[batch, length] sizes = [length, batch, 64], strides = [64, length * 64, 1]>>) -> tensor<?x?x64xf32, #tp.layout<[batch, length] sizes = [length, batch, 64], strides = ?>>
  return
}

func.func @gaps_go(%x: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64], strides = [128, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %a = tp.map neg(%x) : (tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64], strides = [128, 1]>>) -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64], strides = ?>>
  return
}

// Which of two dims is the outer one is up to the symbols.
func.func @order_not_known(%x: tensor<?x?xf32, #tp.layout<[a, b] sizes = [a, b], strides = [a, b]>>) {
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %r = tp.map neg(%x) : (tensor<?x?xf32, #tp.layout<[a, b] sizes = [a, b], strides = [a, b]>>) -> tensor<?x?xf32, #tp.layout<[a, b] sizes = [a, b], strides = ?>>
  return
}

// Neither a view nor a copy is certain.
func.func @reshape_of_gaps(%x: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64], strides = [128, 1]>>) {
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %a = tp.reshape %x : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64], strides = [128, 1]>> -> tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 512], strides = ?>>
  // A view for certain: only the last dim is cut.
  // expected-remark @below {{result 0 is unknown: whether strides [128, 8, 1] are dense depends on symbols}}
  %b = tp.reshape %x : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64], strides = [128, 1]>> -> tensor<?x8x8xf32, #tp.layout<[s0] sizes = [s0 * 8, 8, 8], strides = ?>>
  return
}

// A symbolic size may be 1, so no stride is certainly wrong.
func.func @not_certainly_strided(%x: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4], strides = [8, 1]>>) {
  // expected-remark @below {{result 0 is unknown: whether strides [8, 1] are dense depends on symbols}}
  %r = tp.wait %x : tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4], strides = [8, 1]>> -> tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4], strides = [8, 1]>>
  return
}

// Sizes of which nothing is stated.
func.func @unstated_sizes(%x: tensor<?x?xf32>) {
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %r = tp.map neg(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return
}

func.func @broadcast(%x: tensor<1x64xf32>) {
  // expected-remark @below {{result 0 is unknown: whether strides [0, 1] are dense depends on symbols}}
  %r = tp.broadcast %x : tensor<1x64xf32> -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64], strides = ?>>
  return
}
