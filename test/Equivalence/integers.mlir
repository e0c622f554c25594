// Integers from outside are drawn where the program's own numbers lie: at both
// sides of each of them, and far away.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- threshold.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi1> {
  %n = tp.constant 5000 : i64 -> tensor<i64>
  %0 = tp.map less(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- threshold.equal.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi1> {
  %n = tp.constant 4999 : i64 -> tensor<i64>
  %0 = tp.map less_equal(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- threshold.equal-difference.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi1> {
  %n = tp.constant 4000 : i64 -> tensor<i64>
  %d = tp.map sub(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
  %m = tp.constant 1000 : i64 -> tensor<i64>
  %0 = tp.map less(%d, %m) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- threshold.wrong-above.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi1> {
  %n = tp.constant 5000 : i64 -> tensor<i64>
  %0 = tp.map less_equal(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- threshold.wrong-below.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi1> {
  %n = tp.constant 4999 : i64 -> tensor<i64>
  %0 = tp.map less(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

// What a narrow type holds.
//--- wrap.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %b = tp.cast %i : tensor<8xi64> -> tensor<8xui8>
  %0 = tp.cast %b : tensor<8xui8> -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

//--- wrap.equal.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %n = tp.constant 256 : i64 -> tensor<i64>
  %0 = tp.map remainder(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

//--- wrap.wrong.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  return %i : tensor<8xi64>
}

//--- wrap.wrong-signed.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %b = tp.cast %i : tensor<8xi64> -> tensor<8xi8>
  %0 = tp.cast %b : tensor<8xi8> -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// Absolute values: of negative ones too.
//--- abs.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %0 = tp.map abs(%i) : (tensor<8xi64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

//--- abs.equal.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %n = tp.map neg(%i) : (tensor<8xi64>) -> tensor<8xi64>
  %0 = tp.map maximum(%i, %n) : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

//--- abs.wrong.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  return %i : tensor<8xi64>
}

//--- abs.wrong-relu.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %0 = tp.map relu(%i) : (tensor<8xi64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// Powers of two in bits.
//--- bits.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %n = tp.constant 1023 : i64 -> tensor<i64>
  %0 = tp.map bitwise_and(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

//--- bits.equal.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %n = tp.constant 1024 : i64 -> tensor<i64>
  %0 = tp.map remainder(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

//--- bits.wrong.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}) -> tensor<8xi64> {
  %n = tp.constant 2047 : i64 -> tensor<i64>
  %0 = tp.map bitwise_and(%i, %n) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// A vocabulary cut among two ranks.
//--- shard.mlir
!ids = tensor<16xi64>
!rows = tensor<16x8xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%ids: !ids {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<32000x8xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<shard(0)>}}) -> !rows {
    %all = tp.iota 0 : i64 step 16000 : i64 -> tensor<2xi64>
    %lo = tp.rank_slice %all slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %own = tp.map sub(%ids, %lo) : (!ids, tensor<1xi64>) -> !ids
    %z = tp.constant 0 : i64 -> tensor<i64>
    %n = tp.constant 16000 : i64 -> tensor<i64>
    %a = tp.map greater_equal(%own, %z) : (!ids, tensor<i64>) -> tensor<16xi1>
    %b = tp.map less(%own, %n) : (!ids, tensor<i64>) -> tensor<16xi1>
    %c = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %i = tp.map select(%c, %own, %z) : (tensor<16xi1>, !ids, tensor<i64>) -> !ids
    %half = tp.slice %w dim 0 start 0 step 1 : tensor<32000x8xf32> -> tensor<16000x8xf32>
    %r = tp.take %half, %i dim 0 : (tensor<16000x8xf32>, !ids) -> !rows
    %m = tp.reshape %c : tensor<16xi1> -> tensor<16x1xi1>
    %f = tp.constant 0.0 : f64 -> tensor<f32>
    %p = tp.map select(%m, %r, %f) : (tensor<16x1xi1>, !rows, tensor<f32>) -> !rows
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : !rows -> !rows
    return %0 : !rows
  }
}

//--- shard.equal.mlir
!ids = tensor<16xi64>
!rows = tensor<16x8xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%ids: !ids {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<32000x8xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<shard(0)>}}) -> !rows {
    %all = tp.iota 0 : i64 step 16000 : i64 -> tensor<2xi64>
    %lo = tp.rank_slice %all slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %own = tp.map sub(%ids, %lo) : (!ids, tensor<1xi64>) -> !ids
    %z = tp.constant 0 : i64 -> tensor<i64>
    %n = tp.constant 15999 : i64 -> tensor<i64>
    %a = tp.map less(%own, %z) : (!ids, tensor<i64>) -> tensor<16xi1>
    %b = tp.map greater(%own, %n) : (!ids, tensor<i64>) -> tensor<16xi1>
    %c = tp.map logical_or(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %i = tp.map select(%c, %z, %own) : (tensor<16xi1>, tensor<i64>, !ids) -> !ids
    %half = tp.slice %w dim 0 start 0 step 1 : tensor<32000x8xf32> -> tensor<16000x8xf32>
    %r = tp.take %half, %i dim 0 : (tensor<16000x8xf32>, !ids) -> !rows
    %m = tp.reshape %c : tensor<16xi1> -> tensor<16x1xi1>
    %f = tp.constant 0.0 : f64 -> tensor<f32>
    %p = tp.map select(%m, %f, %r) : (tensor<16x1xi1>, tensor<f32>, !rows) -> !rows
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : !rows -> !rows
    return %0 : !rows
  }
}

//--- shard.wrong-one-id-too-many.mlir
!ids = tensor<16xi64>
!rows = tensor<16x8xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%ids: !ids {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<32000x8xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<shard(0)>}}) -> !rows {
    %all = tp.iota 0 : i64 step 16000 : i64 -> tensor<2xi64>
    %lo = tp.rank_slice %all slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %own = tp.map sub(%ids, %lo) : (!ids, tensor<1xi64>) -> !ids
    %z = tp.constant 0 : i64 -> tensor<i64>
    %n = tp.constant 16000 : i64 -> tensor<i64>
    %a = tp.map greater_equal(%own, %z) : (!ids, tensor<i64>) -> tensor<16xi1>
    %b = tp.map less_equal(%own, %n) : (!ids, tensor<i64>) -> tensor<16xi1>
    %c = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %i = tp.map select(%c, %own, %z) : (tensor<16xi1>, !ids, tensor<i64>) -> !ids
    %half = tp.slice %w dim 0 start 0 step 1 : tensor<32000x8xf32> -> tensor<16000x8xf32>
    %r = tp.take %half, %i dim 0 : (tensor<16000x8xf32>, !ids) -> !rows
    %m = tp.reshape %c : tensor<16xi1> -> tensor<16x1xi1>
    %f = tp.constant 0.0 : f64 -> tensor<f32>
    %p = tp.map select(%m, %r, %f) : (tensor<16x1xi1>, !rows, tensor<f32>) -> !rows
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : !rows -> !rows
    return %0 : !rows
  }
}

//--- shard.wrong-one-id-too-few.mlir
!ids = tensor<16xi64>
!rows = tensor<16x8xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%ids: !ids {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<32000x8xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<shard(0)>}}) -> !rows {
    %all = tp.iota 0 : i64 step 16000 : i64 -> tensor<2xi64>
    %lo = tp.rank_slice %all slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %own = tp.map sub(%ids, %lo) : (!ids, tensor<1xi64>) -> !ids
    %z = tp.constant 0 : i64 -> tensor<i64>
    %n = tp.constant 15999 : i64 -> tensor<i64>
    %a = tp.map greater_equal(%own, %z) : (!ids, tensor<i64>) -> tensor<16xi1>
    %b = tp.map less(%own, %n) : (!ids, tensor<i64>) -> tensor<16xi1>
    %c = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %i = tp.map select(%c, %own, %z) : (tensor<16xi1>, !ids, tensor<i64>) -> !ids
    %half = tp.slice %w dim 0 start 0 step 1 : tensor<32000x8xf32> -> tensor<16000x8xf32>
    %r = tp.take %half, %i dim 0 : (tensor<16000x8xf32>, !ids) -> !rows
    %m = tp.reshape %c : tensor<16xi1> -> tensor<16x1xi1>
    %f = tp.constant 0.0 : f64 -> tensor<f32>
    %p = tp.map select(%m, %r, %f) : (tensor<16x1xi1>, !rows, tensor<f32>) -> !rows
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : !rows -> !rows
    return %0 : !rows
  }
}

