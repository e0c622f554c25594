//===- RelationParser.cpp - the expressions of relations.json -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Refinement/Relations.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;
using namespace commute::refinement;
using llvm::StringRef;
using llvm::Twine;

Relation Relation::makeName(StringRef name) {
  Relation relation;
  relation.name = name.str();
  return relation;
}

Relation Relation::makeShard(Relation operand, int64_t dim, StringRef axis) {
  Relation relation;
  relation.kind = Kind::Shard;
  relation.operands.push_back(std::move(operand));
  relation.dim = dim;
  relation.axis = axis.str();
  return relation;
}

Relation Relation::makePartial(Relation operand, StringRef axis) {
  Relation relation;
  relation.kind = Kind::Partial;
  relation.operands.push_back(std::move(operand));
  relation.axis = axis.str();
  return relation;
}

bool Relation::isPartial() const {
  return kind == Kind::Partial ||
         llvm::any_of(operands, [](const Relation &operand) {
           return operand.isPartial();
         });
}

std::string Relation::getText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto printList = [&](const auto &list, auto print) {
    os << '[';
    llvm::interleaveComma(list, os, print);
    os << ']';
  };
  auto printNumbers = [&] {
    printList(numbers, [&](int64_t number) { os << number; });
  };
  auto printAxis = [&] {
    if (!axis.empty())
      os << ", " << axis;
  };
  switch (kind) {
  case Kind::Name:
    os << name;
    break;
  case Kind::Shard:
    os << "shard(" << operands[0].getText() << ", " << dim;
    printAxis();
    os << ')';
    break;
  case Kind::Partial:
    os << "partial(" << operands[0].getText();
    printAxis();
    os << ')';
    break;
  case Kind::Concat:
    os << "cat(";
    printList(operands, [&](const Relation &part) { os << part.getText(); });
    os << ", " << dim << ')';
    break;
  case Kind::Permute:
    os << "permute(" << operands[0].getText() << ", ";
    printNumbers();
    os << ')';
    break;
  case Kind::Reshape:
    os << "reshape(" << operands[0].getText() << ", ";
    printNumbers();
    os << ')';
    break;
  case Kind::Slice:
    os << "slice(" << operands[0].getText() << ", " << dim << ", " << numbers[0]
       << ", " << numbers[1] << ')';
    break;
  case Kind::Split:
    os << "split(" << operands[0].getText() << ", ";
    printNumbers();
    os << ", " << dim << ")[" << index << ']';
    break;
  case Kind::Zeros:
    os << "zeros(";
    printNumbers();
    os << ')';
    break;
  }
  return text;
}

std::string Relation::getOutputText() const {
  if (kind == Kind::Name)
    return "replicated";
  bool isShort = (kind == Kind::Shard || kind == Kind::Partial) &&
                 operands[0].kind == Kind::Name;
  if (!isShort)
    return getText();
  if (kind == Kind::Partial)
    return axis.empty() ? "partial" : "partial(" + axis + ")";
  return "shard(" + std::to_string(dim) + (axis.empty() ? "" : ", " + axis) +
         ")";
}

namespace {
/// A recursive-descent parser of one expression.
class RelationParser {
public:
  explicit RelationParser(StringRef text) : text(text), rest(text) {}

