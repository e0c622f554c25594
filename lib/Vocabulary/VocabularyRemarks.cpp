//===- VocabularyRemarks.cpp - what vocabulary files do not match ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "VocabularyRemarks.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

void VocabularyRemarks::remarkUndescribed(StringRef target, Location location,
                                          const Twine &reason) const {
  const OperatorAlias *alias = vocabulary.findAlias(target);
  if (alias->isBuiltIn)
    return;
  remark::missed(location,
                 remark::RemarkOpts::name("undescribed").category("import"))
      << remark::add("{0} does not match its description in {1}: {2}", target,
                     alias->vocabulary, reason.str());
}

void VocabularyRemarks::remarkUnused() const {
  for (const OperatorVocabulary &own : vocabulary.getVocabularies()) {
    if (own.isBuiltIn)
      continue;
    for (StringRef target : own.targets)
      if (!called.contains(target))
        remark::analysis(UnknownLoc::get(context),
                         remark::RemarkOpts::name("unused").category("import"))
            << remark::add(
                   "no node of the graph calls {0}, which {1} describes",
                   target, own.name);
  }
}
