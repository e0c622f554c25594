//===- OperatorForms.h - nodes of every known operator ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_VOCABULARY_OPERATORFORMS_H
#define COMMUTE_UNITTESTS_VOCABULARY_OPERATORFORMS_H

#include "ProgramBuilder.h"

namespace commute::test {

/// A node over the inputs of `makeFormInputs`, and the operators that it is
/// written as when it is written anew, in order.
struct Form {
  std::string target;
  std::vector<std::string> arguments;
  Tensor result;
  std::string written;
};

ProgramBuilder makeFormInputs();

extern const std::vector<Form> elementwiseForms;
extern const std::vector<Form> factoriesForms;
extern const std::vector<Form> reindexingForms;
extern const std::vector<Form> rowwiseForms;
extern const std::vector<Form> matmulsForms;
extern const std::vector<Form> collectivesForms;

} // namespace commute::test

#endif // COMMUTE_UNITTESTS_VOCABULARY_OPERATORFORMS_H
