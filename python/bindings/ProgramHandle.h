//===- ProgramHandle.h - a program held for Python --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A program that Python holds between calls: what `commute.load` returns. Each
// operation is that of a command of the command line. As in OptimizeProgram.h,
// the interface uses neither LLVM nor exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_PROGRAMHANDLE_H
#define COMMUTE_PYTHON_BINDINGS_PROGRAMHANDLE_H

#include "VerifyPrograms.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace commute::python {

/// Why an operation has no result.
struct Failure {
  std::string message;
  /// True for a bug in Commute, false for bad input.
  bool isInternal = false;
};
template <typename Result>
using Fallible = std::variant<Result, Failure>;

/// What a user states about archives, as on the command line.
struct ProgramFacts {
  std::vector<std::string> groups;
  std::vector<std::string> placements;
  std::vector<std::string> assumptions;
  std::optional<int64_t> rank;
  /// Names and texts of vocabulary files.
  std::vector<std::pair<std::string, std::string>> vocabularies;
};

/// Settings that passes and explanations share, as on the command line.
struct PassChoice {
  std::string passes;
  std::string policy;
  std::string target;
  bool exactRounding = false;
};

struct RunSettings {
  /// A safetensors file, as in --inputs.
  std::string inputs;
  /// Draw parameters and buffers at random instead of reading the archive's.
  bool seedsWeights = false;
  uint64_t seed = 0;
  int64_t timeoutSeconds = 300;
  unsigned threadsPerRank = 0;
};

/// An output of a run.
struct OutputTensor {
  /// As in safetensors: "F32". Empty for an output that is not a tensor.
  std::string dtype;
  std::vector<int64_t> sizes;
  std::shared_ptr<const std::byte> data;
  size_t numBytes = 0;
};
struct ProgramRun {
  /// By rank, then by output.
  std::vector<std::vector<OutputTensor>> outputs;
  double seconds = 0;
  std::vector<std::string> assumptions;
};

struct OptimizedHandle;
class LiveProgram;

class ProgramHandle {
public:
  ProgramHandle(ProgramHandle &&other) noexcept;
  ~ProgramHandle();

  /// Reads an archive, the archives of all ranks, the folder that contains
  /// these, or a module.
  static Fallible<ProgramHandle> read(const std::vector<std::string> &paths,
                                      const ProgramFacts &facts);
  /// Takes the program of `graph`, with the texts of a sidecar and of a
  /// vocabulary file, which may be empty. The caller holds Python's global
  /// lock, which is released meanwhile.
  static Fallible<ProgramHandle> take(LiveProgram &graph, std::string context,
                                      const std::string &vocabulary);

  /// Returns facts about the program as a JSON object: "origin", "ranks",
  /// "groups", "nodes", "warnings".
  std::string describe() const;
  /// Returns the module as text.
  std::string print() const;

  Fallible<OptimizedHandle> optimize(const PassChoice &choice,
                                     std::optional<VerifySettings> proof,
                                     bool allowUnproven) const;
  /// Returns the output of `commute explain --json`.
  Fallible<std::string> explain(const PassChoice &choice) const;
  /// Returns the output of `commute estimate --json`.
  Fallible<std::string>
  estimate(const std::string &target,
           const std::map<std::string, int64_t> &sizes) const;
  /// Returns the seconds of nodes; see compiler::priceNodes.
  Fallible<std::map<std::string, double>>
  priceNodes(const std::string &target, double communicationScale) const;
  /// Returns the output of `commute verify` as JSON and as text.
  Fallible<std::pair<std::string, std::string>>
  verify(const ProgramHandle &other, const VerifySettings &settings) const;
  Fallible<ProgramRun> run(const RunSettings &settings) const;
  /// Writes an archive or a module, or the archives of all ranks into a folder.
  /// Returns the number of nodes.
  Fallible<size_t> write(const std::string &path) const;

private:
  struct State;
  class Access;
  explicit ProgramHandle(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

struct OptimizedHandle {
  /// nullopt if the program is unchanged.
  std::optional<ProgramHandle> program;
  /// "unchanged", "equivalent", "not verified" or "not proven".
  std::string verdict;
  /// Why the program is not proven; empty if it is.
  std::string reason;
  /// As in OptimizedProgram.
  std::string remarks;
  /// The output of `commute verify --json`; empty without a proof.
  std::string verification;
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_PROGRAMHANDLE_H
