// Orders that scores determine are unknown functions of these: what is the same for every
// order is proven, and needs no drawings.
// RUN: rm -rf %t && split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t
// RUN: commute verify %t/routed.mlir %t/routed.equal-halves.mlir --strict --json | FileCheck %s
// CHECK: "grade": "strict"

// Tokens are sorted by expert, multiplied in groups, and sorted back.
//--- routed.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}, %router: tensor<4x3xf32> {tp.name = "router"}, %w: tensor<3x4x5xf32> {tp.name = "w"}) -> tensor<6x5xf32> {
  %scores = tp.matmul %x, %router : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %values, %experts = tp.sort %scores dim 1 descending algorithm "topk" first 1 : tensor<6x3xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %ids = tp.reshape %experts : tensor<6x1xi64> -> tensor<6xi64>
  %sorted, %order = tp.sort %ids dim 0 algorithm "sort" : tensor<6xi64> -> tensor<6xi64>, tensor<6xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %column = tp.reshape %sorted : tensor<6xi64> -> tensor<6x1xi64>
  %numbers = tp.iota 0 : i64 step 1 : i64 -> tensor<3xi64>
  %hits = tp.map equal(%column, %numbers) : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %counted = tp.cast %hits : tensor<6x3xi1> -> tensor<6x3xi64>
  %counts = tp.reduce sum %counted dims [0] : tensor<6x3xi64> -> tensor<3xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<3xi64> -> tensor<3xi64>
  %y = tp.grouped_matmul %rows, %w offsets %ends : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<3xi64>) -> tensor<6x5xf32>
  %positions = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
  %memory = tp.constant 0 : i64 -> tensor<6xi64>
  %back = tp.scatter %memory, %order, %positions dim 0 : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %unsorted = tp.take %y, %back dim 0 : (tensor<6x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %scaled = tp.map mul(%unsorted, %values) : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  return %scaled : tensor<6x5xf32>
}

// The same products in two halves, as ranks compute them.
//--- routed.equal-halves.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}, %router: tensor<4x3xf32> {tp.name = "router"}, %w: tensor<3x4x5xf32> {tp.name = "w"}) -> tensor<6x5xf32> {
  %scores = tp.matmul %x, %router : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %values, %experts = tp.sort %scores dim 1 descending algorithm "topk" first 1 : tensor<6x3xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %ids = tp.reshape %experts : tensor<6x1xi64> -> tensor<6xi64>
  %sorted, %order = tp.sort %ids dim 0 algorithm "sort" : tensor<6xi64> -> tensor<6xi64>, tensor<6xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %column = tp.reshape %sorted : tensor<6xi64> -> tensor<6x1xi64>
  %numbers = tp.iota 0 : i64 step 1 : i64 -> tensor<3xi64>
  %hits = tp.map equal(%column, %numbers) : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %counted = tp.cast %hits : tensor<6x3xi1> -> tensor<6x3xi64>
  %counts = tp.reduce sum %counted dims [0] : tensor<6x3xi64> -> tensor<3xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<3xi64> -> tensor<3xi64>
  %left = tp.slice %rows dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %right = tp.slice %rows dim 1 start 2 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %top = tp.slice %w dim 1 start 0 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %bottom = tp.slice %w dim 1 start 2 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %a = tp.grouped_matmul %left, %top offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %b = tp.grouped_matmul %right, %bottom offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %y = tp.map add(%a, %b) : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %positions = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
  %memory = tp.constant 0 : i64 -> tensor<6xi64>
  %back = tp.scatter %memory, %order, %positions dim 0 : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %unsorted = tp.take %y, %back dim 0 : (tensor<6x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %scaled = tp.map mul(%unsorted, %values) : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  return %scaled : tensor<6x5xf32>
}

