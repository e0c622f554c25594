//===- PipelineChoice.cpp - which passes run where, in which order --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PipelineChoice.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;

using Order = SmallVector<StringRef, 3>;

/// The least part of the time that counts as a difference: sums of the same
/// times in another order differ in the last digits.
static constexpr double noise = 1e-9;
static constexpr unsigned maxComponentTrials = 64;

static bool isFaster(double seconds, double than) {
  return seconds < than * (1 - noise);
}

static std::string describe(const Order &order) {
  return order.empty() ? "none of them" : llvm::join(order, " and then ");
}

namespace {

/// A program after some of the passes that compete, in this order.
struct Tried {
  Order order;
  /// After the passes that follow in the pipeline.
  double seconds = 0;
};

class PipelineChooser {
public:
  PipelineChooser(ModuleOp module, PipelineTrials &trials)
      : module(module), trials(trials) {}

  /// Returns nullopt if the program cannot be priced.
  std::optional<PipelineChoice> choose();

private:
  /// The order of local passes in each class of components.
  struct Assignment {
    /// By class; the last one is that of sites in no component.
    SmallVector<Order> orders;
    double seconds = 0;
  };

  bool isAlways() const {
    return trials.getSettings().policy == Policy::Always;
  }
  static bool isLocal(StringRef pass) { return PipelineTrials::isLocal(pass); }
  bool isPostponed(StringRef pass) const { return trials.isPostponed(pass); }
  ArrayRef<StringRef> getCompeting() const { return trials.getCompeting(); }

  /// Tries all orders that begin with `done`, after which the program is
  /// `input`. Returns false if one cannot be priced.
  bool explore(ModuleOp input, const Order &done);
  /// The best of the orders, or of those of local passes alone.
  const Tried *findBest(bool isLocalOnly = false) const;
  bool doesNothingAfter(const Order &done, StringRef pass) const {
    return inert.contains({done, pass});
  }

  /// How many local passes rewrite the program after an order.
  unsigned countLocal(const Order &done) const {
    return llvm::count_if(getCompeting(), [&](StringRef pass) {
      return isLocal(pass) && !llvm::is_contained(done, pass) &&
             !doesNothingAfter(done, pass);
    });
  }
  /// Whether an order of local passes leaves out some.
  bool isPartial(const Order &order) const;
  /// Sets the rewrites of local passes that compete in `base`, and their
  /// classes.
  void findComponents(ModuleOp base);
  /// The orders that a place may choose.
  std::vector<Order> getLocalOrders() const;
  /// One of the components of a class.
  const RewriteComponent &getExample(unsigned classIndex) const {
    return (*components)[llvm::find(classOf, classIndex) - classOf.begin()];
  }
  Assignment assign(ModuleOp base, const Order &start, double seconds);
  std::vector<ChosenStep> getSteps(const Assignment &assignment) const;
  /// Says at sites of rewrites that are not made what they would have cost.
  void explain(const Assignment &assignment, std::vector<ChosenStep> &steps);
  void explainWhole(const Tried &best, bool withLocal,
                    std::vector<ChosenStep> &steps);
  analysis::Refusal getRefusal(double seconds, const std::string &with,
                               double best, const std::string &chosen) const;
  /// Leaves passes to a later run.
  void removePostponed(Assignment &assignment) const;

  ModuleOp module;
  PipelineTrials &trials;

  std::vector<Tried> tried;
  /// Passes that change nothing after an order.
  std::set<std::pair<Order, StringRef>> inert;
  /// The rewrites of passes that run first.
  RewriteTrials first;

  RewriteTrials local;
  std::shared_ptr<std::vector<RewriteComponent>> components =
      std::make_shared<std::vector<RewriteComponent>>();
  SmallVector<unsigned> classOf;
  unsigned numClasses = 0;
  /// By class and order, the least time with which it was tried.
  std::map<std::pair<unsigned, Order>, double> secondsOfOrder;
};

} // namespace

//===----------------------------------------------------------------------===//
// Orders of the whole program
//===----------------------------------------------------------------------===//

