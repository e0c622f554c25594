//===- VerifyPrograms.cpp - verification in memory ------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "VerifyPrograms.h"

#include "ProgramState.h"

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Compiler/VerificationReport.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::python;

llvm::Expected<equivalence::VerifyOptions>
python::getVerifyOptions(const VerifySettings &settings) {
  equivalence::VerifyOptions options;
  if (settings.precision == "strict")
    options.precision = equivalence::Precision::Strict;
  else if (settings.precision != "algebraic")
    return llvm::createStringError("precision '" + settings.precision +
                                   "' is neither 'algebraic' nor 'strict'");
  options.seed = settings.seed;
  options.reducesSizes = !settings.realSizes;
  options.usesRegions = !settings.whole;
  options.maxSeconds = settings.maxSeconds;
  if (settings.maxBytes >= 0)
    options.maxBytes = settings.maxBytes;
  return options;
}

VerifiedPrograms python::verifyPrograms(StatedProgram first,
                                        StatedProgram second,
                                        const VerifySettings &settings) {
  auto fail = [](const llvm::Twine &message) {
    return VerifiedPrograms{message.str(), ""};
  };
  llvm::Expected<equivalence::VerifyOptions> options =
      getVerifyOptions(settings);
  if (!options)
    return fail(llvm::toString(options.takeError()));

  vocabulary::Vocabulary vocabulary;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto read = [&](StatedProgram stated, const char *name) {
    return readProgramText(std::move(stated.program), name,
                           {.sidecar = std::move(stated.context)}, vocabulary,
                           context);
  };
  llvm::Expected<LoadedProgram> a = read(std::move(first), "the first program");
  if (!a)
    return fail(llvm::toString(a.takeError()));
  llvm::Expected<LoadedProgram> b =
      read(std::move(second), "the second program");
  if (!b)
    return fail(llvm::toString(b.takeError()));
  llvm::Expected<equivalence::VerifyResult> result =
      equivalence::verifyEquivalence(a->getModule(), b->getModule(), *options);
  if (!result)
    return fail(llvm::toString(result.takeError()));
  std::string report;
  llvm::raw_string_ostream(report) << llvm::json::Value(toJson(*result));
  return {"", std::move(report)};
}
