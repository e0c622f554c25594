//===- Module.cpp - the Python module commute._commute ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OptimizeProgram.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

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

NB_MODULE(_commute, module) {
  module.doc() = "Commute's passes, in the memory of this process.";
  module.def("optimize", optimize, nb::arg("program"), nb::kw_only(),
             nb::arg("passes") = "", nb::arg("policy") = "profitable",
             nb::arg("target") = "h100x8", nb::arg("verify") = true,
             nb::arg("context") = "", nb::arg("vocabulary") = "",
             nb::arg("has_other_groups") = false,
             "Runs passes over a program of the export schema, given as JSON "
             "text. Gives "
             "the edits, None where nothing changed, and the remarks, both as "
             "JSON text. "
             "Raises ValueError for a program or an option that is wrong, "
             "RuntimeError "
             "for an error of Commute's own. Other threads run meanwhile.");
}
