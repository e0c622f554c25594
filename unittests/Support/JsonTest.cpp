//===- JsonTest.cpp - tests of JSON documents -----------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/Json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace commute;
using testing::HasSubstr;

static std::unique_ptr<JsonDocument> parse(std::string text,
                                           const JsonLimits &limits = {}) {
  auto document = JsonDocument::parse(std::move(text), limits);
  if (!document) {
    ADD_FAILURE() << llvm::toString(document.takeError());
    return nullptr;
  }
  return std::move(*document);
}

/// The error of a text that must be refused, "" when it is accepted.
static std::string errorOf(std::string text, const JsonLimits &limits = {}) {
  auto document = JsonDocument::parse(std::move(text), limits);
  return document ? "" : llvm::toString(document.takeError());
}

static std::string decode(JsonValue value) {
  std::string storage;
  return value.getString(storage).value_or("(not a string)").str();
}

TEST(Json, EveryValueKnowsItsText) {
  auto document = parse(
      " { \"a\" :[1, -2.50e+3 ,true,false,null,\"x\\\"y\"],\n\"b\":{} } ");
  ASSERT_TRUE(document);
  JsonValue root = document->root();
  EXPECT_EQ(root.text(),
            "{ \"a\" :[1, -2.50e+3 ,true,false,null,\"x\\\"y\"],\n\"b\":{} }");
  JsonValue array = root.get("a");
  ASSERT_TRUE(array);
  std::vector<std::string> texts;
  std::vector<JsonKind> kinds;
  for (JsonValue item : array) {
    texts.push_back(item.text().str());
    kinds.push_back(item.kind());
  }
  EXPECT_THAT(texts, testing::ElementsAre("1", "-2.50e+3", "true", "false",
                                          "null", "\"x\\\"y\""));
  EXPECT_THAT(kinds, testing::ElementsAre(JsonKind::Number, JsonKind::Number,
                                          JsonKind::Boolean, JsonKind::Boolean,
                                          JsonKind::Null, JsonKind::String));
  EXPECT_EQ(array.size(), 6u);
  EXPECT_EQ(root.size(), 2u);
  EXPECT_EQ(root.get("b").text(), "{}");
  EXPECT_EQ(root.get("b").size(), 0u);
  EXPECT_FALSE(root.get("c"));
  EXPECT_FALSE(array.get("a"));
  auto member = root.begin();
  EXPECT_EQ(member.key().text(), "\"a\"");
  ++member;
  EXPECT_EQ(member.key().text(), "\"b\"");
  EXPECT_EQ((*member).kind(), JsonKind::Object);
}

TEST(Json, ScalarRoots) {
  EXPECT_EQ(parse("12")->root().getInteger(), 12);
  EXPECT_EQ(parse(" null ")->root().text(), "null");
  EXPECT_EQ(parse("\"\"")->root().text(), "\"\"");
  EXPECT_EQ(parse("12")->root().size(), 0u);
}

