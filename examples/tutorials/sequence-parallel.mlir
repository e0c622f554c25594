// The end of a layer and the begin of the next, for four ranks. The residual is a sum over
// the ranks too.
func.func @main(%x: tensor<8192x1792xbf16> {tp.name = "x"},
                %embedded: tensor<8192x4096xbf16> {tp.name = "embedded", tp.placements = {tp = #tp.placement<partial(sum)>}},
                %down: tensor<1792x4096xbf16> {tp.name = "down", tp.kind = "parameter", tp.parameter = "layers.0.down"},
                %norm: tensor<4096xbf16> {tp.name = "norm", tp.kind = "parameter", tp.parameter = "layers.1.norm", tp.placements = {tp = #tp.placement<replicated>}},
                %up: tensor<4096x7168xbf16> {tp.name = "up", tp.kind = "parameter", tp.parameter = "layers.1.up"})
    -> tensor<8192x7168xbf16> {
  %0 = tp.all_reduce sum %embedded group <"tp", [0, 1, 2, 3]> : tensor<8192x4096xbf16> -> tensor<8192x4096xbf16> loc("residual")
  %1 = tp.matmul %x, %down : (tensor<8192x1792xbf16>, tensor<1792x4096xbf16>) -> tensor<8192x4096xbf16> loc("partial")
  %2 = tp.all_reduce sum %1 group <"tp", [0, 1, 2, 3]> : tensor<8192x4096xbf16> -> tensor<8192x4096xbf16> loc("reduced")
  %3 = tp.map add(%0, %2) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> loc("state")
  %4 = tp.rms_norm %3 weight %norm epsilon 1.0e-05 dims 1 : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> tensor<8192x4096xbf16> loc("normed")
  %5 = tp.matmul %4, %up : (tensor<8192x4096xbf16>, tensor<4096x7168xbf16>) -> tensor<8192x7168xbf16> loc("product")
  return %5 : tensor<8192x7168xbf16>
}