bool PipelineChooser::explore(ModuleOp input, const Order &done) {
  bool isComplete = true;
  for (StringRef pass : getCompeting()) {
    if (llvm::is_contained(done, pass))
      continue;
    // What is left to a later run comes after all that is done now.
    if (!isLocal(pass) && llvm::any_of(done, [&](StringRef earlier) {
          return isPostponed(earlier);
        }))
      continue;
    OwningOpRef<ModuleOp> result = input.clone();
    RewriteTrials::Recorder recorder(first);
    std::optional<bool> isChanged =
        trials.run(*result, pass, done.empty() ? &recorder : nullptr);
    if (!isChanged)
      continue;
    if (!*isChanged) {
      inert.insert({done, pass});
      continue;
    }
    isComplete = false;
    Order longer = done;
    longer.push_back(pass);
    if (!explore(*result, longer))
      return false;
  }
  if (isAlways() && !isComplete)
    return true;
  std::optional<double> seconds = trials.predict(input);
  if (!seconds)
    return false;
  tried.push_back({done, *seconds});
  return true;
}

const Tried *PipelineChooser::findBest(bool isLocalOnly) const {
  const Tried *best = nullptr;
  // Of equal ones, take the one whose passes come in their default order.
  auto getPlaces = [&](const Order &order) {
    return llvm::map_to_vector(order, [&](StringRef pass) {
      return llvm::find(getCompeting(), pass) - getCompeting().begin();
    });
  };
  auto isBetter = [&](const Tried &a, const Tried &b) {
    // One pass must not keep another from making any of its rewrites.
    if (isAlways() && a.order.size() != b.order.size())
      return a.order.size() > b.order.size();
    if (isFaster(a.seconds, b.seconds) || isFaster(b.seconds, a.seconds))
      return a.seconds < b.seconds;
    return std::pair(a.order.size(), getPlaces(a.order)) <
           std::pair(b.order.size(), getPlaces(b.order));
  };
  for (const Tried &candidate : tried) {
    if (isLocalOnly && !llvm::all_of(candidate.order, isLocal))
      continue;
    if (!best || isBetter(candidate, *best))
      best = &candidate;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

bool PipelineChooser::isPartial(const Order &order) const {
  return order.size() < size_t(llvm::count_if(getCompeting(), isLocal));
}

std::vector<Order> PipelineChooser::getLocalOrders() const {
  std::vector<Order> orders = {{}};
  for (size_t index = 0; index < orders.size(); ++index)
    for (StringRef pass : getCompeting())
      if (isLocal(pass) && !llvm::is_contained(orders[index], pass)) {
        Order longer = orders[index];
        longer.push_back(pass);
        orders.push_back(longer);
      }
  if (isAlways())
    llvm::erase_if(orders,
                   [&](const Order &order) { return isPartial(order); });
  return orders;
}

void PipelineChooser::findComponents(ModuleOp base) {
  local = RewriteTrials();
  classOf.clear();
  secondsOfOrder.clear();
  for (const Order &order : getLocalOrders()) {
    // Its rewrites are those with which a longer one begins.
    if (isPartial(order))
      continue;
    OwningOpRef<ModuleOp> trial = base.clone();
    RewriteTrials::Recorder recorder(local);
    for (StringRef pass : order)
      if (!trials.run(*trial, pass, &recorder))
        break;
  }
  *components = local.getComponents();
  SmallVector<Operation *> ops;
  for (Operation &op : analysis::getMain(base).getBody().front())
    ops.push_back(&op);
  // Equal ops have equal prices.
  std::map<std::vector<llvm::hash_code>, unsigned> classes;
  for (const RewriteComponent &component : *components) {
    std::vector<llvm::hash_code> key;
    for (unsigned number : component.ops)
      key.push_back(OperationEquivalence::computeHash(
          ops[number], [](Value value) { return hash_value(value.getType()); },
          OperationEquivalence::ignoreHashValue,
          OperationEquivalence::IgnoreLocations |
              OperationEquivalence::IgnoreDiscardableAttrs));
    classOf.push_back(
        classes.try_emplace(std::move(key), classes.size()).first->second);
  }
  numClasses = classes.size();
}

std::vector<ChosenStep>
PipelineChooser::getSteps(const Assignment &assignment) const {
  auto componentOf = std::make_shared<ComponentOfOp>();
  std::map<Order, SmallVector<unsigned>> componentsOf;
  for (unsigned index = 0; index < components->size(); ++index)
    componentsOf[assignment.orders[classOf[index]]].push_back(index);
  componentsOf.try_emplace(assignment.orders.back());
  std::vector<ChosenStep> steps;
  for (const auto &[order, own] : componentsOf)
    for (StringRef pass : order) {
      auto scope = std::make_shared<ComponentScope>(componentOf, *components);
      llvm::for_each(own, [&](unsigned index) { scope->allow(index); });
      if (order == assignment.orders.back())
        scope->allowOthers();
      for (const PassStep &step : trials.getSteps(pass))
        steps.push_back({step, scope});
    }
  return steps;
}

PipelineChooser::Assignment
PipelineChooser::assign(ModuleOp base, const Order &start, double seconds) {
  Assignment best{SmallVector<Order>(numClasses + 1, start), seconds};
  unsigned numTrials = 0;
  for (unsigned index = 0; index < numClasses; ++index) {
    secondsOfOrder[{index, best.orders[index]}] = best.seconds;
    ArrayRef<StringRef> passes = getExample(index).passes.getArrayRef();
    if (passes.size() < 2 && llvm::is_contained(start, passes.front()))
      continue;
    for (const Order &order : getLocalOrders()) {
      if (order == best.orders[index] || ++numTrials > maxComponentTrials)
        continue;
      Assignment candidate = best;
      candidate.orders[index] = order;
      OwningOpRef<ModuleOp> trial = base.clone();
      std::optional<double> time;
      if (trials.run(*trial, getSteps(candidate)))
        time = trials.predict(*trial);
      if (!time)
        continue;
      secondsOfOrder[{index, order}] = *time;
      candidate.seconds = *time;
      if (isFaster(candidate.seconds, best.seconds))
        best = std::move(candidate);
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

analysis::Refusal PipelineChooser::getRefusal(double seconds,
                                              const std::string &with,
                                              double best,
                                              const std::string &chosen) const {
  return {nullptr, analysis::RefusalCode::Conflict,
          "another rewrite excludes it: a step takes " +
              formatMicroseconds(seconds) + " with " + with + ", and " +
              formatMicroseconds(best) + " with " + chosen + ", on " +
              trials.getTargetName().str()};
}

/// Refuses a rewrite that a trial of `pass` made.
static void refuse(const TriedRewrite &made, StringRef pass,
                   const analysis::Refusal &refusal, ComponentScope &scope) {
  if (made.pass == pass && made.site)
    scope.refuse(*made.site, made.law, refusal);
}

void PipelineChooser::removePostponed(Assignment &assignment) const {
  for (auto [index, order] : llvm::enumerate(assignment.orders)) {
    auto postponed =
        llvm::find_if(order, [&](StringRef pass) { return isPostponed(pass); });
    if (postponed == order.end())
      continue;
    // The later run makes its rewrites first where they exclude others.
    if (index < numClasses && getExample(index).passes.size() > 1)
      order.erase(postponed, order.end());
    else
      order.erase(postponed);
  }
}

void PipelineChooser::explain(const Assignment &assignment,
                              std::vector<ChosenStep> &steps) {
  std::vector<ChosenStep> explanations;
  auto componentOf = std::make_shared<ComponentOfOp>();
  for (StringRef pass : getCompeting()) {
    if (!isLocal(pass))
      continue;
    auto scope = std::make_shared<ComponentScope>(componentOf, *components);
    for (auto [index, component] : llvm::enumerate(*components)) {
      const Order &chosen = assignment.orders[classOf[index]];
      if (llvm::is_contained(chosen, pass))
        continue;
      // The fastest of the orders that begin with the pass, which certainly
      // rewrites then.
      const std::pair<const std::pair<unsigned, Order>, double> *other =
          nullptr;
      for (const auto &entry : secondsOfOrder)
        if (entry.first.first == classOf[index] &&
            !entry.first.second.empty() && entry.first.second.front() == pass &&
            (!other || entry.second < other->second))
          other = &entry;
      if (!other)
        continue;
      analysis::Refusal refusal =
          getRefusal(other->second, describe(other->first.second),
                     assignment.seconds, describe(chosen));
      for (unsigned rewrite : component.rewrites)
        refuse(local.getRewrites()[rewrite], pass, refusal, *scope);
    }
    if (!scope->isEmpty())
      explanations.push_back({trials.getSteps(pass).front(), scope});
  }
  steps.insert(steps.begin(), explanations.begin(), explanations.end());
}

void PipelineChooser::explainWhole(const Tried &best, bool withLocal,
                                   std::vector<ChosenStep> &steps) {
  std::vector<ChosenStep> explanations;
  auto componentOf = std::make_shared<ComponentOfOp>();
  for (StringRef pass : getCompeting()) {
    if ((isLocal(pass) && !withLocal) || llvm::is_contained(best.order, pass) ||
        doesNothingAfter({}, pass))
      continue;
    const Tried *other = nullptr;
    for (const Tried &candidate : tried)
      if (llvm::is_contained(candidate.order, pass) &&
          (!other || candidate.seconds < other->seconds))
        other = &candidate;
    if (!other)
      continue;
    auto scope = std::make_shared<ComponentScope>(componentOf,
                                                  ArrayRef<RewriteComponent>());
    analysis::Refusal refusal =
        getRefusal(other->seconds, describe(other->order), best.seconds,
                   describe(best.order));
    for (const TriedRewrite &made : first.getRewrites())
      refuse(made, pass, refusal, *scope);
    if (!scope->isEmpty())
      explanations.push_back({trials.getSteps(pass).front(), scope});
  }
  steps.insert(steps.begin(), explanations.begin(), explanations.end());
}

std::optional<PipelineChoice> PipelineChooser::choose() {
  func::FuncOp main = analysis::getMain(module);
  if (!main || trials.getSettings().policy == Policy::Upstream ||
      getCompeting().size() < 2 || !trials.loadPrices(main))
    return std::nullopt;
  OwningOpRef<ModuleOp> start = module.clone();
  std::vector<ChosenStep> beginning;
  append(beginning, trials.getHead());
  if (!trials.run(*start, beginning) || !explore(*start, {}))
    return std::nullopt;
  const Tried *best = findBest();
  if (!best)
    return std::nullopt;
  // Different orders in different places may be faster than any order of the
  // whole program.
  std::optional<Assignment> assignment;
  const Tried *localBest = findBest(/*isLocalOnly=*/true);
  if (!isAlways() && localBest && localBest != best && countLocal({}) > 1) {
    findComponents(*start);
    Assignment ofPlaces = assign(*start, localBest->order, localBest->seconds);
    if (isFaster(ofPlaces.seconds, best->seconds)) {
      best = localBest;
      assignment = std::move(ofPlaces);
    }
  }

  PipelineChoice choice;
  append(choice.steps, trials.getHead());
  // Passes that rewrite nothing run as early as that holds, for their remarks.
  Order done;
  llvm::SmallDenseSet<StringRef> reported;
  std::vector<ChosenStep> middle;
  auto addInert = [&] {
    for (StringRef pass : getCompeting())
      if (!isPostponed(pass) && !llvm::is_contained(best->order, pass) &&
          doesNothingAfter(done, pass) && reported.insert(pass).second)
        middle.push_back({trials.getSteps(pass).front(), nullptr});
  };
  size_t numWhole = 0;
  for (auto [index, pass] : llvm::enumerate(best->order))
    if (!isLocal(pass))
      numWhole = index + 1;
  OwningOpRef<ModuleOp> base = start->clone();
  for (StringRef pass : ArrayRef(best->order).take_front(numWhole)) {
    addInert();
    if (!trials.run(*base, pass))
      return std::nullopt;
    append(middle, trials.getSteps(pass));
    done.push_back(pass);
  }
  unsigned numLocal = countLocal(done);
  Order rest(ArrayRef(best->order).drop_front(numWhole));
  if (numLocal < 2) {
    for (StringRef pass : rest) {
      addInert();
      if (!isPostponed(pass))
        append(middle, trials.getSteps(pass));
      done.push_back(pass);
    }
    addInert();
  } else {
    addInert();
    if (!assignment) {
      findComponents(*base);
      assignment = assign(*base, rest, best->seconds);
    }
    Assignment kept = *assignment;
    removePostponed(kept);
    std::vector<ChosenStep> steps = getSteps(kept);
    explain(*assignment, steps);
    middle.insert(middle.end(), steps.begin(), steps.end());
    choice.components = components;
  }
  explainWhole(*best, /*withLocal=*/numLocal < 2, middle);
  choice.steps.insert(choice.steps.end(), middle.begin(), middle.end());
  trials.appendTail(choice.steps);
  return choice;
}

llvm::Expected<PipelineChoice>
commute::choosePipeline(ModuleOp module, const PassSettings &settings,
                        const llvm::StringSet<> &excluded) {
  PipelineTrials trials(settings);
  if (llvm::Error error = trials.plan(excluded))
    return std::move(error);
  if (std::optional<PipelineChoice> choice =
          PipelineChooser(module, trials).choose())
    return std::move(*choice);
  return PipelineChoice{trials.getDefault(), nullptr};
}
