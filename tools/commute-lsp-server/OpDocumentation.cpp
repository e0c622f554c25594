//===- OpDocumentation.cpp - what the reference says of an op -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OpDocumentation.h"

#include "llvm/ADT/Twine.h"

#include <string>

using llvm::StringRef;

StringRef commute::findOpDocumentation(StringRef reference, StringRef name) {
  std::string heading = ("\n### `" + name + "` (").str();
  size_t begin = reference.find(heading);
  if (begin == StringRef::npos)
    return {};
  StringRef section = reference.substr(begin + heading.size());
  section = section.drop_front(section.find('\n'));
  // Traits and interfaces are about the implementation; the tables of operands,
  // attributes and results repeat the syntax.
  for (StringRef end : {"\n### ", "\n## ", "\nTraits: ", "\nInterfaces: ",
                        "\nEffects: ", "\n#### "})
    section = section.take_front(section.find(end));
  return section.trim();
}
