// Decisions that both programs make alike and that hardly any integers take.
// RUN: rm -rf %t && split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t
// RUN: not commute verify %t/conditions.mlir %t/conditions.wrong.mlir | FileCheck %s --check-prefix=WITNESS
// RUN: commute verify %t/routed.mlir %t/routed.equal-rotated.mlir | FileCheck %s --check-prefix=DRAWN
// RUN: commute verify %t/routed.mlir %t/routed.equal-rotated.mlir --json | FileCheck %s --check-prefix=GRADE
// RUN: not commute verify %t/routed.mlir %t/routed.equal-rotated.mlir --strict | FileCheck %s --check-prefix=STRICT
// RUN: commute verify %t/conditions.mlir %t/conditions.equal.mlir --strict --json | FileCheck %s --check-prefix=PROVEN

// WITNESS: different: output 0 differs on rank 0 at index [{{[01]}}], where a[0] is {{.*}} is 5, b[0] is {{.*}} is 7, c[0] is {{.*}} is 9
// DRAWN: equivalent on 1 rank, as far as {{[0-9]+}} drawings show: an index that many integers determine
// GRADE: "grade": "drawn"
// STRICT: not proven: the programs are not told apart in {{[0-9]+}} drawings{{.*}}: an index that many integers determine
// PROVEN: "grade": "strict"

