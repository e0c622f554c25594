//===- Module.cpp - the Python module commute._commute ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OptimizeProgram.h"
#include "ProgramHandle.h"
#include "RefinePrograms.h"
#include "VerifyPrograms.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;
using namespace commute::python;

/// Returns the result of an operation, or throws what Python raises: ValueError
/// for bad input and RuntimeError for a bug.
template <typename Result>
static Result unwrap(Fallible<Result> result) {
  auto *failure = std::get_if<Failure>(&result);
  if (!failure)
    return std::get<Result>(std::move(result));
  if (failure->isInternal)
    throw std::runtime_error("internal error: " + failure->message);
  throw nb::value_error(failure->message.c_str());
}

/// Calls an operation without Python's global interpreter lock.
template <typename Operation>
static auto callReleased(Operation operation) {
  auto result = [&] {
    nb::gil_scoped_release release;
    return operation();
  }();
  return unwrap(std::move(result));
}

/// Hands a reference to nanobind. A null object stands for a Python error.
static nb::object toPython(Object object) {
  if (!object)
    throw nb::python_error();
  return nb::steal(object.release());
}

static std::unique_ptr<LiveProgram> makeProgram(nb::handle nodes,
                                                nb::handle facts,
                                                bool isFunctionalGraph,
                                                bool hasSourceLines) {
  std::unique_ptr<LiveProgram> program = LiveProgram::read(
      nodes.ptr(), facts.ptr(), isFunctionalGraph, hasSourceLines);
  if (!program)
    throw nb::python_error();
  return program;
}

static std::tuple<nb::object, nb::object, std::string, std::string,
                  std::optional<StatementGain>>
optimize(LiveProgram &program, std::string passes, std::string policy,
         std::string target, bool verify, std::string context,
         std::string vocabulary, bool hasOtherGroups, bool ranksAreUnknown,
         bool assumesNormWeights, std::vector<std::string> unstatedInputs,
         std::vector<std::tuple<int64_t, std::string, std::string>> otherRanks,
         int64_t rank, std::map<std::string, std::string> groupNames,
         bool exactRounding, std::vector<std::string> postponed,
         bool allowUnproven, double maxSeconds, int64_t maxBytes) {
  using Status = OptimizedProgram::Status;
  std::vector<ProgramOfRank> others;
  for (auto &[number, text, ownContext] : otherRanks)
    others.push_back({number, std::move(text), std::move(ownContext)});
  OptimizedProgram result = optimizeProgram(
      program, {std::move(passes), std::move(policy), std::move(target), verify,
                std::move(context), std::move(vocabulary), hasOtherGroups,
                ranksAreUnknown, assumesNormWeights, std::move(unstatedInputs),
                std::move(others), rank, std::move(groupNames), exactRounding,
                std::move(postponed), allowUnproven, maxSeconds, maxBytes});
  switch (result.status) {
  case Status::BadInput:
    throw nb::value_error(result.message.c_str());
  case Status::InternalError:
    throw std::runtime_error("internal error: " + result.message);
  case Status::PythonError:
    throw nb::python_error();
  case Status::Success:
    break;
  }
  return {toPython(result.edits), toPython(result.remarks),
          std::move(result.verification), std::move(result.difference),
          std::move(result.gain)};
}

static void checkOptions(std::string passes, std::string policy,
                         std::string target) {
  std::string message =
      checkSettings({std::move(passes), std::move(policy), std::move(target)});
  if (!message.empty())
    throw nb::value_error(message.c_str());
}

static std::string verify(std::string first, std::string second,
                          std::string firstContext, std::string secondContext,
                          std::string precision, uint64_t seed, bool realSizes,
                          bool whole, double maxSeconds, int64_t maxBytes) {
  VerifySettings settings{std::move(precision), seed,    realSizes, whole,
                          maxSeconds,           maxBytes};
  VerifiedPrograms result;
  {
    nb::gil_scoped_release release;
    result =
        verifyPrograms({std::move(first), std::move(firstContext)},
                       {std::move(second), std::move(secondContext)}, settings);
  }
  if (!result.error.empty())
    throw nb::value_error(result.error.c_str());
  return std::move(result.report);
}

static std::pair<std::string, std::string>
refine(const std::string &reference, const std::vector<std::string> &ranks,
       std::string relations, std::string relationsName,
       std::vector<std::string> groups, uint64_t seed, bool realSizes,
       bool showRelations, double maxSeconds, int64_t maxBytes) {
  RefineSettings settings{std::move(relations),
                          std::move(relationsName),
                          std::move(groups),
                          seed,
                          realSizes,
                          showRelations,
                          maxSeconds,
                          maxBytes};
  RefinedPrograms result;
  {
    nb::gil_scoped_release release;
    result = refinePrograms(reference, ranks, settings);
  }
  if (!result.error.empty())
    throw nb::value_error(result.error.c_str());
  return {std::move(result.report), std::move(result.text)};
}

