// What cannot be compared is bad input: exit code 2, before anything is
// evaluated.
// RUN: split-file %s %t
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/absent.mlir | FileCheck %s --check-prefix=ABSENT
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/captured.mlir --ranks=3 | FileCheck %s --check-prefix=RANKS
// RUN: commute verify %t/captured.mlir %t/captured.mlir --ranks=2
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/two-inputs.mlir | FileCheck %s --check-prefix=COUNT
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/other-name.mlir | FileCheck %s --check-prefix=NAME
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/other-type.mlir | FileCheck %s --check-prefix=TYPE
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/two-outputs.mlir | FileCheck %s --check-prefix=OUTPUTS
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/four-ranks.mlir | FileCheck %s --check-prefix=WORLD
// RUN: sh %t/expect-2.sh %t/two-names.mlir %t/two-names.mlir | FileCheck %s --check-prefix=TWO-NAMES
// RUN: sh %t/expect-2.sh %t/captured.mlir %t/sharded.mlir | FileCheck %s --check-prefix=PREMISES
// RUN: sh %t/expect-2.sh %t/no-such-dim.mlir %t/no-such-dim.mlir | FileCheck %s --check-prefix=NO-DIM

// ABSENT: absent.mlir: No such file or directory
// RANKS: --ranks=3: the groups of the graphs have 2 ranks; --group states the members of a group
// COUNT: the programs take 1 and 2 inputs
// NAME: input 0 is 'x' in one program and 'y' in the other
// TYPE: input 0 ('x') has different types
// OUTPUTS: the programs give 1 and 2 outputs
// WORLD: the programs run on different ranks: 2 and 4

// Contradictory premises would prove anything.
// TWO-NAMES: input 'x' is placed shard(0) on group 'tp' and replicated on group '0', which has the same members
// PREMISES: input 'x' is placed replicated on group '0' in one program and shard(0) in the other
// NO-DIM: input 'x' is placed shard(2), but has no such dim

//--- expect-2.sh
commute verify "$@" 2>&1
test $? -eq 2 || echo "the exit code is not 2"

//--- captured.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4x6xf32> {
    return %x : tensor<4x6xf32>
  }
}

//--- two-inputs.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}, %y: tensor<4x6xf32> {tp.name = "y"}) -> tensor<4x6xf32> {
    return %x : tensor<4x6xf32>
  }
}

//--- other-name.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%y: tensor<4x6xf32> {tp.name = "y"}) -> tensor<4x6xf32> {
    return %y : tensor<4x6xf32>
  }
}

//--- other-type.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}) -> tensor<6x4xf32> {
    return %x : tensor<6x4xf32>
  }
}

//--- two-outputs.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    return %x, %x : tensor<4x6xf32>, tensor<4x6xf32>
  }
}

//--- four-ranks.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1, 2, 3]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
    return %x : tensor<4x6xf32>
  }
}

//--- two-names.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>, #tp.group<"tp", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>, "tp" = #tp.placement<shard(0)>}}) -> tensor<4x6xf32> {
    return %x : tensor<4x6xf32>
  }
}

//--- sharded.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<shard(0)>}}) -> tensor<4x6xf32> {
    return %x : tensor<4x6xf32>
  }
}

//--- no-such-dim.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<shard(2)>}}) -> tensor<4x6xf32> {
    return %x : tensor<4x6xf32>
  }
}
