func.func @main(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = tp.map relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = tp.map relu(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %c = tp.map exp(%b) : (tensor<8xf32>) -> tensor<8xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<8xf32>, tensor<8xf32>
}
