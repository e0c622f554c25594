// The end of an MLP and the begin of the next layer, for four ranks.
func.func @main(%x: tensor<8192x1792xbf16> {tp.name = "x"},
                %residual: tensor<8192x4096xbf16> {tp.name = "residual", tp.placements = {"tp" = #tp.placement<replicated>}},
                %down: tensor<1792x4096xbf16> {tp.name = "down", tp.kind = "parameter", tp.parameter = "layers.0.down"},
                %norm: tensor<4096xbf16> {tp.name = "norm", tp.kind = "parameter", tp.parameter = "layers.1.norm", tp.placements = {"tp" = #tp.placement<replicated>}},
                %up: tensor<4096x1792xbf16> {tp.name = "up", tp.kind = "parameter", tp.parameter = "layers.1.up"})
    -> tensor<8192x1792xbf16> {
  %0 = tp.matmul %x, %down : (tensor<8192x1792xbf16>, tensor<1792x4096xbf16>) -> tensor<8192x4096xbf16> loc("partial")
  %1 = tp.all_reduce sum %0 group <"tp", [0, 1, 2, 3]> : tensor<8192x4096xbf16> -> tensor<8192x4096xbf16> loc("reduced")
  %2 = tp.map add(%residual, %1) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> loc("state")
  %3 = tp.rms_norm %2 weight %norm epsilon 1.0e-05 dims 1 : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> tensor<8192x4096xbf16> loc("normed")
  %4 = tp.matmul %3, %up : (tensor<8192x4096xbf16>, tensor<4096x1792xbf16>) -> tensor<8192x1792xbf16> loc("product")
  return %4 : tensor<8192x1792xbf16>
}
