//===- FixturesTest.cpp - real graphs there and back ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Every archive under test/fixtures: unchanged it is the same text, and written
// anew it means the same.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "Respelling.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;

static std::vector<std::string> getFixtures() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(COMMUTE_FIXTURES, error), end;
       file != end && !error; file.increment(error))
    if (llvm::StringRef(file->path()).ends_with(".pt2"))
      paths.push_back(file->path());
  llvm::sort(paths);
  return paths;
}

namespace {
class FixturesTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    auto archive = archive::readProgramArchive(GetParam());
    ASSERT_TRUE(bool(archive)) << llvm::toString(archive.takeError());
    ASSERT_TRUE((*archive)->sidecar);
    auto sidecar = vocabulary::parseSidecar(*(*archive)->sidecar, GetParam());
    ASSERT_TRUE(bool(sidecar)) << llvm::toString(sidecar.takeError());
    translator.distributed = std::move(*sidecar);
    text = (*archive)->program->document->text().str();
  }

  Translator translator;
  std::string text;
};
} // namespace

TEST_P(FixturesTest, UnchangedIsTheSameText) {
  Imported module = translator.import(text);
  auto edits = translator.exportEdits(module);
  ASSERT_TRUE(bool(edits)) << llvm::toString(edits.takeError());
  EXPECT_TRUE(edits->changesNothing(*module.program));
  EXPECT_EQ(edits->apply(*module.program), text);
}

TEST_P(FixturesTest, WrittenAnewItMeansTheSame) {
  Imported module = translator.import(text);
  EXPECT_GT(forgetNodes(module.imported), 0u);
  Imported again = translator.import(translator.exportText(module));
  EXPECT_EQ(again.print(), module.print());
}

INSTANTIATE_TEST_SUITE_P(All, FixturesTest, testing::ValuesIn(getFixtures()),
                         [](const auto &info) {
                           return llvm::sys::path::stem(info.param).str();
                         });