  llvm::Expected<Relation> parse() {
    llvm::Expected<Relation> relation = parseExpression(/*depth=*/0);
    if (!relation)
      return relation;
    skipSpace();
    if (!rest.empty())
      return fail("expected the end of the expression");
    return relation;
  }

private:
  llvm::Error fail(const Twine &what) const {
    std::string place = rest.empty() ? std::string("at its end")
                                     : "before " + quoted(rest.take_front(20));
    return llvm::createStringError(quoted(text) + ": " + what + " " + place);
  }
  void skipSpace() { rest = rest.ltrim(); }
  bool consume(char symbol) {
    skipSpace();
    return rest.consume_front(StringRef(&symbol, 1));
  }
  llvm::Error expect(char symbol) {
    if (consume(symbol))
      return llvm::Error::success();
    return fail("expected '" + Twine(symbol) + "'");
  }
  llvm::Expected<StringRef> parseName() {
    skipSpace();
    StringRef name = rest.take_while(
        [](char c) { return !StringRef("()[], \t").contains(c); });
    if (name.empty())
      return fail("expected a name");
    rest = rest.drop_front(name.size());
    return name;
  }
  llvm::Expected<int64_t> parseNumber() {
    skipSpace();
    StringRef digits =
        rest.take_while([](char c) { return c == '-' || llvm::isDigit(c); });
    int64_t number;
    if (digits.getAsInteger(10, number))
      return fail("expected a whole number");
    rest = rest.drop_front(digits.size());
    return number;
  }
  llvm::Error parseNumbers(std::vector<int64_t> &numbers) {
    bool isList = consume('[');
    char close = ']';
    if (!isList) {
      if (!consume('('))
        return fail("expected a list of numbers, such as [2, 3]");
      close = ')';
    }
    if (consume(close))
      return llvm::Error::success();
    while (true) {
      llvm::Expected<int64_t> number = parseNumber();
      if (!number)
        return number.takeError();
      numbers.push_back(*number);
      if (consume(close))
        return llvm::Error::success();
      if (llvm::Error error = expect(','))
        return error;
    }
  }
  llvm::Error parseDim(Relation &relation) {
    llvm::Expected<int64_t> dim = parseNumber();
    if (!dim)
      return dim.takeError();
    relation.dim = *dim;
    return llvm::Error::success();
  }
  llvm::Error parseAxis(Relation &relation) {
    if (!consume(','))
      return llvm::Error::success();
    llvm::Expected<StringRef> axis = parseName();
    if (!axis)
      return axis.takeError();
    relation.axis = axis->str();
    return llvm::Error::success();
  }
  llvm::Error parseOperand(Relation &relation, unsigned depth) {
    llvm::Expected<Relation> operand = parseExpression(depth + 1);
    if (!operand)
      return operand.takeError();
    relation.operands.push_back(std::move(*operand));
    return llvm::Error::success();
  }
  llvm::Error parseArguments(StringRef function, Relation &relation,
                             unsigned depth);
  llvm::Expected<Relation> parseExpression(unsigned depth);

  StringRef text, rest;
};
} // namespace

llvm::Error RelationParser::parseArguments(StringRef function,
                                           Relation &relation, unsigned depth) {
  using Kind = Relation::Kind;
  if (function == "zeros") {
    relation.kind = Kind::Zeros;
    return parseNumbers(relation.numbers);
  }
  if (function == "cat") {
    relation.kind = Kind::Concat;
    if (llvm::Error error = expect('['))
      return error;
    do
      if (llvm::Error error = parseOperand(relation, depth))
        return error;
    while (consume(','));
    if (llvm::Error error = expect(']'))
      return error;
    return consume(',') ? parseDim(relation) : llvm::Error::success();
  }
  if (llvm::Error error = parseOperand(relation, depth))
    return error;
  if (function == "partial") {
    relation.kind = Kind::Partial;
    return parseAxis(relation);
  }
  if (llvm::Error error = expect(','))
    return error;
  if (function == "shard") {
    relation.kind = Kind::Shard;
    if (llvm::Error error = parseDim(relation))
      return error;
    return parseAxis(relation);
  }
  if (function == "permute" || function == "reshape") {
    relation.kind = function == "permute" ? Kind::Permute : Kind::Reshape;
    return parseNumbers(relation.numbers);
  }
  if (function == "split") {
    relation.kind = Kind::Split;
    if (llvm::Error error = parseNumbers(relation.numbers))
      return error;
    return consume(',') ? parseDim(relation) : llvm::Error::success();
  }
  relation.kind = Kind::Slice;
  if (llvm::Error error = parseDim(relation))
    return error;
  for (int number = 0; number < 2; ++number) {
    if (llvm::Error error = expect(','))
      return error;
    llvm::Expected<int64_t> bound = parseNumber();
    if (!bound)
      return bound.takeError();
    relation.numbers.push_back(*bound);
  }
  return llvm::Error::success();
}