static ProgramHandle
readProgram(std::vector<std::string> paths, std::vector<std::string> groups,
            std::vector<std::string> placements,
            std::vector<std::string> assumptions, std::optional<int64_t> rank,
            std::vector<std::pair<std::string, std::string>> vocabularies) {
  ProgramFacts facts{std::move(groups), std::move(placements),
                     std::move(assumptions), rank, std::move(vocabularies)};
  return callReleased([&] { return ProgramHandle::read(paths, facts); });
}

static ProgramHandle takeGraph(LiveProgram &graph, std::string context,
                               const std::string &vocabulary) {
  return unwrap(ProgramHandle::take(graph, std::move(context), vocabulary));
}

static std::tuple<std::optional<ProgramHandle>, std::string, std::string,
                  std::string, std::string>
optimizeHandle(const ProgramHandle &program, std::string passes,
               std::string policy, std::string target, bool exactRounding,
               bool verify, bool allowUnproven, double maxSeconds,
               int64_t maxBytes) {
  PassChoice choice{std::move(passes), std::move(policy), std::move(target),
                    exactRounding};
  std::optional<VerifySettings> proof;
  if (verify) {
    proof.emplace();
    proof->precision = "algebraic";
    proof->maxSeconds = maxSeconds;
    proof->maxBytes = maxBytes;
  }
  OptimizedHandle result = callReleased(
      [&] { return program.optimize(choice, proof, allowUnproven); });
  return {std::move(result.program), std::move(result.verdict),
          std::move(result.reason), std::move(result.remarks),
          std::move(result.verification)};
}

static std::string explainHandle(const ProgramHandle &program,
                                 std::string passes, std::string policy,
                                 std::string target, bool exactRounding) {
  PassChoice choice{std::move(passes), std::move(policy), std::move(target),
                    exactRounding};
  return callReleased([&] { return program.explain(choice); });
}

static std::pair<std::string, std::string>
verifyHandles(const ProgramHandle &first, const ProgramHandle &second,
              std::string precision, uint64_t seed, bool realSizes, bool whole,
              double maxSeconds, int64_t maxBytes) {
  VerifySettings settings{std::move(precision), seed,    realSizes, whole,
                          maxSeconds,           maxBytes};
  return callReleased([&] { return first.verify(second, settings); });
}

/// Dtype, sizes and bytes of a tensor, or nullopt for another value.
using OutputBytes =
    std::optional<std::tuple<std::string, std::vector<int64_t>, nb::bytes>>;

static std::tuple<std::vector<std::vector<OutputBytes>>, double,
                  std::vector<std::string>>
runHandle(const ProgramHandle &program, const nb::bytes &inputs,
          bool seedsWeights, uint64_t seed, int64_t timeout, unsigned threads) {
  RunSettings settings{std::string(inputs.c_str(), inputs.size()), seedsWeights,
                       seed, timeout, threads};
  ProgramRun run = callReleased([&] { return program.run(settings); });
  std::vector<std::vector<OutputBytes>> outputs;
  for (std::vector<OutputTensor> &ofRank : run.outputs) {
    std::vector<OutputBytes> &own = outputs.emplace_back();
    for (OutputTensor &output : ofRank) {
      if (output.dtype.empty())
        own.emplace_back();
      else
        own.emplace_back(
            std::tuple(std::move(output.dtype), std::move(output.sizes),
                       nb::bytes(output.data.get(), output.numBytes)));
    }
  }
  return {std::move(outputs), run.seconds, std::move(run.assumptions)};
}