// Three conditions at once.
//--- conditions.mlir
func.func @main(%a: tensor<2xi64> {tp.name = "a"}, %b: tensor<2xi64> {tp.name = "b"}, %c: tensor<2xi64> {tp.name = "c"}, %x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %five = tp.constant 5 : i64 -> tensor<i64>
  %seven = tp.constant 7 : i64 -> tensor<i64>
  %nine = tp.constant 9 : i64 -> tensor<i64>
  %zero = tp.constant 0.0 : f32 -> tensor<f32>
  %p = tp.map equal(%a, %five) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %q = tp.map equal(%b, %seven) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %r = tp.map equal(%c, %nine) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %pq = tp.map logical_and(%p, %q) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %all = tp.map logical_and(%pq, %r) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %0 = tp.map select(%all, %x, %zero) : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// The same conditions in another order, joined by products.
//--- conditions.equal.mlir
func.func @main(%a: tensor<2xi64> {tp.name = "a"}, %b: tensor<2xi64> {tp.name = "b"}, %c: tensor<2xi64> {tp.name = "c"}, %x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %five = tp.constant 5 : i64 -> tensor<i64>
  %seven = tp.constant 7 : i64 -> tensor<i64>
  %nine = tp.constant 9 : i64 -> tensor<i64>
  %p = tp.map equal(%five, %a) : (tensor<i64>, tensor<2xi64>) -> tensor<2xi1>
  %q = tp.map equal(%seven, %b) : (tensor<i64>, tensor<2xi64>) -> tensor<2xi1>
  %r = tp.map equal(%nine, %c) : (tensor<i64>, tensor<2xi64>) -> tensor<2xi1>
  %pf = tp.cast %p : tensor<2xi1> -> tensor<2xf32>
  %qf = tp.cast %q : tensor<2xi1> -> tensor<2xf32>
  %rf = tp.cast %r : tensor<2xi1> -> tensor<2xf32>
  %rq = tp.map mul(%rf, %qf) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %all = tp.map mul(%rq, %pf) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %0 = tp.map mul(%all, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

//--- conditions.wrong.mlir
func.func @main(%a: tensor<2xi64> {tp.name = "a"}, %b: tensor<2xi64> {tp.name = "b"}, %c: tensor<2xi64> {tp.name = "c"}, %x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %five = tp.constant 5 : i64 -> tensor<i64>
  %seven = tp.constant 7 : i64 -> tensor<i64>
  %nine = tp.constant 9 : i64 -> tensor<i64>
  %zero = tp.constant 0.0 : f32 -> tensor<f32>
  %p = tp.map equal(%a, %five) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %q = tp.map equal(%b, %seven) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %r = tp.map equal(%c, %nine) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %pq = tp.map logical_and(%p, %q) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %all = tp.map logical_and(%pq, %r) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %twice = tp.map add(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %0 = tp.map select(%all, %twice, %zero) : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Default positions: all of eight integers are their places.
//--- positions.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}, %x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %zero = tp.constant 0.0 : f32 -> tensor<f32>
  %n = tp.iota 0 : i64 step 1 : i64 -> tensor<8xi64>
  %c = tp.map equal(%i, %n) : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
  %all = tp.reduce min %c dims [0] : tensor<8xi1> -> tensor<i1>
  %0 = tp.map select(%all, %x, %zero) : (tensor<i1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- positions.equal.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}, %x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %zero = tp.constant 0.0 : f32 -> tensor<f32>
  %none = tp.constant 0 : i64 -> tensor<i64>
  %n = tp.iota 0 : i64 step 1 : i64 -> tensor<8xi64>
  %d = tp.map sub(%i, %n) : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %c = tp.map not_equal(%d, %none) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi1>
  %any = tp.reduce max %c dims [0] : tensor<8xi1> -> tensor<i1>
  %0 = tp.map select(%any, %zero, %x) : (tensor<i1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- positions.wrong.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}, %x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %zero = tp.constant 0.0 : f32 -> tensor<f32>
  %n = tp.iota 0 : i64 step 1 : i64 -> tensor<8xi64>
  %c = tp.map equal(%i, %n) : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
  %all = tp.reduce min %c dims [0] : tensor<8xi1> -> tensor<i1>
  %0 = tp.map select(%all, %zero, %zero) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = tp.broadcast %0 : tensor<f32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A page and a place in it, of one number.
//--- page.mlir
func.func @main(%i: tensor<2xi64> {tp.name = "i"}) -> tensor<2xi1> {
  %size = tp.constant 128 : i64 -> tensor<i64>
  %three = tp.constant 3 : i64 -> tensor<i64>
  %page = tp.map floor_div(%i, %size) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %0 = tp.map equal(%page, %three) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

//--- page.equal.mlir
func.func @main(%i: tensor<2xi64> {tp.name = "i"}) -> tensor<2xi1> {
  %low = tp.constant 383 : i64 -> tensor<i64>
  %high = tp.constant 512 : i64 -> tensor<i64>
  %a = tp.map less(%low, %i) : (tensor<i64>, tensor<2xi64>) -> tensor<2xi1>
  %b = tp.map less(%i, %high) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %0 = tp.map logical_and(%a, %b) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

//--- page.wrong.mlir
func.func @main(%i: tensor<2xi64> {tp.name = "i"}) -> tensor<2xi1> {
  %size = tp.constant 128 : i64 -> tensor<i64>
  %three = tp.constant 3 : i64 -> tensor<i64>
  %place = tp.constant 77 : i64 -> tensor<i64>
  %page = tp.map floor_div(%i, %size) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %rest = tp.map remainder(%i, %size) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %a = tp.map equal(%page, %three) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %b = tp.map not_equal(%rest, %place) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %0 = tp.map logical_and(%a, %b) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// A distance between two inputs, at one place.
//--- distance.mlir
func.func @main(%a: tensor<2xi64> {tp.name = "a"}, %b: tensor<2xi64> {tp.name = "b"}) -> tensor<2xi1> {
  %n = tp.constant 17 : i64 -> tensor<i64>
  %s = tp.map add(%b, %n) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %0 = tp.map equal(%a, %s) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

//--- distance.equal.mlir
func.func @main(%a: tensor<2xi64> {tp.name = "a"}, %b: tensor<2xi64> {tp.name = "b"}) -> tensor<2xi1> {
  %n = tp.constant 17 : i64 -> tensor<i64>
  %d = tp.map sub(%a, %b) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %0 = tp.map equal(%d, %n) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// The witness would be one pair of many: none is looked for.
//--- distance.unknown.mlir
func.func @main(%a: tensor<2xi64> {tp.name = "a"}, %b: tensor<2xi64> {tp.name = "b"}) -> tensor<2xi1> {
  %n = tp.constant 17 : i64 -> tensor<i64>
  %m = tp.constant 50 : i64 -> tensor<i64>
  %s = tp.map add(%b, %n) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %c = tp.map equal(%a, %s) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %d = tp.map not_equal(%a, %m) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %0 = tp.map logical_and(%c, %d) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// What no analysis of ranges understands is unknown, and equal to itself.
//--- squares.mlir
func.func @main(%i: tensor<2xi64> {tp.name = "i"}, %x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %n = tp.constant 100003 : i64 -> tensor<i64>
  %m = tp.constant 99995 : i64 -> tensor<i64>
  %zero = tp.constant 0.0 : f32 -> tensor<f32>
  %s = tp.map mul(%i, %i) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %r = tp.map remainder(%s, %n) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %c = tp.map equal(%r, %m) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %0 = tp.map select(%c, %x, %zero) : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

//--- squares.unknown.mlir
func.func @main(%i: tensor<2xi64> {tp.name = "i"}, %x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %n = tp.constant 100003 : i64 -> tensor<i64>
  %m = tp.constant 99998 : i64 -> tensor<i64>
  %zero = tp.constant 0.0 : f32 -> tensor<f32>
  %s = tp.map mul(%i, %i) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %r = tp.map remainder(%s, %n) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %c = tp.map equal(%r, %m) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %0 = tp.map select(%c, %x, %zero) : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// An index that four integers determine.
//--- routed.mlir
func.func @main(%i: tensor<4xi64> {tp.name = "i"}, %t: tensor<100xf32> {tp.name = "t"}) -> tensor<f32> {
  %n = tp.constant 100 : i64 -> tensor<i64>
  %s = tp.reduce sum %i dims [0] : tensor<4xi64> -> tensor<i64>
  %k = tp.map remainder(%s, %n) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %0 = tp.take %t, %k dim 0 : (tensor<100xf32>, tensor<i64>) -> tensor<f32>
  return %0 : tensor<f32>
}

//--- routed.equal.mlir
func.func @main(%i: tensor<4xi64> {tp.name = "i"}, %t: tensor<100xf32> {tp.name = "t"}) -> tensor<f32> {
  %n = tp.constant 100 : i64 -> tensor<i64>
  %two = tp.reshape %i : tensor<4xi64> -> tensor<2x2xi64>
  %part = tp.reduce sum %two dims [0] : tensor<2x2xi64> -> tensor<2xi64>
  %s = tp.reduce sum %part dims [0] : tensor<2xi64> -> tensor<i64>
  %k = tp.map remainder(%s, %n) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %0 = tp.take %t, %k dim 0 : (tensor<100xf32>, tensor<i64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// The same of a table that begins elsewhere: a law that is not used.
//--- routed.equal-rotated.mlir
func.func @main(%i: tensor<4xi64> {tp.name = "i"}, %t: tensor<100xf32> {tp.name = "t"}) -> tensor<f32> {
  %n = tp.constant 100 : i64 -> tensor<i64>
  %half = tp.constant 50 : i64 -> tensor<i64>
  %low = tp.slice %t dim 0 start 0 step 1 : tensor<100xf32> -> tensor<50xf32>
  %high = tp.slice %t dim 0 start 50 step 1 : tensor<100xf32> -> tensor<50xf32>
  %u = tp.concat %high, %low dim 0 : (tensor<50xf32>, tensor<50xf32>) -> tensor<100xf32>
  %s = tp.reduce sum %i dims [0] : tensor<4xi64> -> tensor<i64>
  %r = tp.map add(%s, %half) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %k = tp.map remainder(%r, %n) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %0 = tp.take %u, %k dim 0 : (tensor<100xf32>, tensor<i64>) -> tensor<f32>
  return %0 : tensor<f32>
}