llvm::Expected<Relation> RelationParser::parseExpression(unsigned depth) {
  constexpr unsigned maxDepth = 64;
  if (depth > maxDepth)
    return fail("the expression is nested more than 64 times");
  llvm::Expected<StringRef> name = parseName();
  if (!name)
    return name.takeError();
  if (!consume('('))
    return Relation::makeName(*name);
  constexpr StringRef functions[] = {"shard",   "partial", "cat",   "permute",
                                     "reshape", "slice",   "split", "zeros"};
  if (!llvm::is_contained(functions, *name))
    return llvm::createStringError(
        quoted(text) + ": " + quoted(*name) +
        " is not a function of relations; these are shard, partial, cat, "
        "permute, reshape, slice, split and zeros");
  Relation relation;
  if (llvm::Error error = parseArguments(*name, relation, depth))
    return std::move(error);
  if (llvm::Error error = expect(')'))
    return std::move(error);
  if (relation.kind != Relation::Kind::Split)
    return relation;
  if (llvm::Error error = expect('['))
    return std::move(error);
  llvm::Expected<int64_t> index = parseNumber();
  if (!index)
    return index.takeError();
  relation.index = *index;
  if (llvm::Error error = expect(']'))
    return std::move(error);
  return relation;
}

llvm::Expected<Relation> refinement::parseRelation(StringRef text) {
  return RelationParser(text).parse();
}

llvm::Expected<Relation> refinement::parseOutputRelation(StringRef text) {
  constexpr llvm::StringLiteral output = "output";
  StringRef trimmed = text.trim();
  if (trimmed == "replicated")
    return Relation::makeName(output);
  if (trimmed == "partial")
    return Relation::makePartial(Relation::makeName(output), "");
  StringRef rest = trimmed;
  if (rest.consume_front("shard(") && rest.consume_back(")")) {
    auto [dim, axis] = rest.split(',');
    int64_t number;
    if (!dim.trim().getAsInteger(10, number) && !axis.contains(','))
      return Relation::makeShard(Relation::makeName(output), number,
                                 axis.trim());
  }
  llvm::Expected<Relation> relation = parseRelation(text);
  if (!relation)
    return relation;
  // "partial(dp)" names the axis alone.
  if (relation->kind == Relation::Kind::Partial && relation->axis.empty() &&
      relation->operands[0].kind == Relation::Kind::Name &&
      relation->operands[0].name != output)
    return Relation::makePartial(Relation::makeName(output),
                                 relation->operands[0].name);
  if (relation->kind == Relation::Kind::Name && relation->name != output)
    return llvm::createStringError(
        quoted(text) + " is not a relation of an output; expected "
                       "replicated, shard(DIM[, AXIS]), partial[(AXIS)], any, "
                       "gradient(INPUT), or an expression over 'output'");
  return relation;
}

/// Replaces the names of a relation by "output", and summands by their sum.
/// `name` is the only name, or empty while there is none.
static std::optional<Relation> replaceNames(const Relation &relation,
                                            std::string &name) {
  if (relation.kind == Relation::Kind::Partial)
    return replaceNames(relation.operands[0], name);
  if (relation.kind == Relation::Kind::Name) {
    if (!name.empty() && name != relation.name)
      return std::nullopt;
    name = relation.name;
    return Relation::makeName("output");
  }
  Relation result = relation;
  for (Relation &operand : result.operands) {
    std::optional<Relation> replaced = replaceNames(operand, name);
    if (!replaced)
      return std::nullopt;
    operand = std::move(*replaced);
  }
  return result;
}

std::optional<Relation>
refinement::makeGradientRelation(const Relation &ofInput) {
  std::string name;
  std::optional<Relation> result = replaceNames(ofInput, name);
  return name.empty() ? std::nullopt : result;
}
