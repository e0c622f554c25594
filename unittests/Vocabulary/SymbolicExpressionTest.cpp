//===- SymbolicExpressionTest.cpp - SymPy text and affine expressions -----===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SymbolicExpression.h"

#include "gtest/gtest.h"

using namespace commute;
using namespace commute::vocabulary;

namespace {
class SymbolicExpression : public testing::Test {
protected:
  static archive::SymInt makeSize(llvm::StringRef text) {
    archive::SymInt size;
    size.expression = text;
    return size;
  }
  tp::Size read(llvm::StringRef text) {
    return readSize(makeSize(text), symbols);
  }
  std::string print(llvm::StringRef text) {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    // Before the names are asked for: reading adds some.
    tp::Size size = read(text);
    tp::printSize(os, size, symbols.getNames());
    return printed;
  }
  std::string write(llvm::StringRef text) {
    tp::Size size = read(text);
    return writeSize(size, symbols.getNames(),
                     [](mlir::AffineExpr) { return std::nullopt; });
  }
  bool isOpaque(llvm::StringRef text) {
    return llvm::StringRef(print(text)).starts_with("expr_");
  }

  mlir::MLIRContext context;
  tp::SymbolSpace symbols{&context};
};
} // namespace

static constexpr llvm::StringLiteral s77 =
    "Symbol('s77', positive=True, integer=True)";

TEST_F(SymbolicExpression, ReadsBothForms) {
  EXPECT_EQ(print("8"), "8");
  EXPECT_EQ(print(" -3 "), "-3");
  EXPECT_EQ(print("s0"), "s0");
  EXPECT_EQ(print(s77), "s77");
  EXPECT_EQ(print("Symbol(\"u0\", integer=True)"), "u0");
  EXPECT_EQ(print(("Mul(Integer(8), " + s77 + ")").str()), "s77 * 8");
  EXPECT_EQ(print("8*s77"), "s77 * 8");
  EXPECT_EQ(print("2*(s0 + 1) - s1"), print("Add(Mul(Integer(2), Add(s0, "
                                            "Integer(1))), Mul(Integer(-1), "
                                            "s1))"));
  EXPECT_EQ(print("s0//2"), "s0 floordiv 2");
  EXPECT_EQ(print("FloorDiv(s0, 2)"), "s0 floordiv 2");
  EXPECT_EQ(print("CeilDiv(s0, Integer(4))"), "s0 ceildiv 4");
  EXPECT_EQ(print("s0 % 4"), "s0 mod 4");
  EXPECT_EQ(print("Mod(s0, 4)"), "s0 mod 4");
  EXPECT_EQ(print("PythonMod(s0, 4)"), "s0 mod 4");
  EXPECT_EQ(print("s0*s1*2"), "(s0 * s1) * 2");
  // The same symbol, the same expression.
  EXPECT_EQ(read("4*s0"), read("Mul(Integer(4), s0)"));
}

TEST_F(SymbolicExpression, WhatIsNotUnderstoodIsASymbolOfItsText) {
  for (llvm::StringRef text : {"",
                               "s0 +",
                               "s0**s1",
                               "s0**99",
                               "Pow(s0, Integer(-1))",
                               "Max(s0, 3)",
                               "s0/2",
                               "FloorDiv(s0, s1)",
                               "Mod(s0, 0)",
                               "FloorDiv(s0, Integer(-2))",
                               "FloorDiv(s0)",
                               "Integer(1, 2)",
                               "-f(s0",
                               "s0 s1",
                               "(s0",
                               "Symbol()",
                               "Symbol('s0'",
                               "Symbol('')",
                               "Symbol('a b')",
                               "f()",
                               "99999999999999999999"})
    EXPECT_TRUE(isOpaque(text)) << text.str() << " is read as " << print(text);
  EXPECT_EQ(read("Max(s0, 3)"), read("Max(s0, 3)"));
  EXPECT_NE(read("Max(s0, 3)"), read("Max(s0, 4)"));
}

TEST_F(SymbolicExpression, PartsWithoutAlgebraAreSymbols) {
  // What is around them is read.
  EXPECT_EQ(read("8*Max(2, s0//2)"), read("Max(2, s0//2)*8"));
  EXPECT_NE(read("8*Max(2, s0//2)"), read("8*Max(2, s0//3)"));
  mlir::AffineExpr maximum = read("Max(s0, 3)").getSymbolic();
  EXPECT_EQ(read("2*Max(s0, 3) + 1"), tp::Size(maximum * 2 + 1));
  // One part, however it is spelled.
  for (llvm::StringRef text :
       {"Max(3, s0)", "Max(s0, Integer(3))", "Max(3, s0, 2, s0)",
        "Max(Integer(3), Symbol('s0', positive=True, integer=True))"})
    EXPECT_EQ(read(text), tp::Size(maximum)) << text.str();
  EXPECT_NE(read("Min(s0, 3)"), tp::Size(maximum));
  EXPECT_EQ(read("FloorDiv(s0, s1)"), read("s0//s1"));
  EXPECT_EQ(read("Max(2, 3)"), tp::Size(3));
  EXPECT_EQ(read("4*f(s0, g(s1) + 2)"), read("f(s0, g(s1) + 2)*4"));
  EXPECT_EQ(read("s0**2"), read("Pow(s0, Integer(2))"));
  EXPECT_EQ(read("s0**2"), read("s0*s0"));
  EXPECT_EQ(read("-s0 + 1"), read("1 - s0"));
}