// Half of the product twice.
//--- routed.wrong-half.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}, %router: tensor<4x3xf32> {tp.name = "router"}, %w: tensor<3x4x5xf32> {tp.name = "w"}) -> tensor<6x5xf32> {
  %scores = tp.matmul %x, %router : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %values, %experts = tp.sort %scores dim 1 descending algorithm "topk" first 1 : tensor<6x3xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %ids = tp.reshape %experts : tensor<6x1xi64> -> tensor<6xi64>
  %sorted, %order = tp.sort %ids dim 0 algorithm "sort" : tensor<6xi64> -> tensor<6xi64>, tensor<6xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %column = tp.reshape %sorted : tensor<6xi64> -> tensor<6x1xi64>
  %numbers = tp.iota 0 : i64 step 1 : i64 -> tensor<3xi64>
  %hits = tp.map equal(%column, %numbers) : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %counted = tp.cast %hits : tensor<6x3xi1> -> tensor<6x3xi64>
  %counts = tp.reduce sum %counted dims [0] : tensor<6x3xi64> -> tensor<3xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<3xi64> -> tensor<3xi64>
  %left = tp.slice %rows dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %right = tp.slice %rows dim 1 start 2 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %top = tp.slice %w dim 1 start 0 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %bottom = tp.slice %w dim 1 start 2 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %a = tp.grouped_matmul %left, %top offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %b = tp.grouped_matmul %left, %bottom offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %y = tp.map add(%a, %b) : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %positions = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
  %memory = tp.constant 0 : i64 -> tensor<6xi64>
  %back = tp.scatter %memory, %order, %positions dim 0 : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %unsorted = tp.take %y, %back dim 0 : (tensor<6x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %scaled = tp.map mul(%unsorted, %values) : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  return %scaled : tensor<6x5xf32>
}

// Sorted once more instead of back.
//--- routed.wrong-back.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}, %router: tensor<4x3xf32> {tp.name = "router"}, %w: tensor<3x4x5xf32> {tp.name = "w"}) -> tensor<6x5xf32> {
  %scores = tp.matmul %x, %router : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %values, %experts = tp.sort %scores dim 1 descending algorithm "topk" first 1 : tensor<6x3xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %ids = tp.reshape %experts : tensor<6x1xi64> -> tensor<6xi64>
  %sorted, %order = tp.sort %ids dim 0 algorithm "sort" : tensor<6xi64> -> tensor<6xi64>, tensor<6xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %column = tp.reshape %sorted : tensor<6xi64> -> tensor<6x1xi64>
  %numbers = tp.iota 0 : i64 step 1 : i64 -> tensor<3xi64>
  %hits = tp.map equal(%column, %numbers) : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %counted = tp.cast %hits : tensor<6x3xi1> -> tensor<6x3xi64>
  %counts = tp.reduce sum %counted dims [0] : tensor<6x3xi64> -> tensor<3xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<3xi64> -> tensor<3xi64>
  %left = tp.slice %rows dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %right = tp.slice %rows dim 1 start 2 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %top = tp.slice %w dim 1 start 0 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %bottom = tp.slice %w dim 1 start 2 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %a = tp.grouped_matmul %left, %top offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %b = tp.grouped_matmul %right, %bottom offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %y = tp.map add(%a, %b) : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %positions = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
  %memory = tp.constant 0 : i64 -> tensor<6xi64>
  %back = tp.scatter %memory, %order, %positions dim 0 : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %unsorted = tp.take %y, %order dim 0 : (tensor<6x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %scaled = tp.map mul(%unsorted, %values) : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  return %scaled : tensor<6x5xf32>
}

// Each token at the expert after its own.
//--- routed.wrong-groups.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}, %router: tensor<4x3xf32> {tp.name = "router"}, %w: tensor<3x4x5xf32> {tp.name = "w"}) -> tensor<6x5xf32> {
  %scores = tp.matmul %x, %router : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %values, %experts = tp.sort %scores dim 1 descending algorithm "topk" first 1 : tensor<6x3xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %ids = tp.reshape %experts : tensor<6x1xi64> -> tensor<6xi64>
  %sorted, %order = tp.sort %ids dim 0 algorithm "sort" : tensor<6xi64> -> tensor<6xi64>, tensor<6xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %column = tp.reshape %sorted : tensor<6xi64> -> tensor<6x1xi64>
  %numbers = tp.iota 1 : i64 step 1 : i64 -> tensor<3xi64>
  %hits = tp.map equal(%column, %numbers) : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %counted = tp.cast %hits : tensor<6x3xi1> -> tensor<6x3xi64>
  %counts = tp.reduce sum %counted dims [0] : tensor<6x3xi64> -> tensor<3xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<3xi64> -> tensor<3xi64>
  %left = tp.slice %rows dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %right = tp.slice %rows dim 1 start 2 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %top = tp.slice %w dim 1 start 0 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %bottom = tp.slice %w dim 1 start 2 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %a = tp.grouped_matmul %left, %top offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %b = tp.grouped_matmul %right, %bottom offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %y = tp.map add(%a, %b) : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %positions = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
  %memory = tp.constant 0 : i64 -> tensor<6xi64>
  %back = tp.scatter %memory, %order, %positions dim 0 : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %unsorted = tp.take %y, %back dim 0 : (tensor<6x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %scaled = tp.map mul(%unsorted, %values) : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  return %scaled : tensor<6x5xf32>
}

