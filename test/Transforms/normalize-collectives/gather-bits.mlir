// Eight-bit floats that travel as bytes.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=normalize-collectives; done | FileCheck %s
// The same ops come back.
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives --lower-collectives -o $f.back && diff $f.plain $f.back || exit 1; done
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute-opt $f --normalize-collectives -o $f.once && commute-opt $f --normalize-collectives --normalize-collectives -o $f.twice && diff $f.once $f.twice || exit 1; done

//--- a_rows_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.bitcast
// CHECK: = tp.all_gather %arg0 gather_axis 0 
// CHECK: return
module {
  func.func @main(%x: tensor<2x4xf8E4M3FN>) -> (tensor<4x4xf8E4M3FN>) {
    %b = tp.bitcast %x : tensor<2x4xf8E4M3FN> -> tensor<2x4xui8>
    %h = tp.all_gather %b gather_axis 0 group <"0", [0, 1]> async : tensor<2x4xui8> -> tensor<4x4xui8>
    %q = tp.wait %h : tensor<4x4xui8> -> tensor<4x4xui8>
    %r = tp.bitcast %q : tensor<4x4xui8> -> tensor<4x4xf8E4M3FN>
    return %r : tensor<4x4xf8E4M3FN>
  }
}

//--- b_columns_2.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.bitcast
// CHECK: = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.bitcast
// CHECK: return
module {
  func.func @main(%x: tensor<2x4xf8E4M3FN>) -> (tensor<2x8xf8E4M3FN>) {
    %b = tp.bitcast %x : tensor<2x4xf8E4M3FN> -> tensor<2x4xui8>
    %h = tp.all_gather %b gather_axis 0 group <"0", [0, 1]> async : tensor<2x4xui8> -> tensor<4x4xui8>
    %q = tp.wait %h : tensor<4x4xui8> -> tensor<4x4xui8>
    %s0 = tp.slice %q dim 0 start 0 step 1 : tensor<4x4xui8> -> tensor<2x4xui8>
    %t0 = tp.bitcast %s0 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s1 = tp.slice %q dim 0 start 2 step 1 : tensor<4x4xui8> -> tensor<2x4xui8>
    %t1 = tp.bitcast %s1 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %c = tp.concat %t0, %t1 dim 1 : (tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>) -> tensor<2x8xf8E4M3FN>
    return %c : tensor<2x8xf8E4M3FN>
  }
}

//--- c_rows_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.bitcast
// CHECK: = tp.all_gather %arg0 gather_axis 0 
// CHECK: return
module {
  func.func @main(%x: tensor<2x4xf8E4M3FN>) -> (tensor<8x4xf8E4M3FN>) {
    %b = tp.bitcast %x : tensor<2x4xf8E4M3FN> -> tensor<2x4xui8>
    %h = tp.all_gather %b gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x4xui8> -> tensor<8x4xui8>
    %q = tp.wait %h : tensor<8x4xui8> -> tensor<8x4xui8>
    %r = tp.bitcast %q : tensor<8x4xui8> -> tensor<8x4xf8E4M3FN>
    return %r : tensor<8x4xf8E4M3FN>
  }
}

//--- d_columns_4.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.bitcast
// CHECK: = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.bitcast
// CHECK: return
module {
  func.func @main(%x: tensor<2x4xf8E4M3FN>) -> (tensor<2x16xf8E4M3FN>) {
    %b = tp.bitcast %x : tensor<2x4xf8E4M3FN> -> tensor<2x4xui8>
    %h = tp.all_gather %b gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<2x4xui8> -> tensor<8x4xui8>
    %q = tp.wait %h : tensor<8x4xui8> -> tensor<8x4xui8>
    %s0 = tp.slice %q dim 0 start 0 step 1 : tensor<8x4xui8> -> tensor<2x4xui8>
    %t0 = tp.bitcast %s0 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s1 = tp.slice %q dim 0 start 2 step 1 : tensor<8x4xui8> -> tensor<2x4xui8>
    %t1 = tp.bitcast %s1 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s2 = tp.slice %q dim 0 start 4 step 1 : tensor<8x4xui8> -> tensor<2x4xui8>
    %t2 = tp.bitcast %s2 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s3 = tp.slice %q dim 0 start 6 step 1 : tensor<8x4xui8> -> tensor<2x4xui8>
    %t3 = tp.bitcast %s3 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %c = tp.concat %t0, %t1, %t2, %t3 dim 1 : (tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>) -> tensor<2x16xf8E4M3FN>
    return %c : tensor<2x16xf8E4M3FN>
  }
}

