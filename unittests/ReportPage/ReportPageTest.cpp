//===- ReportPageTest.cpp - parts of the report page ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/ReportPage/ReportPage.h"

#include "commute/ReportPage/LayerLabels.h"
#include "commute/ReportPage/SourceExcerpts.h"
#include "commute/ReportPage/StringTable.h"
#include "commute/ReportPage/TargetSources.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace commute::report;
namespace json = llvm::json;

namespace {

TEST(LayerLabels, LayerIsThePrefixUpToTheFirstNumber) {
  EXPECT_EQ(getLayerOfParameter("model.layers.3.mlp.experts.7.weight"),
            "model.layers.3");
  EXPECT_EQ(getLayerOfParameter("layers.12"), "layers.12");
  EXPECT_EQ(getLayerOfParameter("p_layers_0_wq"), "p_layers_0");
  EXPECT_EQ(getLayerOfParameter("model.norm.weight"), "");
  EXPECT_EQ(getLayerOfParameter("model.norm2.weight"), "");
  EXPECT_EQ(getLayerOfParameter("0.weight"), "");
  EXPECT_EQ(getLayerOfParameter("a..b."), "");
  EXPECT_EQ(getLayerOfParameter(""), "");
}

TEST(TargetSources, EvidenceIsReadFromTheSource) {
  EXPECT_EQ(getEvidence("assumed: a measured value of another machine"),
            Evidence::Assumed);
  EXPECT_EQ(getEvidence("measured by commute calibrate"), Evidence::Measured);
  EXPECT_EQ(getEvidence("NVIDIA data sheet"), Evidence::Stated);
  for (const commute::target::Target &target :
       commute::target::getBuiltinTargets()) {
    json::Object object = describeTarget(target);
    size_t numSources = object.getArray("sources")->size();
    EXPECT_GT(numSources, 10u);
    EXPECT_EQ(*object.getInteger("measured") + *object.getInteger("stated") +
                  *object.getInteger("assumed"),
              static_cast<int64_t>(numSources));
  }
}

TEST(ReportPage, DataCannotEndItsElement) {
  std::string hostile = "</script><!-- & <b>";
  json::Value data = json::Object{{hostile, hostile}};
  std::string text;
  llvm::raw_string_ostream os(text);
  printEmbedded(data, os);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  llvm::Expected<json::Value> parsed = json::parse(text);
  ASSERT_TRUE(bool(parsed));
  EXPECT_EQ(*parsed, data);
  std::string page = renderPage(hostile, data);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;/script&gt;"), std::string::npos);
}

TEST(StringTable, EachStringIsStoredOnceAsValidText) {
  StringTable strings;
  EXPECT_EQ(strings.add("a"), 0);
  EXPECT_EQ(strings.add("\xff"), 1);
  EXPECT_EQ(strings.add("a"), 0);
  json::Array all = strings.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(json::isUTF8(*all[1].getAsString()));
}

class SourceExcerpts : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("excerpts", folder));
  }
  void TearDown() override {
    EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
  }
  std::string write(llvm::StringRef name, unsigned numLines) {
    llvm::SmallString<128> path = folder;
    llvm::sys::path::append(path, name);
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    for (unsigned line = 1; line <= numLines; ++line)
      os << "line " << line << '\n';
    return path.str().str();
  }

  llvm::SmallString<128> folder;
};

TEST_F(SourceExcerpts, NearbyLinesShareAnExcerpt) {
  std::string path = write("model.py", 40);
  SourceLines lines;
  lines.add(path, 2);
  lines.add(path, 8);
  lines.add(path, 30);
  lines.add(path, 1000);
  json::Array files = lines.readExcerpts();
  ASSERT_EQ(files.size(), 1u);
  const json::Array &excerpts = *files[0].getAsObject()->getArray("excerpts");
  ASSERT_EQ(excerpts.size(), 2u);
  const json::Object &first = *excerpts[0].getAsObject();
  EXPECT_EQ(first.getInteger("first"), 1);
  EXPECT_EQ(first.getArray("lines")->size(), 11u);
  const json::Object &second = *excerpts[1].getAsObject();
  EXPECT_EQ(second.getInteger("first"), 27);
  EXPECT_EQ((*second.getArray("lines"))[3], "line 30");
}

TEST_F(SourceExcerpts, OnlyRegularPythonFilesAreRead) {
  SourceLines lines;
  lines.add(write("secret.txt", 5), 3);
  lines.add((folder + "/missing.py").str(), 3);
  lines.add("/dev/stdin.py", 3);
  // A folder.
  llvm::SmallString<128> inner = folder;
  llvm::sys::path::append(inner, "folder.py");
  ASSERT_FALSE(llvm::sys::fs::create_directory(inner));
  lines.add(inner.str(), 1);
  EXPECT_TRUE(lines.readExcerpts().empty());
}

} // namespace
