//===- OptionParsers.h - values of options, and what is wrong ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Parsers of LLVM's command-line library that report invalid values in the
// words of this tool.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_OPTIONPARSERS_H
#define COMMUTE_TOOLS_COMMUTE_OPTIONPARSERS_H

#include "llvm/Support/CommandLine.h"

#include <string>

namespace commute::tool {

/// Prints "commute: error: --NAME=VALUE: expected ...". Returns true, as
/// parsers do on an error.
bool reportBadValue(llvm::StringRef name, llvm::StringRef value,
                    const llvm::Twine &expected);

/// A number in decimal, as opposed to LLVM's, which may have any radix.
template <typename T>
struct Decimal {
  T value = 0;
  operator T() const { return value; }
};
template <typename T>
using NumberOption = llvm::cl::opt<T, false, llvm::cl::parser<Decimal<T>>>;

/// One of several words (cl::values).
template <typename T>
class ChoiceParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, T &value) {
    std::string words;
    for (unsigned index = 0; index < this->getNumOptions(); ++index) {
      if (text == this->getOption(index)) {
        value = this->Values[index].V.getValue();
        return false;
      }
      words += (index == 0                           ? ""
                : index + 1 == this->getNumOptions() ? " or "
                                                     : ", ") +
               this->getOption(index).str();
    }
    return reportBadValue(name, text, "expected " + words);
  }
};
template <typename T>
using ChoiceOption = llvm::cl::opt<T, false, ChoiceParser<T>>;

} // namespace commute::tool

// LLVM finds parsers by the type of the value.
template <typename T>
class llvm::cl::parser<commute::tool::Decimal<T>>
    : public llvm::cl::basic_parser<commute::tool::Decimal<T>> {
public:
  explicit parser(Option &option)
      : basic_parser<commute::tool::Decimal<T>>(option) {}

  bool parse(Option &option, StringRef name, StringRef text,
             commute::tool::Decimal<T> &number) {
    return text.getAsInteger(10, number.value) &&
           commute::tool::reportBadValue(name, text,
                                         std::is_signed_v<T>
                                             ? "expected a number"
                                             : "expected a number from 0 up");
  }
  void anchor() override {}
};

#endif // COMMUTE_TOOLS_COMMUTE_OPTIONPARSERS_H
