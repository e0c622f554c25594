//===- RewriteComponents.h - rewrites that compete for ops ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REWRITECOMPONENTS_H
#define COMMUTE_LIB_TRANSFORMS_REWRITECOMPONENTS_H

#include "RewriteListener.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace commute {

/// A rewrite that a trial made. Ops are numbered in program order, before the
/// trial.
struct TriedRewrite {
  llvm::StringRef pass, law;
  /// The number of the site; none for an op that an earlier rewrite made.
  std::optional<unsigned> site;
  llvm::SmallVector<unsigned> changed, reliedOn;
  /// Earlier rewrites of the same trial whose ops it changes.
  llvm::SmallVector<unsigned, 2> basedOn;
};

/// Rewrites of which one changes what another changes or relies on, directly
/// or through others. What is rewritten in one component has no influence on
/// which rewrites are legal in another.
struct RewriteComponent {
  /// The numbers of the ops that some rewrite changes.
  llvm::SmallVector<unsigned> ops;
  /// Indices of the rewrites.
  llvm::SmallVector<unsigned> rewrites;
  /// The passes that make them.
  llvm::SmallSetVector<llvm::StringRef, 2> passes;
};

/// Collects the rewrites of trials, each of which starts from a copy of the
/// same function.
class RewriteTrials {
public:
  /// Listens to the passes of one trial, one after the other.
  class Recorder : public RewriteListener {
  public:
    Recorder(RewriteTrials &trials) : trials(trials) {}

    /// The pass that is run next.
    void setPass(llvm::StringRef name) { pass = name; }
    void begin(mlir::func::FuncOp function) override;
    void willRewrite(llvm::StringRef law, mlir::Operation *site,
                     const Draft &draft) override;
    void willErase(mlir::Operation *op) override;

  private:
    RewriteTrials &trials;
    llvm::StringRef pass;
    bool hasBegun = false;
    /// The numbers of ops, and the rewrites that made the others.
    llvm::DenseMap<mlir::Operation *, unsigned> numbers, makers;
  };

  llvm::ArrayRef<TriedRewrite> getRewrites() const { return rewrites; }
  std::vector<RewriteComponent> getComponents() const;

private:
  std::vector<TriedRewrite> rewrites;
};

/// The components that the ops of a function belong to while passes rewrite it.
class ComponentOfOp {
public:
  /// Numbers the ops of a function at the first call.
  void begin(mlir::func::FuncOp function,
             llvm::ArrayRef<RewriteComponent> components);
  std::optional<unsigned> find(mlir::Operation *op) const;
  /// The number of an op that was there at the beginning.
  std::optional<unsigned> findNumber(mlir::Operation *op) const;
  void add(mlir::Operation *op, unsigned component) {
    components[op] = component;
  }
  void erase(mlir::Operation *op) {
    components.erase(op);
    numbers.erase(op);
  }

private:
  bool hasBegun = false;
  llvm::DenseMap<mlir::Operation *, unsigned> components, numbers;
};

/// Restricts a pass to some components.
class ComponentScope : public RewriteListener {
public:
  ComponentScope(std::shared_ptr<ComponentOfOp> componentOf,
                 llvm::ArrayRef<RewriteComponent> components)
      : componentOf(std::move(componentOf)), components(components),
        allowed(components.size()) {}

  void allow(unsigned component) { allowed.set(component); }
  /// Allows sites in no component.
  void allowOthers() { allowsOthers = true; }
  void refuse(unsigned opNumber, llvm::StringRef law,
              analysis::Refusal refusal) {
    refusals.insert({{opNumber, law}, std::move(refusal)});
  }
  bool isEmpty() const {
    return !allowsOthers && allowed.none() && refusals.empty();
  }

  void begin(mlir::func::FuncOp function) override {
    componentOf->begin(function, components);
  }
  bool mayRewrite(mlir::Operation *site) const override;
  const analysis::Refusal *findRefusal(llvm::StringRef law,
                                       mlir::Operation *site) const override;
  void willRewrite(llvm::StringRef law, mlir::Operation *site,
                   const Draft &draft) override;
  void willErase(mlir::Operation *op) override { componentOf->erase(op); }

private:
  std::shared_ptr<ComponentOfOp> componentOf;
  llvm::ArrayRef<RewriteComponent> components;
  llvm::BitVector allowed;
  bool allowsOthers = false;
  /// By the number of the site, and the law.
  std::map<std::pair<unsigned, llvm::StringRef>, analysis::Refusal> refusals;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REWRITECOMPONENTS_H