// The worst expert of each token.
//--- routed.wrong-least.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}, %router: tensor<4x3xf32> {tp.name = "router"}, %w: tensor<3x4x5xf32> {tp.name = "w"}) -> tensor<6x5xf32> {
  %scores = tp.matmul %x, %router : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %values, %experts = tp.sort %scores dim 1 algorithm "topk" first 1 : tensor<6x3xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %ids = tp.reshape %experts : tensor<6x1xi64> -> tensor<6xi64>
  %sorted, %order = tp.sort %ids dim 0 algorithm "sort" : tensor<6xi64> -> tensor<6xi64>, tensor<6xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %column = tp.reshape %sorted : tensor<6xi64> -> tensor<6x1xi64>
  %numbers = tp.iota 0 : i64 step 1 : i64 -> tensor<3xi64>
  %hits = tp.map equal(%column, %numbers) : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %counted = tp.cast %hits : tensor<6x3xi1> -> tensor<6x3xi64>
  %counts = tp.reduce sum %counted dims [0] : tensor<6x3xi64> -> tensor<3xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<3xi64> -> tensor<3xi64>
  %left = tp.slice %rows dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %right = tp.slice %rows dim 1 start 2 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %top = tp.slice %w dim 1 start 0 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %bottom = tp.slice %w dim 1 start 2 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %a = tp.grouped_matmul %left, %top offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %b = tp.grouped_matmul %right, %bottom offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %y = tp.map add(%a, %b) : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %positions = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
  %memory = tp.constant 0 : i64 -> tensor<6xi64>
  %back = tp.scatter %memory, %order, %positions dim 0 : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %unsorted = tp.take %y, %back dim 0 : (tensor<6x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %scaled = tp.map mul(%unsorted, %values) : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  return %scaled : tensor<6x5xf32>
}

// Scaled by the score of the token that is there in the sorted order.
//--- routed.wrong-row.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}, %router: tensor<4x3xf32> {tp.name = "router"}, %w: tensor<3x4x5xf32> {tp.name = "w"}) -> tensor<6x5xf32> {
  %scores = tp.matmul %x, %router : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %values, %experts = tp.sort %scores dim 1 descending algorithm "topk" first 1 : tensor<6x3xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %ids = tp.reshape %experts : tensor<6x1xi64> -> tensor<6xi64>
  %sorted, %order = tp.sort %ids dim 0 algorithm "sort" : tensor<6xi64> -> tensor<6xi64>, tensor<6xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %column = tp.reshape %sorted : tensor<6xi64> -> tensor<6x1xi64>
  %numbers = tp.iota 0 : i64 step 1 : i64 -> tensor<3xi64>
  %hits = tp.map equal(%column, %numbers) : (tensor<6x1xi64>, tensor<3xi64>) -> tensor<6x3xi1>
  %counted = tp.cast %hits : tensor<6x3xi1> -> tensor<6x3xi64>
  %counts = tp.reduce sum %counted dims [0] : tensor<6x3xi64> -> tensor<3xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<3xi64> -> tensor<3xi64>
  %left = tp.slice %rows dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %right = tp.slice %rows dim 1 start 2 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %top = tp.slice %w dim 1 start 0 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %bottom = tp.slice %w dim 1 start 2 step 1 : tensor<3x4x5xf32> -> tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>
  %a = tp.grouped_matmul %left, %top offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %b = tp.grouped_matmul %right, %bottom offsets %ends : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<3x2x5xf32, #tp.layout<strides = [20, 5, 1]>>, tensor<3xi64>) -> tensor<6x5xf32>
  %y = tp.map add(%a, %b) : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %positions = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
  %memory = tp.constant 0 : i64 -> tensor<6xi64>
  %back = tp.scatter %memory, %order, %positions dim 0 : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %unsorted = tp.take %y, %back dim 0 : (tensor<6x5xf32>, tensor<6xi64>) -> tensor<6x5xf32>
  %scaled = tp.map mul(%y, %values) : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  return %scaled : tensor<6x5xf32>
}
