//===- LawDriver.cpp - applies laws until none is left ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LawDriver.h"

#include "commute/Dialect/NodeName.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::Refusal;
using analysis::RefusalCode;

/// About how many ops and values a rewrite changes.
static constexpr unsigned numExpectedEntries = 8;
/// See "Termination" in LawDriver.h.
static constexpr unsigned maxRounds = 256;

LawDriver::LawDriver(func::FuncOp function, const LawSet &laws, Context context)
    : function(function), laws(laws), context(std::move(context)),
      rewriter(function.getContext(), this), pending(laws.groups.size()),
      lastRounds(laws.groups.size()) {}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

llvm::Error LawDriver::run() {
  hasListener = !context.isTrial && findListener();
  if (context.listener)
    context.listener->begin(function);
  size_t numDone = 0;
  for (unsigned round = 0, group = 0;
       round < maxRounds && numDone < laws.groups.size(); ++round) {
    llvm::Expected<Round> result = runRound(group);
    if (!result)
      return result.takeError();
    // Others may find more in what has changed.
    if (result->hasApplied)
      numDone = 0;
    if (result->hasApplied && (current->createsSites || result->hasWaiting))
      continue;
    ++numDone;
    group = (group + 1) % laws.groups.size();
  }
  reportPending();
  completeRecord();
  return llvm::Error::success();
}

void LawDriver::addSites(Operation *op) {
  auto [known, isNew] = lawsOfName.try_emplace(op->getName());
  if (isNew)
    for (auto [index, group] : llvm::enumerate(laws.groups))
      for (const std::unique_ptr<Law> &law : group->laws)
        if (law->isSite(op->getName()))
          known->second.emplace_back(index, law.get());
  for (auto [group, law] : known->second)
    sites[group].emplace_back(op, law);
}

ArrayRef<LawDriver::Site> LawDriver::getSites(size_t groupIndex) {
  if (sites.empty()) {
    sites.resize(laws.groups.size());
    // Walk only ops with regions; most have none.
    for (Block &block : function.getBody())
      for (Operation &op : block)
        if (op.getNumRegions() == 0)
          addSites(&op);
        else
          op.walk([&](Operation *inner) { addSites(inner); });
  }
  return sites[groupIndex];
}

llvm::Expected<LawDriver::Round> LawDriver::runRound(size_t groupIndex) {
  current = laws.groups[groupIndex].get();
  refusals = &pending[groupIndex];
  refusals->clear();
  erased.clear();
  if (context.record) {
    context.record->beginRound();
    lastRounds[groupIndex] = context.record->getRound();
  }
  if (llvm::Error error = current->beginRound(function))
    return std::move(error);
  Round round;
  bool wasChanged = std::exchange(isChanged, false);
  if (current->choice == LawGroup::Choice::SiteBySite) {
    for (auto [site, law] : getSites(groupIndex))
      if (!erased.contains(site) && mayRewrite(*law, site))
        visitSite(*current, site, *law);
  } else {
    // Find everything before drafting anything: the ops of drafts count as
    // users of their operands.
    std::vector<Candidate> candidates;
    Findings findings(/*keepsInapplicable=*/context.record);
    ArrayRef<Site> ofGroup = getSites(groupIndex);
    candidates.reserve(ofGroup.size());
    for (auto [site, law] : ofGroup) {
      if (!mayRewrite(*law, site))
        continue;
      findings.clear();
      law->find(site, findings);
      takeFindings(*law, findings, candidates);
    }
    llvm::erase_if(candidates,
                   [&](Candidate &candidate) { return !decide(candidate); });
    bool isLast = !current->createsSites ||
                  llvm::none_of(candidates, [](const Candidate &candidate) {
                    return bool(candidate.verdict);
                  });
    apply(choose(candidates, /*explains=*/isLast, round));
  }
  round.hasApplied = isChanged;
  if (isChanged) {
    current->endRound(function, rewriter);
    sites.clear();
  }
  isChanged |= wasChanged;
  return round;
}