//--- shard.wrong-start.mlir
!ids = tensor<16xi64>
!rows = tensor<16x8xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%ids: !ids {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<32000x8xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<shard(0)>}}) -> !rows {
    %all = tp.iota 0 : i64 step 15999 : i64 -> tensor<2xi64>
    %lo = tp.rank_slice %all slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %own = tp.map sub(%ids, %lo) : (!ids, tensor<1xi64>) -> !ids
    %z = tp.constant 0 : i64 -> tensor<i64>
    %n = tp.constant 16000 : i64 -> tensor<i64>
    %a = tp.map greater_equal(%own, %z) : (!ids, tensor<i64>) -> tensor<16xi1>
    %b = tp.map less(%own, %n) : (!ids, tensor<i64>) -> tensor<16xi1>
    %c = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %i = tp.map select(%c, %own, %z) : (tensor<16xi1>, !ids, tensor<i64>) -> !ids
    %half = tp.slice %w dim 0 start 0 step 1 : tensor<32000x8xf32> -> tensor<16000x8xf32>
    %r = tp.take %half, %i dim 0 : (tensor<16000x8xf32>, !ids) -> !rows
    %m = tp.reshape %c : tensor<16xi1> -> tensor<16x1xi1>
    %f = tp.constant 0.0 : f64 -> tensor<f32>
    %p = tp.map select(%m, %r, %f) : (tensor<16x1xi1>, !rows, tensor<f32>) -> !rows
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : !rows -> !rows
    return %0 : !rows
  }
}