static void defineLiveProgram(nb::module_ &module) {
  nb::class_<LiveProgram>(
      module, "LiveProgram",
      "A run of nodes of one fx.Graph as a program. What the nodes read of "
      "other nodes becomes its inputs; its outputs are what the graph returns "
      "and what other nodes read of them.")
      .def(nb::new_(&makeProgram), nb::arg("nodes"), nb::arg("facts"),
           nb::arg("is_functional_graph"), nb::arg("has_source_lines"))
      .def_prop_ro("inputs",
                   [](LiveProgram &p) { return toPython(p.getInputs()); })
      .def_prop_ro("late_inputs",
                   [](LiveProgram &p) { return toPython(p.getLateInputs()); })
      .def_prop_ro("outputs",
                   [](LiveProgram &p) { return toPython(p.getOutputs()); })
      .def_prop_ro("num_returned", &LiveProgram::getNumReturned)
      .def("__len__", &LiveProgram::getNumNodes)
      .def("group", [](LiveProgram &p,
                       size_t index) { return toPython(p.getGroup(index)); })
      .def("scattered",
           [](LiveProgram &p) { return toPython(p.getScattered()); })
      .def("find_nodes",
           [](LiveProgram &p, const std::string &name) {
             return toPython(p.findNodes(name));
           })
      .def("contains", [](LiveProgram &p,
                          nb::handle node) { return p.contains(node.ptr()); })
      .def("group_names",
           [](LiveProgram &p) { return toPython(p.getGroupNames()); })
      .def("symbols", [](LiveProgram &p) { return toPython(p.getSymbols()); })
      .def("to_json", &LiveProgram::toJson,
           nb::arg("group_names") = std::map<std::string, std::string>(),
           "Returns the program as text. With `group_names`, groups have these "
           "names instead, and devices no index.");
}

static void defineProgram(nb::module_ &module) {
  nb::class_<ProgramHandle>(
      module, "Program",
      "A program in memory. Its methods raise ValueError for bad input and "
      "RuntimeError for an internal error, and release the GIL.")
      .def_static(
          "read", readProgram, nb::arg("paths"), nb::kw_only(),
          nb::arg("groups") = std::vector<std::string>(),
          nb::arg("placements") = std::vector<std::string>(),
          nb::arg("assumptions") = std::vector<std::string>(),
          nb::arg("rank") = nb::none(),
          nb::arg("vocabularies") =
              std::vector<std::pair<std::string, std::string>>(),
          "Reads an archive, the archives of all ranks, or their folder. "
          "Statements are those of the command line; a vocabulary is a name "
          "and the text of the file.")
      .def_static("take", takeGraph, nb::arg("graph"), nb::kw_only(),
                  nb::arg("context") = "", nb::arg("vocabulary") = "",
                  "Takes the program of a live graph, with the text of a "
                  "sidecar and of a vocabulary file.")
      .def("describe", &ProgramHandle::describe,
           "Returns origin, ranks, groups, ops and warnings as JSON text.")
      .def("print", &ProgramHandle::print, "Returns the module as text.")
      .def("optimize", optimizeHandle, nb::kw_only(), nb::arg("passes") = "",
           nb::arg("policy") = "profitable", nb::arg("target") = "h100x8",
           nb::arg("exact_rounding") = false, nb::arg("verify") = true,
           nb::arg("allow_unproven") = false, nb::arg("max_seconds") = 60.0,
           nb::arg("max_bytes") = -1,
           "Runs passes. Returns the new program, or None if it is unchanged; "
           "the verdict; why it is not proven; the remarks and the report of "
           "the proof as JSON text.")
      .def("explain", explainHandle, nb::kw_only(), nb::arg("passes") = "",
           nb::arg("policy") = "profitable", nb::arg("target") = "h100x8",
           nb::arg("exact_rounding") = false,
           "Returns the output of `commute explain --json`.")
      .def(
          "estimate",
          [](const ProgramHandle &program, std::string target,
             std::map<std::string, int64_t> sizes) {
            return callReleased(
                [&] { return program.estimate(target, sizes); });
          },
          nb::kw_only(), nb::arg("target") = "h100x8",
          nb::arg("sizes") = std::map<std::string, int64_t>(),
          "Returns the output of `commute estimate --json`.")
      .def(
          "price_nodes",
          [](const ProgramHandle &program, std::string target,
             double communicationScale) {
            return callReleased(
                [&] { return program.priceNodes(target, communicationScale); });
          },
          nb::kw_only(), nb::arg("target") = "h100x8",
          nb::arg("communication_scale") = 1.0,
          "Returns the seconds of each node whose operator is modelled and "
          "that "
          "takes time, by name. Collectives move so many times their bytes.")
      .def("verify", verifyHandles, nb::arg("other"), nb::kw_only(),
           nb::arg("precision") = "algebraic", nb::arg("seed") = 1,
           nb::arg("real_sizes") = false, nb::arg("whole") = false,
           nb::arg("max_seconds") = 60.0, nb::arg("max_bytes") = -1,
           "Returns the output of `commute verify` as JSON and as text.")
      .def("run", runHandle, nb::kw_only(), nb::arg("inputs") = nb::bytes(""),
           nb::arg("seeds_weights") = false, nb::arg("seed") = 0,
           nb::arg("timeout") = 300, nb::arg("threads") = 0,
           "Runs the program on all ranks, with inputs in the format of "
           "safetensors. Returns dtype, sizes and bytes of all outputs by rank "
           "(None for one that is not a tensor), the seconds and the "
           "assumptions.")
      .def(
          "write",
          [](const ProgramHandle &program, std::string path) {
            return callReleased([&] { return program.write(path); });
          },
          nb::arg("path"),
          "Writes an archive, a module, or the archives of all ranks into a "
          "folder. Returns the number of nodes.");
}

