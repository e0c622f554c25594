//===- JoinedRanks.cpp - the programs of all ranks as one -----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "JoinedRanks.h"

#include "PointToPoint.h"
#include "commute/Analysis/Collectives/CollectiveOrder.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Equivalence/ResolvedPrograms.h"
#include "commute/Report/RemarkCollector.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

static std::string describeType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string JoinedRanks::describe(int64_t rank, Operation *op) const {
  std::string text = "rank " + std::to_string(rank);
  if (auto call = dyn_cast<tp::CallOp>(op))
    return text + " runs " + call.getCallee().str() + ", " +
           report::describeLocation(op->getLoc());
  return text + " runs " + analysis::describeCollective(op) + ", " +
         report::describeLocation(op->getLoc());
}

bool JoinedRanks::isDone(size_t index, Operation *op) const {
  return llvm::all_of(op->getResults(), [&](Value result) {
    return ranks[index].values.contains(result);
  });
}

llvm::Expected<bool> JoinedRanks::run() {
  states.resize(ranks.size());
  for (auto [index, rank] : llvm::enumerate(ranks)) {
    Block &block = rank.function.getBody().front();
    states[index].next = block.begin();
    states[index].end = block.getTerminator()->getIterator();
    indexOf[rank.rank] = index;
  }
  // Ranks take turns, one op at a time: where all run one program, all have
  // come equally far at each place, and the joined program is at the same place
  // as the reference.
  while (true) {
    bool progresses = false, isDone = true;
    for (size_t index = 0; index < ranks.size(); ++index) {
      llvm::Expected<bool> advanced = advance(index);
      if (!advanced)
        return advanced.takeError();
      if (!failures.empty())
        return false;
      progresses |= *advanced;
      isDone &=
          states[index].next == states[index].end && !states[index].waiting;
    }
    if (isDone)
      break;
    if (!progresses) {
      explainDeadlock();
      return false;
    }
  }
  // Outputs that are inputs.
  for (JoinedRank &own : ranks)
    for (Value output :
         own.function.getBody().front().getTerminator()->getOperands())
      if (llvm::Expected<Value> made = getOperand(own, output); !made)
        return made.takeError();
  return checkComplete();
}

bool JoinedRanks::checkComplete() {
  auto fail = [&](std::string message, Operation *op, StringRef fix) {
    failures.push_back(
        {std::move(message), fix.str(), op->getLoc(), std::nullopt, ""});
    isDeadlock = true;
    return false;
  };
  // A collective that nobody waits for must nevertheless be run by all members.
  for (const auto &[key, meeting] : meetings) {
    if (meeting.numArrived == key.first.size())
      continue;
    size_t position = 0, missing = 0;
    while (!meeting.arrived[position])
      ++position;
    while (meeting.arrived[missing])
      ++missing;
    return fail(describe(key.first[position], meeting.arrived[position]) +
                    ", but rank " + std::to_string(key.first[missing]) +
                    " of its group has returned without it",
                meeting.arrived[position],
                "run the collective on all ranks of its group");
  }
  for (const auto &[key, channel] : channels) {
    bool isSent = channel.sent.size() > channel.received.size();
    if (channel.sent.size() == channel.received.size())
      continue;
    const Message &message = isSent ? channel.sent[channel.received.size()]
                                    : channel.received[channel.sent.size()];
    auto [members, from, to] = key;
    return fail(describe(ranks[message.rank].rank, message.op) + ", but rank " +
                    std::to_string(ranks[isSent ? to : from].rank) +
                    (isSent ? " never receives it" : " never sends it"),
                message.op, "pair each send with a receive");
  }
  return true;
}

llvm::Expected<Value> JoinedRanks::getOperand(JoinedRank &own, Value operand) {
  if (Value known = own.values.lookup(operand))
    return known;
  auto argument = dyn_cast<BlockArgument>(operand);
  if (!argument)
    return Value();
  llvm::Expected<Value> made = makeInput(own, argument);
  if (made)
    own.values[operand] = *made;
  return made;
}

