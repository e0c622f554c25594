//===- HoverFilter.cpp - documentation of ops in hovers -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "HoverFilter.h"

#include "OpDocumentation.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LSP/Transport.h"
#include <optional>

using namespace llvm;

namespace {
/// Returns the name of the op that MLIR's hover text is about: over an op it
/// begins with the quoted name, over a result it says `Operation: "name"`.
StringRef findOpName(StringRef hover) {
  if (!hover.starts_with("\"")) {
    auto [before, after] = hover.split("Operation: ");
    hover = after;
  }
  if (!hover.consume_front("\""))
    return {};
  return hover.take_until([](char c) { return c == '"'; });
}
} // namespace

bool commute::addOpDocumentation(json::Value &message) {
  json::Object *fields = message.getAsObject();
  json::Object *result = fields ? fields->getObject("result") : nullptr;
  json::Object *contents = result ? result->getObject("contents") : nullptr;
  std::optional<StringRef> text =
      contents ? contents->getString("value") : std::nullopt;
  if (!text)
    return false;
  StringRef documentation =
      findOpDocumentation(getDialectReference(), findOpName(*text));
  if (documentation.empty())
    return false;
  std::string both = (text->rtrim() + "\n\n---\n\n" + documentation).str();
  (*contents)["value"] = std::move(both);
  return true;
}

void commute::forwardMessages(std::FILE *server, raw_ostream &editor) {
  lsp::JSONTransportInputOverFile input(server);
  std::string text;
  while (!input.isEndOfInput() && !input.hasError()) {
    text.clear();
    if (failed(input.readMessage(text)))
      continue;
    if (Expected<json::Value> message = json::parse(text)) {
      // Tests read the messages indented, as MLIR's server writes them for
      // them.
      bool isIndented = StringRef(text).contains("\n");
      if (addOpDocumentation(*message))
        text = isIndented ? formatv("{0:2}", *message).str()
                          : formatv("{0}", *message).str();
    } else {
      consumeError(message.takeError());
    }
    editor << "Content-Length: " << text.size() << "\r\n\r\n" << text;
    editor.flush();
  }
}
