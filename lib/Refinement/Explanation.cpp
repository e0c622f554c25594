//===- Explanation.cpp - where ranks differ from the reference ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

void Explanation::run() { (void)refinement.result; }
