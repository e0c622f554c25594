//===- Module.cpp - the Python module commute._commute ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OptimizeProgram.h"
#include "RefinePrograms.h"
#include "VerifyPrograms.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;
using namespace commute::python;

static std::pair<std::optional<std::string>, std::string>
optimize(std::string program, std::string passes, std::string policy,
         std::string target, bool verify, std::string context,
         std::string vocabulary, bool hasOtherGroups) {
  OptimizeSettings settings{
      std::move(passes),  std::move(policy),     std::move(target), verify,
      std::move(context), std::move(vocabulary), hasOtherGroups};
  OptimizedProgram result;
  {
    nb::gil_scoped_release release;
    result = optimizeProgram(std::move(program), settings);
  }
  if (result.status == OptimizedProgram::Status::BadInput)
    throw nb::value_error(result.message.c_str());
  if (result.status == OptimizedProgram::Status::InternalError)
    throw std::runtime_error("internal error: " + result.message);
  return {std::move(result.edits), std::move(result.remarks)};
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
refine(std::string reference, std::vector<std::string> ranks,
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

NB_MODULE(_commute, module) {
  module.doc() =
      "Commute's passes and equivalence checker, run in this process.";
  module.attr("__version__") = COMMUTE_VERSION;
  module.def(
      "optimize", optimize, nb::arg("program"), nb::kw_only(),
      nb::arg("passes") = "", nb::arg("policy") = "profitable",
      nb::arg("target") = "h100x8", nb::arg("verify") = true,
      nb::arg("context") = "", nb::arg("vocabulary") = "",
      nb::arg("has_other_groups") = false,
      "Runs passes over a program of the export schema, given as JSON text. "
      "Returns the edits, or None if nothing changed, and the remarks, both as "
      "JSON text. Raises ValueError for an invalid program or option and "
      "RuntimeError for an internal error. Releases the GIL while it runs.");
  module.def("implied_group", getImpliedGroup, nb::arg("target"),
             "Returns the group of a collective of a built-in vocabulary that "
             "names no group itself; an empty string for other operators.");
  module.def("verify", verify, nb::arg("first"), nb::arg("second"),
             nb::kw_only(), nb::arg("first_context") = "",
             nb::arg("second_context") = "", nb::arg("precision") = "algebraic",
             nb::arg("seed") = 1, nb::arg("real_sizes") = false,
             nb::arg("whole") = false, nb::arg("max_seconds") = 60.0,
             nb::arg("max_bytes") = int64_t(4) << 30,
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
      nb::arg("max_seconds") = 60.0, nb::arg("max_bytes") = int64_t(4) << 30,
      "Compares the programs of ranks with that of one device, as `commute "
      "verify --reference` does, given the paths of their archives. Returns "
      "its report as JSON text and as text. Raises ValueError for programs "
      "that cannot be compared.");
}
