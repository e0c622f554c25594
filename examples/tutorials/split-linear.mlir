// A product of two features that are concatenated for it alone. The result has few columns.
func.func @main(%user: tensor<65536x4096xbf16> {tp.name = "user"},
                %item: tensor<65536x4096xbf16> {tp.name = "item"},
                %w: tensor<8192x64xbf16> {tp.name = "w", tp.kind = "parameter", tp.parameter = "w"})
    -> tensor<65536x64xbf16> {
  %0 = tp.concat %user, %item dim 1 : (tensor<65536x4096xbf16>, tensor<65536x4096xbf16>) -> tensor<65536x8192xbf16> loc("features")
  %1 = tp.matmul %0, %w : (tensor<65536x8192xbf16>, tensor<8192x64xbf16>) -> tensor<65536x64xbf16> loc("score")
  return %1 : tensor<65536x64xbf16>
}