//--- shard.wrong-first-id.mlir
!ids = tensor<16xi64>
!rows = tensor<16x8xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%ids: !ids {tp.name = "ids", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<32000x8xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<shard(0)>}}) -> !rows {
    %all = tp.iota 0 : i64 step 16000 : i64 -> tensor<2xi64>
    %lo = tp.rank_slice %all slice_axis 0 group <"0", [0, 1]> : tensor<2xi64> -> tensor<1xi64>
    %own = tp.map sub(%ids, %lo) : (!ids, tensor<1xi64>) -> !ids
    %z = tp.constant 0 : i64 -> tensor<i64>
    %n = tp.constant 16000 : i64 -> tensor<i64>
    %a = tp.map greater(%own, %z) : (!ids, tensor<i64>) -> tensor<16xi1>
    %b = tp.map less(%own, %n) : (!ids, tensor<i64>) -> tensor<16xi1>
    %c = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %i = tp.map select(%c, %own, %z) : (tensor<16xi1>, !ids, tensor<i64>) -> !ids
    %half = tp.slice %w dim 0 start 0 step 1 : tensor<32000x8xf32> -> tensor<16000x8xf32>
    %r = tp.take %half, %i dim 0 : (tensor<16000x8xf32>, !ids) -> !rows
    %m = tp.reshape %c : tensor<16xi1> -> tensor<16x1xi1>
    %f = tp.constant 0.0 : f64 -> tensor<f32>
    %p = tp.map select(%m, %r, %f) : (tensor<16x1xi1>, !rows, tensor<f32>) -> !rows
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : !rows -> !rows
    return %0 : !rows
  }
}

// Different at one number alone, which decides through a mask.
//--- masked.mlir
func.func @main(%x: tensor<ui8> {tp.name = "x"}) -> tensor<i1> {
  %five = tp.constant 5 : i64 -> tensor<ui8>
  %zero = tp.constant 0 : i64 -> tensor<ui8>
  %m = tp.map bitwise_xor(%x, %five) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %0 = tp.map greater(%m, %zero) : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
  return %0 : tensor<i1>
}

//--- masked.wrong.mlir
func.func @main(%x: tensor<ui8> {tp.name = "x"}) -> tensor<i1> {
  %five = tp.constant 5 : i64 -> tensor<ui8>
  %zero = tp.constant 0 : i64 -> tensor<ui8>
  %m = tp.map bitwise_xor(%x, %five) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %0 = tp.map greater_equal(%m, %zero) : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
  return %0 : tensor<i1>
}

