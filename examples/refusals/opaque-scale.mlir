#tp = #tp.group<"0", [0, 1, 2, 3]>
func.func @main(%x: tensor<8192x1024xbf16> {tp.name = "x"}, %residual: tensor<8192x4096xbf16> {tp.name = "residual", tp.placements = {"0" = #tp.placement<replicated>}}, %down: tensor<1024x4096xbf16> {tp.name = "down"}, %norm: tensor<4096xbf16> {tp.name = "norm", tp.placements = {"0" = #tp.placement<replicated>}}, %up: tensor<4096x1024xbf16> {tp.name = "up"}) -> tensor<8192x1024xbf16> {
  %1 = tp.matmul %x, %down : (tensor<8192x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<8192x4096xbf16>
  %2 = tp.all_reduce sum %1 group #tp : tensor<8192x4096xbf16> -> tensor<8192x4096xbf16>
  %3 = tp.call "torch.ops.mylib.scale.default"(%2) arguments "[{\"name\": \"x\"}]" : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %4 = tp.map add(%residual, %3) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %5 = tp.rms_norm %4 weight %norm epsilon 1.0e-05 dims 1 : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> tensor<8192x4096xbf16>
  %7 = tp.matmul %5, %up : (tensor<8192x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<8192x1024xbf16>
  return %7 : tensor<8192x1024xbf16>
}