llvm::Expected<bool> JoinedRanks::advance(size_t index) {
  State &state = states[index];
  JoinedRank &own = ranks[index];
  if (state.waiting && !isDone(index, state.waiting))
    return false;
  bool hasWaited = std::exchange(state.waiting, nullptr) != nullptr;
  if (state.next == state.end)
    return hasWaited;
  Operation *op = &*state.next;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    llvm::Expected<Value> known = getOperand(own, operand);
    if (!known)
      return known.takeError();
    if (!*known) {
      // The result of an asynchronous collective may not be there yet.
      state.waiting = operand.getDefiningOp();
      assert(state.waiting && "a value that nothing defines");
      return hasWaited;
    }
    operands.push_back(*known);
  }
  ++state.next;
  ops.setLocation(op->getLoc());
  if (llvm::Error error = execute(index, op, operands))
    return std::move(error);
  return true;
}

/// The attributes that name sizes that a program determines from values.
static constexpr StringLiteral sizeAttrNames[] = {
    tp::sizesOfValuesAttrName, equivalence::usedSizesAttrName};

/// Returns true for ops whose results differ between ranks, and from those of
/// the reference, even if they have equal operands: uninitialized memory, and
/// calls that may communicate. Sizes that depend on values are those of a rank,
/// too.
static bool isOfRank(Operation *op) {
  if (llvm::any_of(sizeAttrNames,
                   [&](StringRef name) { return op->hasAttr(name); }))
    return true;
  if (!op->hasAttr(equivalence::drawAttrName))
    return false;
  auto call = dyn_cast<tp::CallOp>(op);
  return !call || tp::getCallEffects(call) != tp::CallEffects::Random;
}

void JoinedRanks::markRank(Operation *op, size_t index) {
  Builder &builder = ops.getBuilder();
  auto call = dyn_cast<tp::CallOp>(op);
  bool isRandom = call && tp::getCallEffects(call) == tp::CallEffects::Random;
  if (auto number = op->getAttrOfType<IntegerAttr>(equivalence::drawAttrName);
      number && !isRandom) {
    // Allocations and calls are counted by the bits up to this one
    // (resolveSizes).
    constexpr unsigned firstBitOfRank = 33;
    auto rank = static_cast<int64_t>(2 * index + (isReference ? 0 : 1));
    op->setAttr(
        equivalence::drawAttrName,
        builder.getI64IntegerAttr(number.getInt() | (rank << firstBitOfRank)));
  }
  if (isReference)
    return;
  for (StringRef attribute : sizeAttrNames) {
    auto names = op->getAttrOfType<ArrayAttr>(attribute);
    if (!names)
      continue;
    SmallVector<Attribute> own;
    for (StringAttr name : names.getAsRange<StringAttr>())
      own.push_back(builder.getStringAttr(name.getValue() + "@" +
                                          Twine(ranks[index].rank)));
    op->setAttr(attribute, builder.getArrayAttr(own));
  }
}