TEST_F(SymbolicExpression, StridesOfDenseTensorsAreProductsOfSizes) {
  auto readAsStride = [&](llvm::StringRef text) {
    return readStride(makeSize(text), symbols);
  };
  EXPECT_EQ(readAsStride("8*Max(1, (s0 + 1)//2)"), read("8*((s0 + 1)//2)"));
  EXPECT_EQ(readAsStride("Max(1, s0)*Max(1, s1)"), read("s0*s1"));
  // A size may be none.
  EXPECT_NE(read("Max(1, s0)"), read("s0"));
  // Unless it is stated, a size may be zero.
  llvm::StringRef positive = "Symbol('s0', positive=True, integer=True)";
  llvm::StringRef any = "Symbol('s0', integer=True)";
  auto getMaximum = [&](llvm::StringRef symbol) {
    return read(("Max(Integer(1), " + symbol + ")").str());
  };
  EXPECT_EQ(getMaximum(positive), read("s0"));
  EXPECT_NE(getMaximum(any), read("s0"));
  EXPECT_EQ(read(("Min(Integer(2), Add(" + positive + ", Integer(1)))").str()),
            tp::Size(2));
  EXPECT_NE(readAsStride("Max(2, s0)"), read("s0"));
  // A stride of an empty tensor does not matter.
  EXPECT_EQ(readAsStride("Min(64, 64*s0)"), tp::Size(64));
  EXPECT_NE(readAsStride("Min(64, 32*s0)"), tp::Size(64));
  EXPECT_NE(readAsStride("Min(64, 64*u0)"), tp::Size(64));
}

TEST_F(SymbolicExpression, PartsAreEvaluated) {
  auto evaluateAt = [&](llvm::StringRef text, int64_t s0, int64_t s1) {
    llvm::SmallVector<OpaquePart> parts;
    readSize(makeSize(text), symbols, &parts);
    EXPECT_EQ(parts.size(), 1u) << text.str();
    return evaluate(parts[0], symbols.getNames(), [&](llvm::StringRef name) {
      return std::optional(name == "s0" ? s0 : s1);
    });
  };
  EXPECT_EQ(evaluateAt("2*Max(s0, 3)", 5, 0), 5);
  EXPECT_EQ(evaluateAt("Min(s0, s1 + 1)", 5, 3), 4);
  EXPECT_EQ(evaluateAt("s0//s1", 7, 2), 3);
  EXPECT_EQ(evaluateAt("s0 % s1", 7, 4), 3);
  EXPECT_EQ(evaluateAt("CeilDiv(s0, s1)", 7, 4), 2);
  EXPECT_EQ(evaluateAt("s0//s1", 7, 0), std::nullopt);
  EXPECT_EQ(evaluateAt("f(s0)", 7, 0), std::nullopt);
}

TEST_F(SymbolicExpression, DeepAndLongTextIsOpaque) {
  EXPECT_TRUE(isOpaque(std::string(100000, '(')));
  EXPECT_TRUE(isOpaque(std::string(200, '(') + "s0" + std::string(200, ')')));
  std::string sum = "s0";
  for (int i = 1; i < 1000; ++i)
    sum += " + s" + std::to_string(i);
  EXPECT_TRUE(isOpaque(sum));
  std::string nested;
  for (int i = 0; i < 100000; ++i)
    nested += "Add(s0, ";
  EXPECT_TRUE(isOpaque(nested));
  EXPECT_FALSE(isOpaque("((((s0))))"));
}

TEST_F(SymbolicExpression, WritesWhatItReads) {
  EXPECT_EQ(write("7"), "Integer(7)");
  EXPECT_EQ(write("s77"), s77);
  EXPECT_EQ(write("u3"), "Symbol('u3', integer=True)");
  EXPECT_EQ(write("8*s77"), ("Mul(Integer(8), " + s77 + ")").str());
  EXPECT_EQ(write("s77 + 1"), ("Add(" + s77 + ", Integer(1))").str());
  for (llvm::StringRef text :
       {"2*(s0 + 3*s1) - 5", "s0//2", "CeilDiv(s0 + s1, 4)", "s0 % 8",
        "s0*s1*s2*3", "(s0*s1)//4"})
    EXPECT_EQ(read(write(text)), read(text)) << write(text);
}

TEST_F(SymbolicExpression, SpellingsOfTheGraphAreTaken) {
  // Not understood, but its product with a number can be written.
  mlir::AffineExpr maximum = read("Max(s0, 3)").getSymbolic();
  auto getSpelling =
      [&](mlir::AffineExpr part) -> std::optional<llvm::StringRef> {
    if (part == maximum)
      return "Max(s0, 3)";
    return std::nullopt;
  };
  EXPECT_EQ(writeSize(maximum * 4, symbols.getNames(), getSpelling),
            "Mul(Integer(4), Max(s0, 3))");
}
