// An all_reduce of a number of rows that the ranks cannot share equally.
func.func @main(%p: tensor<16383x8192xbf16> {tp.name = "p"},
    %w: tensor<8192xbf16> {tp.name = "w", tp.placements = {"0" = #tp.placement<replicated>}},
    %up: tensor<8192x128xbf16> {tp.name = "up"}) -> tensor<16383x128xbf16> {
  %s = tp.all_reduce sum %p group <"0", [0, 1, 2, 3]> : tensor<16383x8192xbf16> -> tensor<16383x8192xbf16>
  %a = tp.map relu(%s) : (tensor<16383x8192xbf16>) -> tensor<16383x8192xbf16>
  %b = tp.rms_norm %a weight %w epsilon 1.0e-05 dims 1 : (tensor<16383x8192xbf16>, tensor<8192xbf16>) -> tensor<16383x8192xbf16>
  %c = tp.rms_norm %b weight %w epsilon 1.0e-05 dims 1 : (tensor<16383x8192xbf16>, tensor<8192xbf16>) -> tensor<16383x8192xbf16>
  %r = tp.matmul %c, %up : (tensor<16383x8192xbf16>, tensor<8192x128xbf16>) -> tensor<16383x128xbf16>
  return %r : tensor<16383x128xbf16>
}