// Divided by zero for one number alone.
//--- divided.mlir
func.func @main(%x: tensor<i64> {tp.name = "x"}) -> tensor<i64> {
  %one = tp.constant 1 : i64 -> tensor<i64>
  %a = tp.map abs(%x) : (tensor<i64>) -> tensor<i64>
  %d = tp.map maximum(%a, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %0 = tp.map floor_div(%x, %d) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

//--- divided.wrong.mlir
func.func @main(%x: tensor<i64> {tp.name = "x"}) -> tensor<i64> {
  %a = tp.map abs(%x) : (tensor<i64>) -> tensor<i64>
  %0 = tp.map floor_div(%x, %a) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// Different where all ranks agree.
//--- least.mlir
func.func @main(%c: tensor<1xi1> {tp.name = "c"}) -> tensor<1xi64> {
  %three = tp.constant 3 : i64 -> tensor<i64>
  %0 = tp.map select(%c, %three, %three) : (tensor<1xi1>, tensor<i64>, tensor<i64>) -> tensor<1xi64>
  %1 = tp.all_reduce min %0 group <"0", [0, 1, 2, 3, 4, 5]> : tensor<1xi64> -> tensor<1xi64>
  return %1 : tensor<1xi64>
}

//--- least.wrong.mlir
func.func @main(%c: tensor<1xi1> {tp.name = "c"}) -> tensor<1xi64> {
  %three = tp.constant 3 : i64 -> tensor<i64>
  %four = tp.constant 4 : i64 -> tensor<i64>
  %0 = tp.map select(%c, %three, %four) : (tensor<1xi1>, tensor<i64>, tensor<i64>) -> tensor<1xi64>
  %1 = tp.all_reduce min %0 group <"0", [0, 1, 2, 3, 4, 5]> : tensor<1xi64> -> tensor<1xi64>
  return %1 : tensor<1xi64>
}

// An extreme that occurs more than once would hide which elements were looked at.
//--- largest.mlir
func.func @main(%i: tensor<8x32xi64> {tp.name = "i"}) -> tensor<i64> {
  %0 = tp.reduce max %i dims [0, 1] : tensor<8x32xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- largest.equal.mlir
func.func @main(%i: tensor<8x32xi64> {tp.name = "i"}) -> tensor<i64> {
  %a = tp.reduce max %i dims [1] : tensor<8x32xi64> -> tensor<8xi64>
  %0 = tp.reduce max %a dims [0] : tensor<8xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- largest.wrong.mlir
func.func @main(%i: tensor<8x32xi64> {tp.name = "i"}) -> tensor<i64> {
  %s = tp.slice %i dim 0 start 1 step 1 : tensor<8x32xi64> -> tensor<7x32xi64>
  %0 = tp.reduce max %s dims [0, 1] : tensor<7x32xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

// A product of many numbers of which some are zero or even is zero.
//--- product.mlir
func.func @main(%i: tensor<64xi64> {tp.name = "i"}) -> tensor<i64> {
  %0 = tp.reduce product %i dims [0] : tensor<64xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- product.equal.mlir
func.func @main(%i: tensor<64xi64> {tp.name = "i"}) -> tensor<i64> {
  %n = tp.map neg(%i) : (tensor<64xi64>) -> tensor<64xi64>
  %0 = tp.reduce product %n dims [0] : tensor<64xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- product.wrong.mlir
func.func @main(%i: tensor<64xi64> {tp.name = "i"}) -> tensor<i64> {
  %p = tp.reduce product %i dims [0] : tensor<64xi64> -> tensor<i64>
  %0 = tp.map neg(%p) : (tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// Only rounds that draw 19 tell these apart, and those read rows of the table
// that were not sampled: another attempt has to draw 19 again.
//--- rows.mlir
func.func @main(%i: tensor<16xi64> {tp.name = "i"}, %t: tensor<100x4xf32> {tp.name = "t"}) -> tensor<16x4xf32> {
  %n = tp.constant 20 : i64 -> tensor<i64>
  %zero = tp.constant 0 : i64 -> tensor<i64>
  %end = tp.constant 100 : i64 -> tensor<i64>
  %d = tp.map sub(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %a = tp.map greater_equal(%d, %zero) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi1>
  %b = tp.map less(%d, %end) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi1>
  %m = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
  %k = tp.map select(%m, %d, %zero) : (tensor<16xi1>, tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %0 = tp.take %t, %k dim 0 : (tensor<100x4xf32>, tensor<16xi64>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

//--- rows.equal.mlir
func.func @main(%i: tensor<16xi64> {tp.name = "i"}, %t: tensor<100x4xf32> {tp.name = "t"}) -> tensor<16x4xf32> {
  %n = tp.constant 20 : i64 -> tensor<i64>
  %zero = tp.constant 0 : i64 -> tensor<i64>
  %end = tp.constant 120 : i64 -> tensor<i64>
  %d = tp.map sub(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %a = tp.map greater_equal(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi1>
  %b = tp.map less(%i, %end) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi1>
  %m = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
  %k = tp.map select(%m, %d, %zero) : (tensor<16xi1>, tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %0 = tp.take %t, %k dim 0 : (tensor<100x4xf32>, tensor<16xi64>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

//--- rows.wrong.mlir
func.func @main(%i: tensor<16xi64> {tp.name = "i"}, %t: tensor<100x4xf32> {tp.name = "t"}) -> tensor<16x4xf32> {
  %n = tp.constant 20 : i64 -> tensor<i64>
  %zero = tp.constant 0 : i64 -> tensor<i64>
  %minusOne = tp.constant -1 : i64 -> tensor<i64>
  %end = tp.constant 100 : i64 -> tensor<i64>
  %d = tp.map sub(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %a = tp.map greater_equal(%d, %minusOne) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi1>
  %b = tp.map less(%d, %end) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi1>
  %m = tp.map logical_and(%a, %b) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
  %k = tp.map select(%m, %d, %zero) : (tensor<16xi1>, tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %0 = tp.take %t, %k dim 0 : (tensor<100x4xf32>, tensor<16xi64>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// A read outside of the table ends the program, also where nothing depends on
// what was read.
//--- outside.mlir
func.func @main(%i: tensor<16xi64> {tp.name = "i"}, %t: tensor<100x4xf32> {tp.name = "t"}) -> tensor<16x4xf32> {
  %n = tp.constant 100 : i64 -> tensor<i64>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %k = tp.map remainder(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %r = tp.take %t, %k dim 0 : (tensor<100x4xf32>, tensor<16xi64>) -> tensor<16x4xf32>
  %0 = tp.map mul(%r, %z) : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

//--- outside.equal.mlir
func.func @main(%i: tensor<16xi64> {tp.name = "i"}, %t: tensor<100x4xf32> {tp.name = "t"}) -> tensor<16x4xf32> {
  %n = tp.constant 50 : i64 -> tensor<i64>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %k = tp.map remainder(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  %r = tp.take %t, %k dim 0 : (tensor<100x4xf32>, tensor<16xi64>) -> tensor<16x4xf32>
  %0 = tp.map mul(%r, %z) : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// The largest count of a row: with numbers on both sides of the threshold in
// equal measure, some row has nothing but small ones.
//--- largest-count.mlir
func.func @main(%i: tensor<96x6xi64> {tp.name = "i"}) -> tensor<i64> {
  %n = tp.constant 11 : i64 -> tensor<i64>
  %c = tp.map less(%i, %n) : (tensor<96x6xi64>, tensor<i64>) -> tensor<96x6xi1>
  %k = tp.reduce sum %c dims [1] : tensor<96x6xi1> -> tensor<96xi64>
  %0 = tp.reduce max %k dims [0] : tensor<96xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- largest-count.equal.mlir
func.func @main(%i: tensor<96x6xi64> {tp.name = "i"}) -> tensor<i64> {
  %n = tp.constant 10 : i64 -> tensor<i64>
  %c = tp.map less_equal(%i, %n) : (tensor<96x6xi64>, tensor<i64>) -> tensor<96x6xi1>
  %k = tp.reduce sum %c dims [1] : tensor<96x6xi1> -> tensor<96xi64>
  %0 = tp.reduce max %k dims [0] : tensor<96xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- largest-count.wrong.mlir
func.func @main(%i: tensor<96x6xi64> {tp.name = "i"}) -> tensor<i64> {
  %n = tp.constant 10 : i64 -> tensor<i64>
  %c = tp.map less(%i, %n) : (tensor<96x6xi64>, tensor<i64>) -> tensor<96x6xi1>
  %k = tp.reduce sum %c dims [1] : tensor<96x6xi1> -> tensor<96xi64>
  %0 = tp.reduce max %k dims [0] : tensor<96xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

// What a mask of low bits leaves of a number crosses the limit at a few numbers between
// the limit and the sum of limit and mask.
//--- low-bits.mlir
func.func @main(%x: tensor<7xi64> {tp.name = "x"}) -> tensor<7xi1> {
  %k = tp.constant 9 : i64 -> tensor<i64>
  %r = tp.map remainder(%x, %k) : (tensor<7xi64>, tensor<i64>) -> tensor<7xi64>
  %d = tp.map sub(%x, %r) : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi64>
  %n = tp.constant 738 : i64 -> tensor<i64>
  %0 = tp.map less(%d, %n) : (tensor<7xi64>, tensor<i64>) -> tensor<7xi1>
  return %0 : tensor<7xi1>
}

//--- low-bits.equal.mlir
func.func @main(%x: tensor<7xi64> {tp.name = "x"}) -> tensor<7xi1> {
  %n = tp.constant 738 : i64 -> tensor<i64>
  %0 = tp.map less(%x, %n) : (tensor<7xi64>, tensor<i64>) -> tensor<7xi1>
  return %0 : tensor<7xi1>
}

//--- low-bits.wrong.mlir
func.func @main(%x: tensor<7xi64> {tp.name = "x"}) -> tensor<7xi1> {
  %k = tp.constant 9 : i64 -> tensor<i64>
  %r = tp.map bitwise_and(%x, %k) : (tensor<7xi64>, tensor<i64>) -> tensor<7xi64>
  %d = tp.map sub(%x, %r) : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi64>
  %n = tp.constant 738 : i64 -> tensor<i64>
  %0 = tp.map less(%d, %n) : (tensor<7xi64>, tensor<i64>) -> tensor<7xi1>
  return %0 : tensor<7xi1>
}
