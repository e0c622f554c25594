// RUN: split-file %s %t
// RUN: commute verify --reference=%t/sum.mlir %t/halves.mlir \
// RUN:   | FileCheck %s --check-prefix=HALVES
// RUN: not commute verify --reference=%t/sum.mlir %t/mean.mlir \
// RUN:   | FileCheck %s --check-prefix=MEAN
// RUN: not commute verify --reference=%t/sum.mlir %t/twice.mlir \
// RUN:   | FileCheck %s --check-prefix=TWICE
// RUN: not commute verify --reference=%t/sum.mlir %t/stale.mlir \
// RUN:   | FileCheck %s --check-prefix=STALE
// RUN: not commute verify --reference=%t/sum.mlir %t/lost.mlir \
// RUN:   | FileCheck %s --check-prefix=LOST
// RUN: not commute verify --reference=%t/sum.mlir %t/largest.mlir \
// RUN:   | FileCheck %s --check-prefix=LARGEST --implicit-check-not="would be right"
// RUN: commute verify --reference=%t/squares.mlir %t/batches.mlir \
// RUN:   | FileCheck %s --check-prefix=HALVES
// RUN: not commute verify --reference=%t/squares.mlir %t/cosine.mlir \
// RUN:   | FileCheck %s --check-prefix=COSINE
// RUN: not commute verify --reference=%t/squares.mlir %t/first.mlir \
// RUN:   | FileCheck %s --check-prefix=FIRST
// RUN: not commute verify --reference=%t/rows.mlir %t/reduced.mlir --relations=%t/rows.json \
// RUN:   | FileCheck %s --check-prefix=REDUCED
// RUN: not commute verify --reference=%t/sum.mlir %t/moved.mlir \
// RUN:   | FileCheck %s --check-prefix=MOVED
// RUN: commute verify --reference=%t/residual.mlir %t/permuted.mlir | FileCheck %s --check-prefix=HALVES
// RUN: not commute verify --reference=%t/residual.mlir %t/viewed.mlir \
// RUN:   | FileCheck %s --check-prefix=VIEWED
// RUN: not commute verify --reference=%t/residual.mlir %t/turned.mlir \
// RUN:   | FileCheck %s --check-prefix=TURNED --implicit-check-not="permuted the dims"

// The sums of the halves are no values of the reference, and rightly so. What is wrong is
// what makes all outputs right when it is changed.
// HALVES: refines on 1 rank
// MEAN: difference: 'sb' is not the reference's 's'{{.*}}; all outputs would be right if 'sb' computed the sum
// MEAN-NEXT: at sb
// TWICE: difference: all outputs would be right if 'sb' were used in place of 'tb'
// TWICE-NEXT: at tb
// TWICE-NEXT: fix: use 'sb'
// STALE: difference: 'sb' is not the reference's 's'{{.*}}; all outputs would be right if 'sb' used 'pb' in place of 'eb'
// LOST: difference: all outputs would be right if 'sa' were added to 'sb'
// A maximum for a sum: no change that is tried makes that right.
// LARGEST: difference: 'sb' is not the reference's 's'
// LARGEST-NEXT: at sb

// What is computed of one half of the batch is what the reference would compute of it: 'la'
// is right, although the reference has no such value.
// COSINE: difference: 'cb' is no value of the reference, although its operands are; all outputs would be right if 'qb' were used in place of 'cb'
// COSINE-NEXT: at cb
// FIRST: difference: 'hb' is no value of the reference, although its operands are; all outputs would be right if 'hb' computed tanh
// FIRST-NEXT: at hb

// REDUCED: difference: 'r' is no value of the reference, although its operands are; all outputs would be right if 'r' reduced by sum
// MOVED: all outputs would be right if 'w' were used in place of 'c'

// A view in place of a permutation: both give the sizes that are needed. Where the rows
// themselves are in another order, no permutation of dims helps.
// VIEWED: difference: all outputs would be right if 'v' permuted the dims: [1, 0, 2]
// VIEWED-NEXT: at v
// VIEWED-NEXT: fix: permute the dims: [1, 0, 2]
// TURNED: difference:

