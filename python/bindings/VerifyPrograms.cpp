//===- VerifyPrograms.cpp - two programs compared, in memory --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "VerifyPrograms.h"

#include "commute/Archive/Program.h"
#include "commute/Equivalence/Verify.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Vocabulary/Translation.h"

using namespace commute;
using namespace commute::python;

static llvm::Expected<vocabulary::ImportedProgram>
read(StatedProgram stated, llvm::StringRef name,
     const vocabulary::Vocabulary &vocabulary,
     std::unique_ptr<archive::Program> &program, mlir::MLIRContext &context) {
  vocabulary::DistributedContext distributed;
  if (!stated.context.empty()) {
    llvm::Expected<vocabulary::DistributedContext> parsed =
        vocabulary::parseSidecar(stated.context,
                                 ("context of " + name + " program").str());
    if (!parsed)
      return parsed.takeError();
    distributed = std::move(*parsed);
  }
  llvm::Expected<std::unique_ptr<archive::Program>> parsed =
      archive::parseProgram(std::move(stated.program),
                            ("the " + name + " program").str());
  if (!parsed)
    return parsed.takeError();
  program = std::move(*parsed);
  return vocabulary::importProgram(*program, vocabulary, distributed, &context);
}

static std::string getNode(mlir::Location location) {
  std::string node, file;
  unsigned line = 0;
  report::describeLocation(location, node, file, line);
  return node;
}

static std::string describe(const equivalence::VerifyResult &result) {
  llvm::json::Array differences;
  for (const equivalence::Difference &difference : result.differences)
    differences.push_back(
        llvm::json::Object{{"message", difference.message},
                           {"first", getNode(difference.first)},
                           {"second", getNode(difference.second)}});
  llvm::json::Object report{
      {"verdict", result.isEquivalent()         ? "equivalent"
                  : !result.differences.empty() ? "different"
                                                : "not proven"},
      {"ranks", result.numRanks},
      {"differences", std::move(differences)},
      {"notes", llvm::json::Array(result.notes)},
      {"assumptions", llvm::json::Array(result.assumptions)}};
  if (result.notProven)
    report["not_proven"] = *result.notProven;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(report));
  return text;
}

VerifiedPrograms python::verifyPrograms(StatedProgram first,
                                        StatedProgram second,
                                        const VerifySettings &settings) {
  auto fail = [](const llvm::Twine &message) {
    return VerifiedPrograms{message.str(), ""};
  };
  equivalence::VerifyOptions options;
  if (settings.precision == "strict")
    options.precision = equivalence::Precision::Strict;
  else if (settings.precision != "algebraic")
    return fail("precision '" + settings.precision +
                "' is neither 'algebraic' nor 'strict'");
  options.seed = settings.seed;
  options.reducesSizes = !settings.realSizes;
  options.usesRegions = !settings.whole;
  options.maxSeconds = settings.maxSeconds;
  options.maxBytes = settings.maxBytes;

  vocabulary::Vocabulary vocabulary;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::unique_ptr<archive::Program> programs[2];
  llvm::Expected<vocabulary::ImportedProgram> a =
      read(std::move(first), "first", vocabulary, programs[0], context);
  if (!a)
    return fail(llvm::toString(a.takeError()));
  llvm::Expected<vocabulary::ImportedProgram> b =
      read(std::move(second), "second", vocabulary, programs[1], context);
  if (!b)
    return fail(llvm::toString(b.takeError()));
  llvm::Expected<equivalence::VerifyResult> result =
      equivalence::verifyEquivalence(*a->module, *b->module, options);
  if (!result)
    return fail(llvm::toString(result.takeError()));
  return {"", describe(*result)};
}