//--- e_rows_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.bitcast
// CHECK: = tp.all_gather %arg0 gather_axis 0 
// CHECK: return
module {
  func.func @main(%x: tensor<2x4xf8E4M3FN>) -> (tensor<16x4xf8E4M3FN>) {
    %b = tp.bitcast %x : tensor<2x4xf8E4M3FN> -> tensor<2x4xui8>
    %h = tp.all_gather %b gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<2x4xui8> -> tensor<16x4xui8>
    %q = tp.wait %h : tensor<16x4xui8> -> tensor<16x4xui8>
    %r = tp.bitcast %q : tensor<16x4xui8> -> tensor<16x4xf8E4M3FN>
    return %r : tensor<16x4xf8E4M3FN>
  }
}

//--- f_columns_8.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: = tp.bitcast
// CHECK: = tp.all_gather %arg0 gather_axis 1 
// CHECK-NOT: = tp.bitcast
// CHECK: return
module {
  func.func @main(%x: tensor<2x4xf8E4M3FN>) -> (tensor<2x32xf8E4M3FN>) {
    %b = tp.bitcast %x : tensor<2x4xf8E4M3FN> -> tensor<2x4xui8>
    %h = tp.all_gather %b gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<2x4xui8> -> tensor<16x4xui8>
    %q = tp.wait %h : tensor<16x4xui8> -> tensor<16x4xui8>
    %s0 = tp.slice %q dim 0 start 0 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t0 = tp.bitcast %s0 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s1 = tp.slice %q dim 0 start 2 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t1 = tp.bitcast %s1 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s2 = tp.slice %q dim 0 start 4 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t2 = tp.bitcast %s2 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s3 = tp.slice %q dim 0 start 6 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t3 = tp.bitcast %s3 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s4 = tp.slice %q dim 0 start 8 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t4 = tp.bitcast %s4 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s5 = tp.slice %q dim 0 start 10 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t5 = tp.bitcast %s5 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s6 = tp.slice %q dim 0 start 12 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t6 = tp.bitcast %s6 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %s7 = tp.slice %q dim 0 start 14 step 1 : tensor<16x4xui8> -> tensor<2x4xui8>
    %t7 = tp.bitcast %s7 : tensor<2x4xui8> -> tensor<2x4xf8E4M3FN>
    %c = tp.concat %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7 dim 1 : (tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>) -> tensor<2x32xf8E4M3FN>
    return %c : tensor<2x32xf8E4M3FN>
  }
}

//--- g_bytes_that_are_bytes.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather %arg0 gather_axis 0 {{.*}} -> tensor<4x4xui8>
// CHECK: = tp.bitcast
module {
  func.func @main(%x: tensor<2x4xui8>) -> (tensor<4x4xf8E4M3FN>) {
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> async : tensor<2x4xui8> -> tensor<4x4xui8>
    %q = tp.wait %h : tensor<4x4xui8> -> tensor<4x4xui8>
    %r = tp.bitcast %q : tensor<4x4xui8> -> tensor<4x4xf8E4M3FN>
    return %r : tensor<4x4xf8E4M3FN>
  }
}

//--- h_another_type_behind.mlir
// CHECK-LABEL: func.func @main
// CHECK: = tp.all_gather {{.*}} -> tensor<4x4xui8>
// CHECK: = tp.bitcast {{.*}} -> tensor<4x4xf8E5M2>
module {
  func.func @main(%x: tensor<2x4xf8E4M3FN>) -> (tensor<4x4xf8E5M2>) {
    %b = tp.bitcast %x : tensor<2x4xf8E4M3FN> -> tensor<2x4xui8>
    %h = tp.all_gather %b gather_axis 0 group <"0", [0, 1]> async : tensor<2x4xui8> -> tensor<4x4xui8>
    %q = tp.wait %h : tensor<4x4xui8> -> tensor<4x4xui8>
    %r = tp.bitcast %q : tensor<4x4xui8> -> tensor<4x4xf8E5M2>
    return %r : tensor<4x4xf8E5M2>
  }
}