llvm::Error JoinedRanks::execute(size_t index, Operation *op,
                                 ArrayRef<Value> operands) {
  JoinedRank &own = ranks[index];
  if (isa<tp::CollectiveOpInterface>(op)) {
    llvm::Expected<bool> isComplete = arrive(index, op);
    if (!isComplete)
      return isComplete.takeError();
    bool isAsync = cast<tp::CollectiveOpInterface>(op).isAsynchronous();
    if (!*isComplete && !isAsync)
      states[index].waiting = op;
    return llvm::Error::success();
  }
  if (isPointToPoint(op))
    return post(index, cast<tp::CallOp>(op));
  if (auto completion = dyn_cast<tp::CompletionOpInterface>(op)) {
    own.values[op->getResult(0)] = own.values.lookup(completion.getBegun());
    return llvm::Error::success();
  }
  if (isa<tp::GroupOpInterface>(op))
    return evaluate({index}, {op});
  SmallVector<Value> results;
  if (isOfRank(op)) {
    Operation *marked = op->clone();
    markRank(marked, index);
    results = copyOp(ops, marked, operands);
    marked->destroy();
  } else {
    results = copyOp(ops, op, operands);
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
    own.values[result] = value;
  return llvm::Error::success();
}

llvm::Expected<bool> JoinedRanks::arrive(size_t index, Operation *op) {
  int64_t rank = ranks[index].rank;
  tp::GroupAttr group =
      cast<tp::CollectiveOpInterface>(op).getCollectiveGroup();
  ArrayRef<int64_t> members = group.getMembersAround(rank);
  auto place = llvm::find(members, rank);
  if (place == members.end()) {
    failures.push_back(
        {describe(rank, op) + ", of group '" + group.getName().str() +
             "', of which it is not a member",
         "use a group that the rank is in", op->getLoc(), std::nullopt, ""});
    return false;
  }
  for (int64_t member : members)
    if (!indexOf.count(member))
      return llvm::createStringError(
          report::describeLocation(op->getLoc()) + ": rank " + Twine(member) +
          " is a member of group '" + group.getName() +
          "', but no program is given for it");
  std::vector<int64_t> list(members);
  Key key{list, states[index].counts[list]++};
  Meeting &meeting = meetings[key];
  meeting.arrived.resize(members.size());
  meeting.arrived[place - members.begin()] = op;
  meetingOf[{op, index}] = key;
  if (++meeting.numArrived < members.size())
    return false;
  if (!matches(key, meeting))
    return false;
  if (llvm::Error error = complete(key, meeting))
    return std::move(error);
  return true;
}

llvm::Error JoinedRanks::post(size_t index, tp::CallOp call) {
  llvm::Expected<std::vector<Transfer>> transfers = getTransfers(call);
  if (!transfers)
    return transfers.takeError();
  int64_t rank = ranks[index].rank;
  for (const Transfer &transfer : *transfers) {
    ArrayRef<int64_t> members;
    for (tp::GroupAttr group :
         analysis::getGroups(call->getParentOfType<ModuleOp>()))
      if (group.getName() == transfer.group)
        members = group.getMembersAround(rank);
    // Programs whose only group is that of all ranks may leave it out.
    std::vector<int64_t> list(members);
    if (list.empty())
      for (const JoinedRank &other : ranks)
        list.push_back(other.rank);
    if (transfer.peer < 0 ||
        transfer.peer >= static_cast<int64_t>(list.size()) ||
        !indexOf.count(list[transfer.peer]))
      return llvm::createStringError(report::describeLocation(call.getLoc()) +
                                     ": the group has no rank " +
                                     Twine(transfer.peer));
    size_t peer = indexOf.at(list[transfer.peer]);
    ChannelKey key = transfer.isSend ? ChannelKey(list, index, peer)
                                     : ChannelKey(list, peer, index);
    Channel &channel = channels[key];
    std::vector<Message> &messages =
        transfer.isSend ? channel.sent : channel.received;
    messages.push_back({index, call, transfer.operand, transfer.result});
    peersOf[{call, index}].push_back({key, messages.size() - 1});
    deliver(key, messages.size() - 1);
  }
  return llvm::Error::success();
}

void JoinedRanks::deliver(const ChannelKey &key, size_t number) {
  Channel &channel = channels[key];
  if (channel.sent.size() <= number || channel.received.size() <= number)
    return;
  const Message &sent = channel.sent[number];
  const Message &received = channel.received[number];
  Value content =
      ranks[sent.rank].values.lookup(sent.op->getOperand(sent.operand));
  Value completed = received.op->getResult(received.result);
  if (content.getType() != completed.getType()) {
    failsBySizes = true;
    failures.push_back(
        {describe(ranks[sent.rank].rank, sent.op) + " and sends " +
             describeType(content.getType()) + ", but " +
             describe(ranks[received.rank].rank, received.op) +
             " and expects " + describeType(completed.getType()),
         "send and receive tensors of one type", received.op->getLoc(),
         sent.op->getLoc(), "rank " + std::to_string(ranks[sent.rank].rank)});
    return;
  }
  ranks[received.rank].values[completed] = content;
  ranks[received.rank].sources[completed] =
      std::make_shared<std::vector<JoinedRank::Source>>(
          1, JoinedRank::Source(sent.rank, sent.op->getOperand(sent.operand)));
  // A send is complete once the other side receives.
  Value end = sent.op->getResult(sent.result);
  if (auto type = dyn_cast<RankedTensorType>(end.getType());
      type && type.getNumElements() == 0)
    ranks[sent.rank].values[end] =
        ops.constant(ops.getBuilder().getF64FloatAttr(0), type.getShape(),
                     type.getElementType());
  else
    ranks[sent.rank].values[end] = content;
}

bool JoinedRanks::matches(const Key &key, const Meeting &meeting) {
  Operation *first = meeting.arrived.front();
  for (auto [position, op] : llvm::enumerate(meeting.arrived)) {
    std::string mismatch = analysis::findMismatch(first, op, &failsBySizes);
    if (mismatch.empty())
      continue;
    failures.push_back(
        {"collective " + std::to_string(key.second) +
             " of the group of ranks " +
             llvm::join(llvm::map_range(
                            key.first,
                            [](int64_t rank) { return std::to_string(rank); }),
                        ", ") +
             " does not match: " + describe(key.first.front(), first) +
             ", and " + describe(key.first[position], op) + "; these " +
             mismatch,
         "let all ranks of the group issue the same collectives in the same "
         "order",
         op->getLoc(), first->getLoc(),
         "rank " + std::to_string(key.first.front())});
    return false;
  }
  return true;
}

llvm::Error JoinedRanks::complete(const Key &key, const Meeting &meeting) {
  SmallVector<size_t> members;
  for (int64_t member : key.first)
    members.push_back(indexOf.at(member));
  return evaluate(members, meeting.arrived);
}

llvm::Error JoinedRanks::evaluate(ArrayRef<size_t> members,
                                  ArrayRef<Operation *> meetingOps) {
  std::string message;
  ScopedDiagnosticHandler handler(
      ops.getContext(), [&](Diagnostic &diagnostic) {
        if (message.empty())
          llvm::raw_string_ostream(message)
              << report::describeLocation(diagnostic.getLocation()) << ": "
              << diagnostic;
        return success();
      });
  std::vector<OpAlgebra> algebras;
  for (size_t member : members)
    algebras.emplace_back(ops, ranks[member].rank);
  while (true) {
    bool isWaiting = false;
    for (auto [position, member] : llvm::enumerate(members)) {
      OpAlgebra &algebra = algebras[position];
      Operation *op = meetingOps[position];
      ops.setLocation(op->getLoc());
      SmallVector<tp::AlgebraValue> operands, results;
      for (Value operand : op->getOperands())
        operands.push_back(
            OpAlgebra::wrap(ranks[member].values.lookup(operand)));
      algebra.restart();
      LogicalResult evaluated = cast<tp::EvaluationOpInterface>(op).evaluate(
          algebra, operands, results);
      if (algebra.hasFailed())
        return llvm::createStringError(
            report::describeLocation(op->getLoc()) +
            ": this op cannot be evaluated across programs");
      if (failed(evaluated)) {
        if (!algebra.isWaiting()) {
          failsBySizes = true;
          failures.push_back({"rank " + std::to_string(ranks[member].rank) +
                                  " cannot run a collective: " + message,
                              "", op->getLoc(), std::nullopt, ""});
          return llvm::Error::success();
        }
        isWaiting = true;
        continue;
      }
      for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
        ranks[member].values[result] = OpAlgebra::unwrap(value);
    }
    if (!isWaiting)
      break;
    // Deliver what was sent.
    for (auto [position, algebra] : llvm::enumerate(algebras)) {
      OpAlgebra::Exchange &exchange = algebra.getExchanges().back();
      for (OpAlgebra &peer : algebras)
        exchange.fromMembers.push_back(
            peer.getExchanges().back().toMembers[position]);
    }
    for (OpAlgebra &algebra : algebras)
      algebra.getExchanges().back().isComplete = true;
  }
  auto sources = std::make_shared<std::vector<JoinedRank::Source>>();
  for (auto [member, op] : llvm::zip_equal(members, meetingOps))
    for (Value operand : op->getOperands())
      sources->emplace_back(member, operand);
  for (auto [member, op] : llvm::zip_equal(members, meetingOps))
    for (Value result : op->getResults())
      ranks[member].sources[result] = sources;
  return llvm::Error::success();
}
