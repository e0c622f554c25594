// The rule proposed for PyTorch Inductor, with the checks that it lacks.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --passes='split-linear{policy=upstream}'; done | FileCheck %s
// RUN: commute opt %t/a_taken.mlir -o - --quiet --passes='split-linear{policy=upstream}' | FileCheck %s --check-prefix=FORM

// The bias with the first product, slices of the weight copied, sums afterwards.
// FORM-LABEL: func.func @main
// FORM: %[[A:.*]] = tp.slice %arg3 dim 1 start 0
// FORM: %[[CA:.*]] = tp.copy %[[A]]
// FORM: %[[B:.*]] = tp.slice %arg3 dim 1 start 128
// FORM: %[[CB:.*]] = tp.copy %[[B]]
// FORM: %[[C:.*]] = tp.slice %arg3 dim 1 start 256
// FORM: %[[CC:.*]] = tp.copy %[[C]]
// FORM: %[[P:.*]] = tp.matmul %arg0, %[[CA]] transpose_rhs bias %arg4
// FORM: %[[Q:.*]] = tp.matmul %arg1, %[[CB]] transpose_rhs :
// FORM: %[[S:.*]] = tp.map add(%[[P]], %[[Q]])
// FORM: %[[R:.*]] = tp.matmul %arg2, %[[CC]] transpose_rhs :
// FORM: tp.map add(%[[S]], %[[R]])

//--- a_taken.mlir
// 384 elements are just narrow enough.
// CHECK-LABEL: split-linear:
// CHECK: applied {{.*}}split into a sum of 3 products
module {
  func.func @main(%a: tensor<2x8x128xbf16>, %b: tensor<2x8x128xbf16>, %c: tensor<2x8x128xbf16>, %w: tensor<5x384xbf16>, %d: tensor<5xbf16>) -> tensor<2x8x5xbf16> {
    %x = tp.concat %a, %b, %c dim 2 : (tensor<2x8x128xbf16>, tensor<2x8x128xbf16>, tensor<2x8x128xbf16>) -> tensor<2x8x384xbf16>
    %y = tp.matmul %x, %w transpose_rhs bias %d : (tensor<2x8x384xbf16>, tensor<5x384xbf16>, tensor<5xbf16>) -> tensor<2x8x5xbf16>
    return %y : tensor<2x8x5xbf16>
  }
}

//--- b_too_wide.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: upstream's rule needs a concatenated width of at most 384, not 385
module {
  func.func @main(%a: tensor<8x128xbf16>, %b: tensor<8x257xbf16>, %w: tensor<5x385xbf16>) -> tensor<8x5xbf16> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x128xbf16>, tensor<8x257xbf16>) -> tensor<8x385xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x385xbf16>, tensor<5x385xbf16>) -> tensor<8x5xbf16>
    return %y : tensor<8x5xbf16>
  }
}

//--- c_too_narrow.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: upstream's rule needs parts of width 8 or more, not 7
module {
  func.func @main(%a: tensor<8x128xbf16>, %b: tensor<8x7xbf16>, %w: tensor<5x135xbf16>) -> tensor<8x5xbf16> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x128xbf16>, tensor<8x7xbf16>) -> tensor<8x135xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x135xbf16>, tensor<5x135xbf16>) -> tensor<8x5xbf16>
    return %y : tensor<8x5xbf16>
  }
}

//--- d_too_many.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: upstream's rule needs 2 to 3 parts, not 4
module {
  func.func @main(%a: tensor<8x16xbf16>, %w: tensor<5x64xbf16>) -> tensor<8x5xbf16> {
    %x = tp.concat %a, %a, %a, %a dim 1 : (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x64xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x64xbf16>, tensor<5x64xbf16>) -> tensor<8x5xbf16>
    return %y : tensor<8x5xbf16>
  }
}

//--- e_gated.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: upstream's rule leaves parts that are elementwise products to another pass
module {
  func.func @main(%a: tensor<8x16xbf16>, %b: tensor<8x16xbf16>, %w: tensor<5x32xbf16>) -> tensor<8x5xbf16> {
    %m = tp.map mul(%a, %b) : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %x = tp.concat %m, %b dim 1 : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x32xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x32xbf16>, tensor<5x32xbf16>) -> tensor<8x5xbf16>
    return %y : tensor<8x5xbf16>
  }
}

//--- f_no_linear.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: upstream's rule handles only linears with a 2-D weight
module {
  func.func @main(%a: tensor<8x16xbf16>, %b: tensor<8x16xbf16>, %w: tensor<32x5xbf16>) -> tensor<8x5xbf16> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x32xbf16>
    %y = tp.matmul %x, %w : (tensor<8x32xbf16>, tensor<32x5xbf16>) -> tensor<8x5xbf16>
    return %y : tensor<8x5xbf16>
  }
}

//--- g_another_dim.mlir
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: upstream's rule handles only concatenations along the contraction dimension
module {
  func.func @main(%a: tensor<8x16xbf16>, %b: tensor<8x16xbf16>, %w: tensor<5x16xbf16>) -> tensor<16x5xbf16> {
    %x = tp.concat %a, %b dim 0 : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<16x16xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<16x16xbf16>, tensor<5x16xbf16>) -> tensor<16x5xbf16>
    return %y : tensor<16x5xbf16>
  }
}

//--- h_another_reader.mlir
// Upstream's pass takes it, and joins the parts all the same.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: tp.map needs the whole value, so nothing would be saved
module {
  func.func @main(%a: tensor<8x16xbf16>, %b: tensor<8x16xbf16>, %w: tensor<5x32xbf16>) -> (tensor<8x5xbf16>, tensor<8x32xbf16>) {
    %x = tp.concat %a, %b dim 1 : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x32xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x32xbf16>, tensor<5x32xbf16>) -> tensor<8x5xbf16>
    %m = tp.map mul(%x, %x) : (tensor<8x32xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>
    return %y, %m : tensor<8x5xbf16>, tensor<8x32xbf16>
  }
}

//--- i_promoted_types.mlir
// Upstream's pass multiplies a part of another type than the weight.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: tp.concat promotes parts of different element types
module {
  func.func @main(%a: tensor<8x16xbf16>, %b: tensor<8x16xf32>, %w: tensor<5x32xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x16xbf16>, tensor<8x16xf32>) -> tensor<8x32xf32>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x32xf32>, tensor<5x32xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- j_symbolic.mlir
// Upstream's pass takes sizes at capture for constants.
// CHECK-LABEL: split-linear:
// CHECK: refused {{.*}}not split: upstream's rule needs static sizes
module attributes {tp.symbol_hints = {s0 = 7 : i64}} {
  func.func @main(%a: tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>, %w: tensor<5x32xf32>) -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>> {
    %x = tp.concat %a, %a dim 1 : (tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>, tensor<?x16xf32, #tp.layout<[s0] sizes = [s0, 16]>>) -> tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<?x32xf32, #tp.layout<[s0] sizes = [s0, 32]>>, tensor<5x32xf32>) -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>
    return %y : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>
  }
}