NB_MODULE(_commute, module) {
  module.doc() =
      "Commute's passes and equivalence checker, run in this process.";
  module.attr("__version__") = COMMUTE_VERSION;
  defineLiveProgram(module);
  defineProgram(module);
  module.def(
      "optimize", optimize, nb::arg("program"), nb::kw_only(),
      nb::arg("passes") = "", nb::arg("policy") = "profitable",
      nb::arg("target") = "h100x8", nb::arg("verify") = true,
      nb::arg("context") = "", nb::arg("vocabulary") = "",
      nb::arg("has_other_groups") = false, nb::arg("ranks_are_unknown") = false,
      nb::arg("assumes_norm_weights") = true,
      nb::arg("unstated_inputs") = std::vector<std::string>(),
      nb::arg("other_ranks") =
          std::vector<std::tuple<int64_t, std::string, std::string>>(),
      nb::arg("rank") = 0,
      nb::arg("group_names") = std::map<std::string, std::string>(),
      nb::arg("exact_rounding") = false,
      nb::arg("postponed") = std::vector<std::string>(),
      nb::arg("allow_unproven") = false, nb::arg("max_seconds") = 60.0,
      nb::arg("max_bytes") = -1,
      "Runs passes over a program, once. Returns the edits, or None if nothing "
      "changed, the remarks, the report of the proof as JSON text, or \"\" "
      "without one, why the programs of the ranks could not be optimized "
      "together, or \"\", and, if stating that some of `unstated_inputs` are "
      "replicated would save more: the seconds that are saved, those that "
      "would be, and the names. `other_ranks` has the rank, the text and the "
      "context of each other program, if they differ from this one of rank "
      "`rank`; "
      "`group_names` the names of their groups in this process. Raises "
      "ValueError for an invalid program or option and "
      "RuntimeError for an internal error. Releases the GIL while it runs.");
  module.def("check_options", checkOptions, nb::kw_only(),
             nb::arg("passes") = "", nb::arg("policy") = "profitable",
             nb::arg("target") = "h100x8",
             "Raises ValueError where `optimize` would for any program.");
  module.def("complete_groups", completeGroups, nb::arg("groups"),
             nb::arg("rank") = nb::none(),
             "Returns the groups of all ranks that groups of one rank connect, "
             "as those of a mesh in row-major order; None if they are not.");
  module.def("implied_group", getImpliedGroup, nb::arg("target"),
             "Returns the group of a collective of a built-in vocabulary that "
             "names no group itself; an empty string for other operators.");
  module.def("verify", verify, nb::arg("first"), nb::arg("second"),
             nb::kw_only(), nb::arg("first_context") = "",
             nb::arg("second_context") = "", nb::arg("precision") = "algebraic",
             nb::arg("seed") = 1, nb::arg("real_sizes") = false,
             nb::arg("whole") = false, nb::arg("max_seconds") = 60.0,
             nb::arg("max_bytes") = -1,
             "Compares two programs of the export schema on all ranks, as "
             "`commute verify` does. Returns its report as JSON text: "
             "\"verdict\" (equivalent, different, not proven), "
             "\"differences\", \"not_proven\", \"notes\", \"ranks\", "
             "\"assumptions\". "
             "Raises ValueError for programs that cannot be compared.");
  module.def(
      "refine", refine, nb::arg("reference"), nb::arg("ranks"), nb::kw_only(),
      nb::arg("relations") = "", nb::arg("relations_name") = "relations",
      nb::arg("groups") = std::vector<std::string>(), nb::arg("seed") = 1,
      nb::arg("real_sizes") = false, nb::arg("show_relations") = false,
      nb::arg("max_seconds") = 60.0, nb::arg("max_bytes") = -1,
      "Compares the programs of ranks with that of one device, as `commute "
      "verify --reference` does, given the paths of their archives. Returns "
      "its report as JSON text and as text. Raises ValueError for programs "
      "that cannot be compared.");
}