void LawDriver::takeFindings(Law &law, Findings &findings,
                             std::vector<Candidate> &candidates) {
  for (const Findings::Note &note : findings.getNotes()) {
    context.count(note.statistic, 1);
    if (Decision *decision =
            record(law, note.site, Decision::Outcome::NotApplicable, {}, {}))
      decision->text = note.remark.text;
    if (!laws.reportsRefusals)
      continue;
    remark::analysis(note.remark.location, getRemark(note.remark.name))
        << remark::add("{0}", note.remark.text);
  }
  for (auto &[site, result] : findings.getEntries()) {
    if (result)
      candidates.push_back(
          {&law, site, std::move(*result), nullptr, {}, Refusal()});
    else
      note(law, site, std::move(result.getRefusal()), std::nullopt, {});
  }
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

bool LawDriver::decide(Candidate &candidate) {
  Legal<std::unique_ptr<Draft>> draft = candidate.finding->draft();
  if (!draft) {
    for (Operation *site : candidate.finding->getRefusedSites(candidate.site))
      note(*candidate.law, site, draft.getRefusal(), std::nullopt, {});
    return false;
  }
  candidate.draft = std::move(*draft);
  if (context.model)
    candidate.price = candidate.draft->getPrice(*context.model);
  if (laws.exactRounding && candidate.draft->reassociates())
    candidate.verdict =
        Refusal{nullptr, RefusalCode::Rounding,
                "the rewrite would round its sum in a different order, which "
                "exact-rounding forbids"};
  else
    candidate.verdict = laws.strategy->accept(
        *candidate.finding, *candidate.draft, candidate.price);
  return true;
}

bool LawDriver::mayRewrite(Law &law, Operation *site) {
  if (!context.listener || context.listener->mayRewrite(site))
    return true;
  if (const Refusal *refusal =
          context.listener->findRefusal(law.getName(), site))
    note(law, site, *refusal, std::nullopt, {});
  return false;
}

bool LawDriver::isBetterApart(const Candidate &candidate) const {
  SmallVector<const Draft *> parts = candidate.draft->getParts();
  if (parts.size() < 2 || !laws.strategy->comparesGains())
    return false;
  double gain = 0;
  for (const Draft *part : parts) {
    Price price = part->getPrice(*context.model);
    if (laws.strategy->accept(*candidate.finding, *part, price))
      gain += price.gain;
  }
  return gain > candidate.price.gain;
}

void LawDriver::visitSite(const LawGroup &group, Operation *site, Law &law) {
  Findings findings(/*keepsInapplicable=*/context.record);
  law.find(site, findings);
  std::vector<Candidate> candidates;
  takeFindings(law, findings, candidates);
  for (Candidate &candidate : candidates) {
    if (!decide(candidate))
      continue;
    if (candidate.verdict && !isBetterApart(candidate))
      apply(&candidate);
    else
      applyParts(candidate);
  }
}

void LawDriver::applyParts(Candidate &candidate) {
  Candidate *whole = &candidate;
  if (!candidate.verdict)
    refuse(whole);
  // Drop the draft now: its ops would count as extra users of their operands.
  candidate.draft.reset();
  for (std::unique_ptr<Finding> &finding : candidate.finding->getParts()) {
    Candidate part{
        candidate.law, candidate.site, std::move(finding), nullptr, {},
        Refusal()};
    if (!decide(part))
      continue;
    Candidate *own = &part;
    if (part.verdict)
      apply(own);
    else if (candidate.verdict)
      refuse(own);
  }
}

SmallVector<LawDriver::Candidate *>
LawDriver::choose(MutableArrayRef<Candidate> candidates, bool explains,
                  Round &round) {
  SmallVector<Candidate *> order;
  for (Candidate &candidate : candidates)
    order.push_back(&candidate);
  // Candidates are in program order, which breaks ties. What has waited goes
  // first: it may need what a rewrite of its round has left.
  llvm::sort(order, [&](const Candidate *a, const Candidate *b) {
    return std::tuple(-a->price.gain, !waiting.contains(a->site), a) <
           std::tuple(-b->price.gain, !waiting.contains(b->site), b);
  });
  waiting.clear();
  SmallVector<Candidate *> chosen, refused;
  /// Who changes an op or value, and what is relied on.
  llvm::DenseMap<void *, Candidate *> changed;
  llvm::DenseSet<void *> reliedOn;
  changed.reserve(order.size() * numExpectedEntries);
  for (Candidate *candidate : order) {
    if (!candidate->verdict) {
      if (explains)
        refuse(candidate);
      candidate->draft.reset();
      continue;
    }
    Footprint footprint = candidate->draft->getFootprint();
    llvm::SmallSetVector<Candidate *, 2> rivals;
    bool overlaps = false;
    for (void *entry : footprint.getChanged()) {
      overlaps |= reliedOn.contains(entry);
      if (Candidate *other = changed.lookup(entry))
        rivals.insert(other);
    }
    for (void *entry : footprint.getReliedOn())
      if (Candidate *other = changed.lookup(entry))
        rivals.insert(other);
    if (overlaps || !rivals.empty()) {
      round.hasWaiting = true;
      waiting.insert(candidate->site);
      for (Candidate *rival : rivals)
        if (std::string reason =
                candidate->finding->describeConflict(*rival->finding);
            !reason.empty())
          conflicts[candidate->site] = {
              candidate->law,
              {nullptr, RefusalCode::Conflict, std::move(reason)},
              std::nullopt};
      candidate->draft.reset();
      continue;
    }
    for (void *entry : footprint.getChanged())
      changed[entry] = candidate;
    reliedOn.insert(footprint.getReliedOn().begin(),
                    footprint.getReliedOn().end());
    chosen.push_back(candidate);
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

void LawDriver::apply(ArrayRef<Candidate *> chosen) {
  // Drafts may refer to ops that others replace, so erase at the end.
  SmallVector<Operation *> replaced;
  for (Candidate *candidate : chosen) {
    Operation *site = candidate->site;
    // What is not part of the rewrite is told now: the site may go.
    for (const auto &[where, refusal] : *refusals)
      if (where.first == site && where.second != site)
        report(site, refusal);
    if (current->createsSites) {
      SmallVector<Operation *> ops;
      candidate->draft->addOps(ops);
      created.insert(ops.begin(), ops.end());
    }
    Decision *decision =
        record(*candidate->law, site, Decision::Outcome::Applied,
               candidate->price, {});
    if (context.listener)
      context.listener->willRewrite(candidate->law->getName(), site,
                                    *candidate->draft);
    candidate->draft->apply(rewriter);
    candidate->draft->addReplaced(replaced);
    candidate->draft->count(context.count);
    isChanged = true;
    if (!hasListener && !decision)
      continue;
    SmallVector<LawRemark> remarks = candidate->finding->describe(
        *candidate->draft, candidate->price, context.model);
    llvm::for_each(remarks, [&](const LawRemark &remark) { report(remark); });
    if (decision && !remarks.empty())
      decision->text = remarks.front().text;
  }
  erase(replaced);
}

void LawDriver::erase(ArrayRef<Operation *> replaced) {
  llvm::DenseSet<Operation *> mayGo(replaced.begin(), replaced.end());
  erased.reserve(erased.size() + replaced.size());
  SmallVector<Operation *> unused(replaced);
  SmallVector<Value> operands;
  // An op is visited again when its last user is erased.
  while (!unused.empty()) {
    Operation *op = unused.pop_back_val();
    if (erased.contains(op) || !op->use_empty() ||
        !(mayGo.contains(op) || wouldOpBeTriviallyDead(op)))
      continue;
    operands.assign(op->operand_begin(), op->operand_end());
    // The driver is the rewriter's listener. To tell itself saves the walk
    // over regions, which is most of what eraseOp takes.
    if (op->getNumRegions() == 0) {
      notifyOperationErased(op);
      op->erase();
    } else {
      rewriter.eraseOp(op);
    }
    for (Value operand : operands)
      if (operand.use_empty())
        if (Operation *definition = operand.getDefiningOp())
          unused.push_back(definition);
  }
  // The next op may be allocated where an erased one was.
  for (PendingRefusals &ofGroup : pending)
    ofGroup.remove_if([&](const auto &entry) {
      return erased.contains(entry.first.first) ||
             erased.contains(entry.first.second);
    });
  conflicts.remove_if(
      [&](const auto &entry) { return erased.contains(entry.first); });
  llvm::set_subtract(waiting, erased);
}

void LawDriver::notifyOperationErased(Operation *op) {
  erased.insert(op);
  created.erase(op);
  if (context.listener)
    context.listener->willErase(op);
  if (context.record)
    context.record->forget(op);
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

void LawDriver::refuse(ArrayRef<Candidate *> candidates) {
  if (context.isTrial)
    return;
  for (Candidate *candidate : candidates) {
    Price price = context.model
                      ? candidate->draft->getRefusedPrice(*context.model)
                      : Price();
    double loss = price.isKnown() ? *price.after - *price.before : HUGE_VAL;
    for (Operation *site :
         candidate->finding->getRefusedSites(candidate->site)) {
      // Report the candidate that loses least.
      auto known = refusals->find({site, site});
      if (known != refusals->end() && known->second.law == candidate->law &&
          known->second.loss && *known->second.loss <= loss)
        continue;
      Refusal refusal = candidate->verdict.getRefusal();
      if (refusal.reason.empty())
        candidate->finding->explain(refusal, site, *candidate->draft, price,
                                    *context.model);
      note(*candidate->law, site, std::move(refusal), loss, price);
    }
  }
}

void LawDriver::note(Law &law, Operation *site, Refusal refusal,
                     std::optional<double> loss, const Price &price) {
  record(law, site,
         refusal.isApplicable() ? Decision::Outcome::Refused
                                : Decision::Outcome::NotApplicable,
         price, refusal);
  if (!refusal.isApplicable() || created.contains(site))
    return;
  Operation *about = refusal.op ? refusal.op : site;
  (*refusals)[{site, about}] = {&law, std::move(refusal), loss};
}

Decision *LawDriver::record(const Law &law, Operation *site,
                            Decision::Outcome outcome, const Price &price,
                            const Refusal &refusal) {
  if (!context.record)
    return nullptr;
  Decision decision;
  decision.pass = context.pass.str();
  decision.law = law.getName().str();
  decision.outcome = outcome;
  decision.code = refusal.code;
  decision.secondsBefore = price.before;
  decision.secondsAfter = price.after;
  if (refusal.isApplicable())
    decision.text = law.describe(refusal, site);
  decision.remedy = refusal.remedy;
  decision.option = refusal.option;
  decision.payingRows = refusal.payingRows;
  decision.requiredGain = laws.strategy->getMargin();
  Operation *blocker = refusal.blocker ? refusal.blocker : refusal.op;
  if (blocker && blocker != site)
    decision.blocker = MentionedOp::get(blocker);
  decision.isReported = outcome != Decision::Outcome::Refused ||
                        (laws.reportsRefusals && !created.contains(site));
  return &context.record->add(site, std::move(decision));
}

void LawDriver::completeRecord() {
  if (!context.record)
    return;
  for (auto [group, round] : llvm::zip_equal(laws.groups, lastRounds))
    for (const std::unique_ptr<Law> &law : group->laws)
      context.record->removeOutdated(context.pass, law->getName(), round);
  // Nothing was decided about a site that waited and then lost its ops.
  for (const auto &[site, lost] : conflicts)
    record(*lost.law, site, Decision::Outcome::Refused, {}, lost.refusal);
}

remark::RemarkOpts LawDriver::getRemark(StringRef name) {
  return remark::RemarkOpts::name(name)
      .category(context.pass)
      .function(function.getName());
}

bool LawDriver::findListener() {
  // The engine does not tell which remarks it drops, but it starts only others.
  remark::detail::InFlightRemark probe =
      remark::passed(function.getLoc(), getRemark("probe"));
  bool isStarted = bool(probe);
  // Drop it: remarks are emitted when they are destroyed.
  probe = remark::detail::InFlightRemark();
  return isStarted;
}

void LawDriver::report(const LawRemark &remark) {
  auto emitted = remark::passed(remark.location, getRemark(remark.name));
  emitted << remark::add("{0}", remark.text);
  if (!remark.suggestion.empty())
    emitted << remark::suggest("{0}", remark.suggestion);
}

void LawDriver::report(Operation *site, const PendingRefusal &pending) {
  if (!laws.reportsRefusals)
    return;
  context.count("num-refused", 1);
  const Refusal &refusal = pending.refusal;
  auto emitted = remark::missed(site->getLoc(),
                                getRemark(analysis::stringify(refusal.code)));
  if (!emitted)
    return;
  emitted << remark::add("{0}", pending.law->describe(refusal, site));
  if (!refusal.remedy.empty())
    emitted << remark::suggest("{0}", refusal.remedy);
}

void LawDriver::reportPending() {
  if (!laws.reportsRefusals)
    return;
  // A site that lost its ops to another finding no longer matches, for reasons
  // that would only puzzle.
  llvm::DenseMap<Operation *, SmallVector<const PendingRefusal *, 1>> ofSite;
  for (const PendingRefusals &ofGroup : pending)
    for (const auto &[where, refusal] : ofGroup)
      if (!conflicts.contains(where.first))
        ofSite[where.first].push_back(&refusal);
  for (const auto &[site, refusal] : conflicts)
    ofSite[site].push_back(&refusal);
  if (ofSite.empty())
    return;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto found = ofSite.find(op); found != ofSite.end())
      for (const PendingRefusal *refusal : found->second)
        report(op, *refusal);
  });
}
