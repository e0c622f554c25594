// What stays whole, and why.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes=sequence-parallel; done | FileCheck %s

//--- a_indivisible.mlir
// CHECK: stays an all_reduce: no dim of its result can be shared equally by 2 ranks (7, 15); sequence-parallel{pad=true} would add rows
module {
  func.func @main(%p: tensor<7x15xbf16>, %w: tensor<15xbf16>) -> (tensor<7x15xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<7x15xbf16> -> tensor<7x15xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<7x15xbf16>, tensor<15xbf16>) -> tensor<7x15xbf16>
    return %1 : tensor<7x15xbf16>
  }
}

//--- b_one_member.mlir
// CHECK: stays an all_reduce: its group has one member
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    return %1 : tensor<8x16xbf16>
  }
}

//--- c_varying_residual.mlir
// CHECK: stays an all_reduce: {{.*}}stays whole: its operand 1 differs between the ranks (or is not known to be equal: see --input-placement)
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>, %x: tensor<8x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map add(%0, %x) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rms_norm %1 weight %w epsilon 1.0e-06 dims 1 : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- d_reduction_over_rows.mlir
// CHECK: stays an all_reduce: {{.*}}stays whole: it needs all rows at once
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<bf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.reduce sum %0 dims [0, 1] : tensor<8x16xbf16> -> tensor<bf16>
    return %1 : tensor<bf16>
  }
}

//--- e_returned.mlir
// CHECK: stays an all_reduce: it is returned, and outputs of the graph are whole
module {
  func.func @main(%p: tensor<8x16xbf16>, %q: tensor<8x16xbf16>, %w: tensor<16xbf16>, %b: tensor<16x16xbf16>) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    return %0 : tensor<8x16xbf16>
  }
}

//--- f_symbol.mlir
// CHECK: stays an all_reduce: no dim of its result can be shared equally by 2 ranks (a symbol, 15); an assumption would allow it, such as --assume 's0 % 2 == 0'
module {
  func.func @main(%p: tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>, %w: tensor<15xbf16>) -> (tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>> -> tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 : (tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>, tensor<15xbf16>) -> tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>
    return %1 : tensor<?x15xbf16, #tp.layout<[s0] sizes = [s0, 15]>>
  }
}