//--- sum.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %e = tp.map exp(%x) {tp.names = ["e"]} : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("e")
  %p = tp.map mul(%e, %w) {tp.names = ["p"]} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32> loc("p")
  %s = tp.reduce sum %p dims [0] {tp.names = ["s"]} : tensor<8x4xf32> -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- halves.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ea = tp.map exp(%xa) {tp.names = ["ea"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("ea")
  %pa = tp.map mul(%ea, %w) {tp.names = ["pa"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pa")
  %sa = tp.reduce sum %pa dims [0] {tp.names = ["sa"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sa")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %eb = tp.map exp(%xb) {tp.names = ["eb"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("eb")
  %pb = tp.map mul(%eb, %w) {tp.names = ["pb"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pb")
  %sb = tp.reduce sum %pb dims [0] {tp.names = ["sb"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sb")
  %s = tp.map add(%sa, %sb) {tp.names = ["s"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- mean.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ea = tp.map exp(%xa) {tp.names = ["ea"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("ea")
  %pa = tp.map mul(%ea, %w) {tp.names = ["pa"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pa")
  %sa = tp.reduce sum %pa dims [0] {tp.names = ["sa"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sa")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %eb = tp.map exp(%xb) {tp.names = ["eb"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("eb")
  %pb = tp.map mul(%eb, %w) {tp.names = ["pb"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pb")
  %sb = tp.reduce avg %pb dims [0] {tp.names = ["sb"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sb")
  %s = tp.map add(%sa, %sb) {tp.names = ["s"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- twice.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ea = tp.map exp(%xa) {tp.names = ["ea"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("ea")
  %pa = tp.map mul(%ea, %w) {tp.names = ["pa"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pa")
  %sa = tp.reduce sum %pa dims [0] {tp.names = ["sa"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sa")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %eb = tp.map exp(%xb) {tp.names = ["eb"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("eb")
  %pb = tp.map mul(%eb, %w) {tp.names = ["pb"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pb")
  %sb = tp.reduce sum %pb dims [0] {tp.names = ["sb"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sb")
  %two = tp.constant 2.0 : f64 -> tensor<f32>
  %tb = tp.map mul(%sb, %two) {tp.names = ["tb"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("tb")
  %s = tp.map add(%sa, %tb) {tp.names = ["s"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- stale.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ea = tp.map exp(%xa) {tp.names = ["ea"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("ea")
  %pa = tp.map mul(%ea, %w) {tp.names = ["pa"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pa")
  %sa = tp.reduce sum %pa dims [0] {tp.names = ["sa"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sa")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %eb = tp.map exp(%xb) {tp.names = ["eb"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("eb")
  %pb = tp.map mul(%eb, %w) {tp.names = ["pb"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pb")
  %sb = tp.reduce sum %eb dims [0] {tp.names = ["sb"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sb")
  %s = tp.map add(%sa, %sb) {tp.names = ["s"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- lost.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ea = tp.map exp(%xa) {tp.names = ["ea"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("ea")
  %pa = tp.map mul(%ea, %w) {tp.names = ["pa"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pa")
  %sa = tp.reduce sum %pa dims [0] {tp.names = ["sa"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sa")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %eb = tp.map exp(%xb) {tp.names = ["eb"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("eb")
  %pb = tp.map mul(%eb, %w) {tp.names = ["pb"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pb")
  %sb = tp.reduce sum %pb dims [0] {tp.names = ["sb"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sb")
  %y = tp.map add(%sb, %w) {tp.names = ["y"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("y")
  %s = tp.map sub(%y, %w) {tp.names = ["s"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- largest.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ea = tp.map exp(%xa) {tp.names = ["ea"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("ea")
  %pa = tp.map mul(%ea, %w) {tp.names = ["pa"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pa")
  %sa = tp.reduce sum %pa dims [0] {tp.names = ["sa"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sa")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %eb = tp.map exp(%xb) {tp.names = ["eb"]} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("eb")
  %pb = tp.map mul(%eb, %w) {tp.names = ["pb"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32> loc("pb")
  %sb = tp.reduce max %pb dims [0] {tp.names = ["sb"]} : tensor<4x4xf32> -> tensor<4xf32> loc("sb")
  %s = tp.map add(%sa, %sb) {tp.names = ["s"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- squares.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4x5xf32> {tp.name = "w"}) -> tensor<f32> {
  %m = tp.matmul %x, %w {tp.names = ["m"]} : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32> loc("m")
  %h = tp.map tanh(%m) {tp.names = ["h"]} : (tensor<8x5xf32>) -> tensor<8x5xf32> loc("h")
  %q = tp.map mul(%h, %h) {tp.names = ["q"]} : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32> loc("q")
  %l = tp.reduce avg %q dims [0, 1] {tp.names = ["l"]} : tensor<8x5xf32> -> tensor<f32> loc("l")
  return %l : tensor<f32>
}
//--- batches.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4x5xf32> {tp.name = "w"}) -> tensor<f32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ma = tp.matmul %xa, %w {tp.names = ["ma"]} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("ma")
  %ha = tp.map tanh(%ma) {tp.names = ["ha"]} : (tensor<4x5xf32>) -> tensor<4x5xf32> loc("ha")
  %qa = tp.map mul(%ha, %ha) {tp.names = ["qa"]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("qa")
  %la = tp.reduce avg %qa dims [0, 1] {tp.names = ["la"]} : tensor<4x5xf32> -> tensor<f32> loc("la")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %mb = tp.matmul %xb, %w {tp.names = ["mb"]} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("mb")
  %hb = tp.map tanh(%mb) {tp.names = ["hb"]} : (tensor<4x5xf32>) -> tensor<4x5xf32> loc("hb")
  %qb = tp.map mul(%hb, %hb) {tp.names = ["qb"]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("qb")
  %lb = tp.reduce avg %qb dims [0, 1] {tp.names = ["lb"]} : tensor<4x5xf32> -> tensor<f32> loc("lb")
  %n = tp.constant 0.5 : f64 -> tensor<f32>
  %va = tp.map mul(%la, %n) {tp.names = ["va"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("va")
  %vb = tp.map mul(%lb, %n) {tp.names = ["vb"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("vb")
  %v = tp.map add(%va, %vb) {tp.names = ["v"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("v")
  return %v : tensor<f32>
}
//--- cosine.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4x5xf32> {tp.name = "w"}) -> tensor<f32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ma = tp.matmul %xa, %w {tp.names = ["ma"]} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("ma")
  %ha = tp.map tanh(%ma) {tp.names = ["ha"]} : (tensor<4x5xf32>) -> tensor<4x5xf32> loc("ha")
  %qa = tp.map mul(%ha, %ha) {tp.names = ["qa"]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("qa")
  %la = tp.reduce avg %qa dims [0, 1] {tp.names = ["la"]} : tensor<4x5xf32> -> tensor<f32> loc("la")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %mb = tp.matmul %xb, %w {tp.names = ["mb"]} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("mb")
  %hb = tp.map tanh(%mb) {tp.names = ["hb"]} : (tensor<4x5xf32>) -> tensor<4x5xf32> loc("hb")
  %qb = tp.map mul(%hb, %hb) {tp.names = ["qb"]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("qb")
  %cb = tp.map cos(%qb) {tp.names = ["cb"]} : (tensor<4x5xf32>) -> tensor<4x5xf32> loc("cb")
  %lb = tp.reduce avg %cb dims [0, 1] {tp.names = ["lb"]} : tensor<4x5xf32> -> tensor<f32> loc("lb")
  %n = tp.constant 0.5 : f64 -> tensor<f32>
  %va = tp.map mul(%la, %n) {tp.names = ["va"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("va")
  %vb = tp.map mul(%lb, %n) {tp.names = ["vb"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("vb")
  %v = tp.map add(%va, %vb) {tp.names = ["v"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("v")
  return %v : tensor<f32>
}
//--- first.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4x5xf32> {tp.name = "w"}) -> tensor<f32> {
  %xa = tp.slice %x dim 0 start 0 step 1 {tp.names = ["xa"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xa")
  %ma = tp.matmul %xa, %w {tp.names = ["ma"]} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("ma")
  %ha = tp.map tanh(%ma) {tp.names = ["ha"]} : (tensor<4x5xf32>) -> tensor<4x5xf32> loc("ha")
  %qa = tp.map mul(%ha, %ha) {tp.names = ["qa"]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("qa")
  %la = tp.reduce avg %qa dims [0, 1] {tp.names = ["la"]} : tensor<4x5xf32> -> tensor<f32> loc("la")
  %xb = tp.slice %x dim 0 start 4 step 1 {tp.names = ["xb"]} : tensor<8x4xf32> -> tensor<4x4xf32> loc("xb")
  %mb = tp.matmul %xb, %w {tp.names = ["mb"]} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("mb")
  %hb = tp.map sin(%mb) {tp.names = ["hb"]} : (tensor<4x5xf32>) -> tensor<4x5xf32> loc("hb")
  %qb = tp.map mul(%hb, %hb) {tp.names = ["qb"]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> loc("qb")
  %lb = tp.reduce avg %qb dims [0, 1] {tp.names = ["lb"]} : tensor<4x5xf32> -> tensor<f32> loc("lb")
  %n = tp.constant 0.5 : f64 -> tensor<f32>
  %va = tp.map mul(%la, %n) {tp.names = ["va"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("va")
  %vb = tp.map mul(%lb, %n) {tp.names = ["vb"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("vb")
  %v = tp.map add(%va, %vb) {tp.names = ["v"]} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("v")
  return %v : tensor<f32>
}
//--- rows.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %s = tp.reduce sum %x dims [0] {tp.names = ["s"]} : tensor<8x4xf32> -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- reduced.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %s = tp.reduce sum %x dims [0] {tp.names = ["s"]} : tensor<4x4xf32> -> tensor<4xf32> loc("s")
  %r = tp.all_reduce max %s group <"dp", [0, 1]> {tp.names = ["r"]} : tensor<4xf32> -> tensor<4xf32> loc("r")
  %z = tp.map tanh(%r) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- rows.json
{"version": 1, "mesh": {"dp": [[0, 1]]}, "inputs": {"x": "shard(x, 0)"}, "outputs": {"0": "replicated"}}
//--- moved.mlir
func.func @main(%x: tensor<8x4xf32> {tp.name = "x"}, %w: tensor<4xf32> {tp.name = "w"}) -> tensor<4xf32> {
  %a = tp.slice %w dim 0 start 0 step 1 {tp.names = ["a"]} : tensor<4xf32> -> tensor<2xf32> loc("a")
  %b = tp.slice %w dim 0 start 2 step 1 {tp.names = ["b"]} : tensor<4xf32> -> tensor<2xf32> loc("b")
  %c = tp.concat %b, %a dim 0 {tp.names = ["c"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> loc("c")
  %e = tp.map exp(%x) {tp.names = ["e"]} : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("e")
  %p = tp.map mul(%e, %c) {tp.names = ["p"]} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32> loc("p")
  %s = tp.reduce sum %p dims [0] {tp.names = ["s"]} : tensor<8x4xf32> -> tensor<4xf32> loc("s")
  %z = tp.map tanh(%s) {tp.names = ["z"]} : (tensor<4xf32>) -> tensor<4xf32> loc("z")
  return %z : tensor<4xf32>
}
//--- residual.mlir
func.func @main(%r: tensor<2x3x4xf32> {tp.name = "r"}, %a: tensor<2x3x5xf32> {tp.name = "a"}, %b: tensor<5x4xf32> {tp.name = "b"}) -> tensor<2x3x4xf32> {
  %f = tp.reshape %a {tp.names = ["f"]} : tensor<2x3x5xf32> -> tensor<6x5xf32> loc("f")
  %m = tp.matmul %f, %b {tp.names = ["m"]} : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32> loc("m")
  %v = tp.reshape %m {tp.names = ["v"]} : tensor<6x4xf32> -> tensor<2x3x4xf32> loc("v")
  %s = tp.map add(%r, %v) {tp.names = ["s"]} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32> loc("s")
  return %s : tensor<2x3x4xf32>
}
//--- permuted.mlir
func.func @main(%r: tensor<2x3x4xf32> {tp.name = "r"}, %a: tensor<2x3x5xf32> {tp.name = "a"}, %b: tensor<5x4xf32> {tp.name = "b"}) -> tensor<2x3x4xf32> {
  %p = tp.permute %a [1, 0, 2] {tp.names = ["p"]} : tensor<2x3x5xf32> -> tensor<3x2x5xf32> loc("p")
  %f = tp.reshape %p {tp.names = ["f"]} : tensor<3x2x5xf32> -> tensor<6x5xf32> loc("f")
  %m = tp.matmul %f, %b {tp.names = ["m"]} : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32> loc("m")
  %g = tp.reshape %m {tp.names = ["g"]} : tensor<6x4xf32> -> tensor<3x2x4xf32> loc("g")
  %v = tp.permute %g [1, 0, 2] {tp.names = ["v"]} : tensor<3x2x4xf32> -> tensor<2x3x4xf32> loc("v")
  %s = tp.map add(%r, %v) {tp.names = ["s"]} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32> loc("s")
  return %s : tensor<2x3x4xf32>
}
//--- viewed.mlir
func.func @main(%r: tensor<2x3x4xf32> {tp.name = "r"}, %a: tensor<2x3x5xf32> {tp.name = "a"}, %b: tensor<5x4xf32> {tp.name = "b"}) -> tensor<2x3x4xf32> {
  %p = tp.permute %a [1, 0, 2] {tp.names = ["p"]} : tensor<2x3x5xf32> -> tensor<3x2x5xf32> loc("p")
  %f = tp.reshape %p {tp.names = ["f"]} : tensor<3x2x5xf32> -> tensor<6x5xf32> loc("f")
  %m = tp.matmul %f, %b {tp.names = ["m"]} : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32> loc("m")
  %g = tp.reshape %m {tp.names = ["g"]} : tensor<6x4xf32> -> tensor<3x2x4xf32> loc("g")
  %v = tp.reshape %g {tp.names = ["v"]} : tensor<3x2x4xf32> -> tensor<2x3x4xf32> loc("v")
  %s = tp.map add(%r, %v) {tp.names = ["s"]} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32> loc("s")
  return %s : tensor<2x3x4xf32>
}
//--- turned.mlir
func.func @main(%r: tensor<2x3x4xf32> {tp.name = "r"}, %a: tensor<2x3x5xf32> {tp.name = "a"}, %b: tensor<5x4xf32> {tp.name = "b"}) -> tensor<2x3x4xf32> {
  %p = tp.permute %a [1, 0, 2] {tp.names = ["p"]} : tensor<2x3x5xf32> -> tensor<3x2x5xf32> loc("p")
  %f = tp.reshape %p {tp.names = ["f"]} : tensor<3x2x5xf32> -> tensor<6x5xf32> loc("f")
  %m = tp.matmul %f, %b {tp.names = ["m"]} : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32> loc("m")
  %g = tp.reshape %m {tp.names = ["g"]} : tensor<6x4xf32> -> tensor<3x2x4xf32> loc("g")
  %first = tp.slice %g dim 0 start 0 step 1 {tp.names = ["first"]} : tensor<3x2x4xf32> -> tensor<1x2x4xf32> loc("first")
  %rest = tp.slice %g dim 0 start 1 step 1 {tp.names = ["rest"]} : tensor<3x2x4xf32> -> tensor<2x2x4xf32> loc("rest")
  %t = tp.concat %rest, %first dim 0 {tp.names = ["t"]} : (tensor<2x2x4xf32>, tensor<1x2x4xf32>) -> tensor<3x2x4xf32> loc("t")
  %v = tp.reshape %t {tp.names = ["v"]} : tensor<3x2x4xf32> -> tensor<2x3x4xf32> loc("v")
  %s = tp.map add(%r, %v) {tp.names = ["s"]} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32> loc("s")
  return %s : tensor<2x3x4xf32>
}
