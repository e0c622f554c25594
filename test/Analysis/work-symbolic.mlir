// Work over symbolic sizes is counted at the values of capture; without them,
// or beyond what can be counted, nothing is said.
// RUN: commute-opt %s --print-op-facts="work=true" -verify-diagnostics

!x = tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>
!unknown = tensor<?x8xf32, #tp.layout<[s9] sizes = [s9, 8]>>

module attributes {tp.symbol_hints = {s0 = 5 : i64}} {
  func.func @symbolic(%a: !x, %b: !unknown, %c: tensor<?x8xf32>) {
    // expected-remark @below {{matmul flops 0, elementwise flops 160, bytes read 640, bytes written 640}}
    %0 = tp.map neg(%a) : (!x) -> !x
    // expected-remark @below {{work depends on symbols}}
    %1 = tp.map neg(%b) : (!unknown) -> !unknown
    // expected-remark @below {{work depends on symbols}}
    %2 = tp.map neg(%c) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    // Views move nothing whatever their size.
    // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
    %3 = tp.wait %b : !unknown -> !unknown
    return
  }

  func.func @reshape(%view: tensor<4x8xf32, #tp.layout<strides = [16, 1]>>, %copy: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
    // expected-remark @below {{bytes read 0, bytes written 0}}
    %0 = tp.reshape %view : tensor<4x8xf32, #tp.layout<strides = [16, 1]>> -> tensor<4x2x4xf32, #tp.layout<strides = [16, 4, 1]>>
    // expected-remark @below {{bytes read 128, bytes written 128}}
    %1 = tp.reshape %copy : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<32xf32>
    return
  }

  // Sub-byte elements take whole bytes, complex ones two numbers.
  func.func @element_types(%bits: tensor<8xi1>, %complex: tensor<8xcomplex<f32>>, %empty: tensor<0x8xf32>) {
    // expected-remark @below {{bytes read 8, bytes written 8}}
    %0 = tp.copy %bits : tensor<8xi1> -> tensor<8xi1>
    // expected-remark @below {{bytes read 64, bytes written 64}}
    %1 = tp.copy %complex : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
    // expected-remark @below {{bytes read 0, bytes written 0}}
    %2 = tp.copy %empty : tensor<0x8xf32> -> tensor<0x8xf32>
    return
  }

  func.func @beyond_counting(%a: tensor<4294967296x4294967296xf32>) {
    // expected-remark @below {{work depends on symbols}}
    %0 = tp.copy %a : tensor<4294967296x4294967296xf32> -> tensor<4294967296x4294967296xf32>
    return
  }
}
