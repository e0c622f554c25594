//===- HoverFilter.h - documentation of ops in hovers -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTELSPSERVER_HOVERFILTER_H
#define COMMUTE_TOOLS_COMMUTELSPSERVER_HOVERFILTER_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>

namespace commute {

/// Adds the documentation of the op under the cursor to `message`, which the
/// server sends to the editor, where it is the answer to a hover request over
/// an op of this project. Returns whether it was one.
bool addOpDocumentation(llvm::json::Value &message);

/// Copies the server's messages from `server` to `editor` until the stream
/// ends, each hover with the documentation of its op. Every message has the
/// header that the protocol asks for; what is no JSON is passed on as it is.
void forwardMessages(std::FILE *server, llvm::raw_ostream &editor);

} // namespace commute

#endif // COMMUTE_TOOLS_COMMUTELSPSERVER_HOVERFILTER_H