TEST(Json, TypedReads) {
  auto document = parse(R"([9223372036854775807, -9223372036854775808,
      9223372036854775808, 1.0, 1, true, "Infinity", "-Infinity", "NaN", "1"])");
  ASSERT_TRUE(document);
  std::vector<JsonValue> values;
  for (JsonValue item : document->root())
    values.push_back(item);
  EXPECT_EQ(values[0].getInteger(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(values[1].getInteger(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(values[2].getInteger(), std::nullopt);
  EXPECT_EQ(values[2].getNumber(), 9223372036854775808.0);
  EXPECT_EQ(values[3].getInteger(), std::nullopt);
  EXPECT_EQ(values[3].getNumber(), 1.0);
  EXPECT_EQ(values[4].getNumber(), 1.0);
  EXPECT_EQ(values[4].getBoolean(), std::nullopt);
  EXPECT_EQ(values[5].getBoolean(), true);
  EXPECT_EQ(values[5].getInteger(), std::nullopt);
  EXPECT_EQ(values[6].getNumber(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(values[7].getNumber(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(values[8].getNumber().value()));
  EXPECT_EQ(values[9].getNumber(), std::nullopt);
  EXPECT_THAT(errorOf("1e400"), HasSubstr("Number too big"));
}

TEST(Json, DecodesEscapes) {
  auto document = parse(
      R"(["plain \u00e9", "\"\\\/\b\f\n\r\t", "\ud83d\ude00", "\udc80", "é"])");
  ASSERT_TRUE(document);
  std::vector<std::string> decoded;
  for (JsonValue item : document->root())
    decoded.push_back(decode(item));
  EXPECT_THAT(decoded,
              testing::ElementsAre("plain é", "\"\\/\b\f\n\r\t",
                                   "\xF0\x9F\x98\x80", "\xEF\xBF\xBD", "é"));
  auto last = document->root().begin();
  EXPECT_FALSE((*last).isPlainString());
  for (int i = 0; i < 4; ++i)
    ++last;
  EXPECT_TRUE((*last).isPlainString());
}

TEST(Json, SpansOfLongStrings) {
  // Around the word size with which plain characters are skipped, with the
  // character that ends the skipping at every place.
  for (size_t length = 0; length < 40; ++length) {
    for (std::string special : {"", "\\\"", "\\\\", "\\u0041", "é"}) {
      for (size_t at = 0; at <= length; ++at) {
        std::string string = "\"" + std::string(at, 'x') + special +
                             std::string(length - at, 'y') + "\"";
        auto document = parse("[" + string + ",1]");
        ASSERT_TRUE(document);
        ASSERT_EQ((*document->root().begin()).text(), string);
        ASSERT_EQ(document->root().size(), 2u);
      }
    }
  }
}

TEST(Json, ErrorsTellTheirPlace) {
  EXPECT_EQ(errorOf("{\"a\": 1,\n \"b\" 2}"),
            "line 2, column 6: Missing a colon after a name of object member.");
  EXPECT_THAT(errorOf(""), HasSubstr("line 1, column 1: "));
  EXPECT_THAT(errorOf("[1, 2"), HasSubstr("line 1, column 6: "));
}

TEST(Json, RefusesWhatIsNotStrictJson) {
  for (const char *text : {"[1,]",
                           "{\"a\":1,}",
                           "[1] 2",
                           "// c\n1",
                           "/* c */ 1",
                           "[NaN]",
                           "[Infinity]",
                           "[01]",
                           "[+1]",
                           "[.5]",
                           "[1.]",
                           "[1e]",
                           "{a:1}",
                           "{'a':1}",
                           "[tru]",
                           "[\"\\x\"]",
                           "[\"\\u12g4\"]",
                           "[\"\\ud800\"]",
                           "[\"\\ud800\\u0041\"]",
                           "[\"a\nb\"]",
                           "[\"a\x1f\"]",
                           "[\"a\x1c\"]",
                           "[\"abc",
                           "[\"abc\\",
                           "{",
                           "[",
                           "]",
                           "}",
                           "{\"a\"",
                           "{\"a\":",
                           "-",
                           "[1 2]",
                           "\xEF\xBB\xBF[]"})
    EXPECT_NE(errorOf(text), "") << text;
  for (const char *text : {"[1]", "{\"a\":1}", "[0]", "[-1]", "[0.5]", "[1.0]",
                           "[1e5]", "[true]", "[\"\\u12a4\"]", "[\"a\\nb\"]"})
    EXPECT_EQ(errorOf(text), "") << text;
}

TEST(Json, RefusesInvalidUtf8) {
  for (const char *body : {"\x80", "\xC3", "\xC3\x28", "\xE2\x82",
                           "\xF0\x9F\x98", "\xF8\x88\x80\x80\x80", "\xC0\xAF",
                           "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"})
    EXPECT_NE(errorOf("[\"" + std::string(body) + "\"]"), "");
  // Cut off in the middle of a sequence, at the very end of the text.
  for (const char *text : {"\"\xC3", "\"\xF0", "\"\xF0\x9F", "\"\xF0\x9F\x98"})
    EXPECT_NE(errorOf(text), "");
  EXPECT_EQ(errorOf("[\"\xF0\x9F\x98\x80\"]"), "");
}

TEST(Json, RefusesNulBytes) {
  using namespace std::string_literals;
  EXPECT_THAT(errorOf("[1]\0"s), HasSubstr("column 4: a NUL byte"));
  EXPECT_THAT(errorOf("[\"a\0b\"]"s), HasSubstr("NUL"));
  EXPECT_THAT(errorOf("\0"s), HasSubstr("NUL"));
}

TEST(Json, RefusesDuplicateKeys) {
  EXPECT_EQ(errorOf(R"({"a": 1, "b": 2})"), "");
  EXPECT_EQ(errorOf(R"({"a": 1, "b": {"a": 2}})"), "");
  EXPECT_EQ(errorOf(R"({"a": 1, "b": 2, "a": 3})"),
            "line 1, column 18: the object has the key \"a\" twice");
  EXPECT_THAT(errorOf(R"({"ab": 1, "\u0061b": 2})"),
              HasSubstr("the key \"ab\" twice"));
  std::string members;
  for (int i = 0; i < 1000; ++i)
    members += "\"key" + std::to_string(i) + "\": [], ";
  EXPECT_EQ(errorOf("{" + members + "\"last\": 0}"), "");
  EXPECT_THAT(errorOf("{" + members + "\"key500\": 0}"),
              HasSubstr("the key \"key500\" twice"));
  EXPECT_THAT(errorOf("{" + members + "\"key\\u0035\": 0}"),
              HasSubstr("the key \"key5\" twice"));
}

TEST(Json, DepthLimit) {
  auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  JsonLimits limits;
  EXPECT_EQ(errorOf(nested(limits.maxDepth)), "");
  EXPECT_THAT(errorOf(nested(limits.maxDepth + 1)),
              HasSubstr("nested more than 200 levels deep"));
  EXPECT_THAT(errorOf(std::string(1 << 20, '[')),
              HasSubstr("nested more than 200 levels deep"));
}

TEST(Json, SizeLimits) {
  JsonLimits limits;
  limits.maxBytes = 5;
  EXPECT_EQ(errorOf("[1,2]", limits), "");
  EXPECT_EQ(errorOf("[1,23]", limits),
            "the JSON text has 6 bytes, more than the limit of 5");
  limits = {};
  limits.maxValues = 3;
  EXPECT_EQ(errorOf("[1,2]", limits), "");
  EXPECT_THAT(errorOf("[1,2,3]", limits), HasSubstr("more than 3 values"));
}

TEST(Json, QuotesLikePython) {
  EXPECT_EQ(quoteJson("abc"), "\"abc\"");
  EXPECT_EQ(quoteJson("\"\\/\b\f\n\r\t"), R"("\"\\/\b\f\n\r\t")");
  EXPECT_EQ(quoteJson("\x01\x1f\x7f"), R"("\u0001\u001f\u007f")");
  EXPECT_EQ(quoteJson("é€"), R"("\u00e9\u20ac")");
  EXPECT_EQ(quoteJson("\xF0\x9F\x98\x80"), R"("\ud83d\ude00")");
  EXPECT_EQ(quoteJson("a\xFFz"), R"("a\ufffdz")");
  EXPECT_EQ(quoteJson(llvm::StringRef("\0", 1)), R"("\u0000")");
}

TEST(Json, FormatsFloatsLikePython) {
  EXPECT_EQ(formatJsonFloat(1), "1.0");
  EXPECT_EQ(formatJsonFloat(-0.0), "-0.0");
  EXPECT_EQ(formatJsonFloat(0.1), "0.1");
  EXPECT_EQ(formatJsonFloat(1e15), "1000000000000000.0");
  EXPECT_EQ(formatJsonFloat(1e16), "1e+16");
  EXPECT_EQ(formatJsonFloat(0.0001), "0.0001");
  EXPECT_EQ(formatJsonFloat(0.00001), "1e-05");
  EXPECT_EQ(formatJsonFloat(1.5e300), "1.5e+300");
  EXPECT_EQ(formatJsonFloat(5e-324), "5e-324");
  EXPECT_EQ(formatJsonFloat(1234567890.125), "1234567890.125");
  EXPECT_EQ(formatJsonFloat(HUGE_VAL), "\"Infinity\"");
  EXPECT_EQ(formatJsonFloat(-HUGE_VAL), "\"-Infinity\"");
  EXPECT_EQ(formatJsonFloat(std::nan("")), "\"NaN\"");
  for (double value : {3.141592653589793, 1e22, 9007199254740993.0, 1e-7}) {
    auto document = parse(formatJsonFloat(value));
    ASSERT_TRUE(document);
    EXPECT_EQ(document->root().getNumber(), value);
  }
}
