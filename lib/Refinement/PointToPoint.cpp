//===- PointToPoint.cpp - messages between two ranks ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PointToPoint.h"

#include "commute/Report/RemarkCollector.h"
#include "commute/Support/Json.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

static constexpr StringLiteral library = "torch.ops._c10d_functional.";

/// Returns "isend" for torch.ops._c10d_functional.isend.default.
static StringRef getOperator(tp::CallOp call) {
  StringRef name = call.getCallee();
  if (!name.consume_front(library))
    return "";
  return name.split('.').first;
}

bool refinement::isPointToPoint(Operation *op) {
  auto call = dyn_cast<tp::CallOp>(op);
  if (!call)
    return false;
  StringRef name = getOperator(call);
  return name == "isend" || name == "irecv" || name == "batch_p2p_ops";
}

/// Returns the value of a named argument, below its type ("as_int").
static JsonValue findArgument(JsonValue arguments, StringRef name) {
  for (JsonValue argument : arguments) {
    std::string storage;
    JsonValue own = argument.get("name");
    if (!own || own.getString(storage) != name)
      continue;
    JsonValue value = argument.get("arg");
    if (value && value.size() == 1)
      return *value.begin();
  }
  return {};
}

static std::string getText(JsonValue value) {
  std::string storage;
  return value ? value.getString(storage).value_or(StringRef()).str()
               : std::string();
}

llvm::Expected<std::vector<Transfer>>
refinement::getTransfers(tp::CallOp call) {
  auto fail = [&](const Twine &what) {
    return llvm::createStringError(report::describeLocation(call.getLoc()) +
                                   ": " + what);
  };
  llvm::Expected<std::unique_ptr<JsonDocument>> document =
      JsonDocument::parse(call.getArguments().str());
  if (!document)
    return fail(llvm::toString(document.takeError()));
  JsonValue arguments = (*document)->root();
  std::string group = getText(findArgument(arguments, "group_name"));
  if (group.empty())
    return fail("the op names no process group");
  StringRef name = getOperator(call);
  std::vector<Transfer> transfers;
  if (name != "batch_p2p_ops") {
    bool isSend = name == "isend";
    JsonValue peer = findArgument(arguments, isSend ? "dst" : "src");
    if (!peer || !peer.getInteger() || call->getNumOperands() < 1)
      return fail("the rank to send to or receive from is not a number");
    transfers.push_back({isSend, *peer.getInteger(), group, 0, 0});
    return transfers;
  }
  JsonValue kinds = findArgument(arguments, "op_list");
  JsonValue peers = findArgument(arguments, "peer_list");
  if (!kinds || !peers || kinds.size() != peers.size() ||
      kinds.size() != call->getNumOperands() ||
      kinds.size() > call->getNumResults())
    return fail("the lists of operators, ranks and tensors have different "
                "lengths");
  auto peer = peers.begin();
  for (JsonValue kind : kinds) {
    std::string text = getText(kind);
    if ((text != "isend" && text != "irecv") || !(*peer).getInteger())
      return fail("expected isend or irecv, and the number of a rank");
    auto index = static_cast<unsigned>(transfers.size());
    transfers.push_back(
        {text == "isend", *(*peer).getInteger(), group, index, index});
    ++peer;
  }
  return transfers;
}
