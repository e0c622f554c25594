//===- ExplanationReport.cpp - output of commute explain --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ExplanationReport.h"

#include "TextLayout.h"
#include "Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

#include <set>

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace json = llvm::json;
using Outcome = Decision::Outcome;

//===----------------------------------------------------------------------===//
// Filter
//===----------------------------------------------------------------------===//

llvm::Error tool::applyFilter(const RowFilter &filter,
                              Explanation &explanation) {
  std::optional<llvm::GlobPattern> pattern;
  if (!filter.node.empty()) {
    llvm::Expected<llvm::GlobPattern> parsed =
        llvm::GlobPattern::create(filter.node);
    if (!parsed)
      return llvm::createStringError("--node=" + filter.node + ": " +
                                     llvm::toString(parsed.takeError()));
    pattern = std::move(*parsed);
  }
  bool hadRows = !explanation.rows.empty();
  llvm::erase_if(explanation.rows, [&](const ExplainedSites &row) {
    if (!filter.pass.empty() && row.pass != filter.pass)
      return true;
    if (filter.isRefusedOnly && row.outcome != Outcome::Refused)
      return true;
    return pattern && llvm::none_of(row.nodes, [&](const std::string &node) {
             return pattern->match(node);
           });
  });
  if (pattern && hadRows && explanation.rows.empty())
    return llvm::createStringError(
        "--node=" + filter.node +
        ": no pass decided anything about such a node; without --node, all "
        "nodes are listed");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// "all_reduce_1 (model.py:41)".
static std::string formatPlace(const ExplainedOp &op) {
  if (op.node.empty())
    return op.op + (op.source.empty() ? "" : " at " + op.source);
  return op.node + (op.source.empty() ? "" : " (" + op.source + ")");
}

static std::string formatPotential(const ExplainedSites &row) {
  if (!row.potentialSeconds)
    return row.outcome == Outcome::Refused ? "none" : "";
  if (*row.potentialSeconds < 5e-9)
    return "none";
  return (row.isBound ? "< " : "") + formatSeconds(*row.potentialSeconds);
}

static void printBlocker(const ExplainedOp &blocker, size_t indent,
                         llvm::raw_ostream &os) {
  printWrapped("blocked by " + formatPlace(blocker) +
                   (blocker.node.empty() ? "" : ", " + blocker.op),
               indent, os, 2);
}

/// Prints what does not fit into the columns of a table.
static void printDetails(const ExplainedSites &row, llvm::raw_ostream &os) {
  std::string place = formatPlace(row.site);
  if (row.count > 1)
    place += " and " + std::to_string(row.count - 1) + " alike";
  constexpr size_t indent = 6;
  printWrapped(place, indent, os, 2);
  std::string text = row.text;
  if (!row.code.empty())
    text += " [" + row.code + "]";
  printWrapped(text, indent, os, 2);
  if (row.blocker)
    printBlocker(*row.blocker, indent, os);
  if (!row.remedyText.empty())
    printWrapped((row.remedyIndex
                      ? "remedy " + std::to_string(*row.remedyIndex + 1) + ": "
                      : "") +
                     row.remedyText,
                 indent, os, 2);
}

static void printRows(llvm::ArrayRef<ExplainedSites> rows, Outcome outcome,
                      llvm::StringRef title, llvm::raw_ostream &os) {
  bool isRefused = outcome == Outcome::Refused;
  std::vector<const ExplainedSites *> chosen;
  for (const ExplainedSites &row : rows)
    if (row.outcome == outcome)
      chosen.push_back(&row);
  if (chosen.empty())
    return;
  bool hasPrices = llvm::any_of(
      chosen, [](const ExplainedSites *row) { return row->secondsBefore; });
  std::vector<Table::Column> columns;
  if (isRefused)
    columns.push_back({"potential", Table::Align::Right});
  columns.push_back({"sites", Table::Align::Right});
  columns.insert(columns.end(), {{"pass"}, {"law"}});
  if (hasPrices)
    columns.insert(columns.end(), {{"before", Table::Align::Right},
                                   {"after", Table::Align::Right},
                                   {"gain", Table::Align::Right},
                                   {"needs", Table::Align::Right}});
  Table table(std::move(columns));
  for (const ExplainedSites *row : chosen) {
    std::vector<std::string> cells;
    if (isRefused)
      cells.push_back(formatPotential(*row));
    cells.insert(cells.end(),
                 {std::to_string(row->count), row->pass, row->law});
    if (row->secondsBefore && row->secondsAfter) {
      cells.push_back(formatSeconds(*row->secondsBefore));
      cells.push_back(formatSeconds(*row->secondsAfter));
      if (std::optional<double> gain = row->getGain()) {
        cells.push_back(formatSignedPercent(*gain));
        cells.push_back(llvm::formatv("{0:f0} %", 100 * row->requiredGain));
      }
    }
    table.addRow(std::move(cells));
  }
  os << '\n' << title << '\n';
  table.print(2, os, [&](size_t row) { printDetails(*chosen[row], os); });
}

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

static void printSteps(const Explanation &explanation, llvm::raw_ostream &os) {
  if (!explanation.before || !explanation.after) {
    printWrapped("no predictions: " + (explanation.unpriced.empty()
                                           ? "the result cannot be priced"
                                           : explanation.unpriced),
                 2, os);
    return;
  }
  const ExplainedStep &before = *explanation.before,
                      &after = *explanation.after;
  Table table({{""},
               {"before", Table::Align::Right},
               {"after", Table::Align::Right},
               {"", Table::Align::Right}});
  auto add = [&](std::string what, double first, double second) {
    table.addRow({std::move(what), formatSeconds(first), formatSeconds(second),
                  first > 0 ? formatSignedPercent(second / first - 1) : ""});
  };
  add("step", before.seconds, after.seconds);
  add("exposed communication", before.exposedSeconds, after.exposedSeconds);
  table.print(2, os);
}

/// Returns true if a remedy would gain nothing, and no refusal names it.
static bool isIdle(const Explanation &explanation, size_t index) {
  return explanation.remedies[index].gainSeconds == 0.0 &&
         llvm::none_of(explanation.rows, [&](const ExplainedSites &row) {
           return row.remedyIndex == index;
         });
}

static void printRemedies(const Explanation &explanation,
                          llvm::raw_ostream &os) {
  bool hasAny = false;
  for (size_t index = 0; index < explanation.remedies.size(); ++index)
    hasAny |= !isIdle(explanation, index);
  if (!hasAny)
    return;
  os << "\nremedies, by what the step would gain beyond the passes as they "
        "are\n";
  for (auto [index, remedy] : llvm::enumerate(explanation.remedies)) {
    // An opaque operator that blocks nothing.
    if (isIdle(explanation, index))
      continue;
    std::string text = std::to_string(index + 1) + ". ";
    if (!remedy.gainSeconds)
      text += "not predicted";
    else if (*remedy.gainSeconds < 5e-9)
      text += "no gain";
    else
      text +=
          formatSeconds(*remedy.gainSeconds) +
          (explanation.after && explanation.after->seconds > 0
               ? " (" +
                     llvm::formatv("{0:f1} %", 100 * *remedy.gainSeconds /
                                                   explanation.after->seconds)
                         .str() +
                     ")"
               : "");
    text += ", " + std::to_string(remedy.numSites) +
            (remedy.vocabulary.empty() ? " site" : " call") +
            (remedy.numSites == 1 ? ": " : "s: ") + remedy.text;
    printWrapped(text, 2, os, 3);
    if (!remedy.option.empty())
      printWrapped(remedy.option, 5, os);
    if (!remedy.vocabulary.empty())
      printWrapped("FILE.json: " + remedy.vocabulary, 5, os, 2);
  }
}

void tool::print(const Explanation &explanation, llvm::StringRef origin,
                 llvm::raw_ostream &os) {
  size_t numRefused = 0, numApplied = 0;
  for (const ExplainedSites &row : explanation.rows)
    (row.outcome == Outcome::Refused ? numRefused : numApplied) +=
        row.outcome == Outcome::NotApplicable ? 0 : row.count;
  os << origin << " on " << explanation.target << ": " << numApplied
     << (numApplied == 1 ? " rewrite, " : " rewrites, ") << numRefused
     << (numRefused == 1 ? " refusal\n" : " refusals\n");
  printSteps(explanation, os);
  for (const PassFailure &failure : explanation.failures)
    printWrapped(failure.pass + ": " + failure.describe(), 2, os);
  for (const std::string &assumption : explanation.assumptions)
    printWrapped("assumed (not stated): " + assumption, 2, os);
  printRemedies(explanation, os);
  printRows(explanation.rows, Outcome::Refused,
            "refused, by potential (what the step would gain; < is an upper "
            "bound)",
            os);
  printRows(explanation.rows, Outcome::Applied, "rewritten", os);
  printRows(explanation.rows, Outcome::NotApplicable, "nothing to rewrite", os);
  if (explanation.rows.empty())
    os << "\nno law of the passes applies to any op of the program\n";
}

//===----------------------------------------------------------------------===//
// Story of a node
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<DecisionRecord::Site>>
tool::findStory(const Explanation &explanation, llvm::StringRef node) {
  std::vector<DecisionRecord::Site> sites;
  std::set<std::pair<unsigned, std::string>> similar;
  for (const DecisionRecord::Site &site : explanation.record.getSites()) {
    std::string name = describe(site).node;
    if (name == node)
      sites.push_back(site);
    else if (!name.empty())
      similar.emplace(node.edit_distance(name), name);
  }
  if (!sites.empty())
    return sites;
  std::string text =
      "--why=" + node.str() + ": no law was tried at a node of this name";
  constexpr size_t maxListed = 3;
  size_t numListed = 0;
  for (const auto &[distance, name] : similar) {
    if (distance > std::max<size_t>(2, node.size() / 2) ||
        numListed == maxListed)
      break;
    text += (numListed++ == 0 ? "; similar nodes: " : ", ") + name;
  }
  return llvm::createStringError(text);
}

/// "refused (opaque)".
static std::string formatOutcome(const Decision &decision) {
  switch (decision.outcome) {
  case Outcome::Applied:
    return "rewritten";
  case Outcome::NotApplicable:
    return decision.text.empty() ? "found nothing to rewrite"
                                 : "nothing to rewrite";
  case Outcome::Refused:
    return "refused [" + analysis::stringify(decision.code).str() + "]";
  }
  llvm_unreachable("all outcomes are listed");
}

void tool::printStory(llvm::ArrayRef<DecisionRecord::Site> sites,
                      llvm::raw_ostream &os) {
  unsigned number = 0;
  for (const DecisionRecord::Site &site : sites) {
    ExplainedOp op = describe(site);
    printWrapped(formatPlace(op) + ": " + op.op + " -> " +
                     removeStrides(site.types),
                 0, os, 2);
    for (const Decision &decision : site.decisions) {
      std::string text = std::to_string(++number) + ". " + decision.pass +
                         ", " + decision.law + ": " + formatOutcome(decision);
      if (!decision.text.empty())
        text += ": " + decision.text;
      printWrapped(text, 2, os, 3);
      if (decision.secondsBefore && decision.secondsAfter)
        printWrapped(formatSeconds(*decision.secondsBefore) + " before, " +
                         formatSeconds(*decision.secondsAfter) + " after",
                     5, os);
      if (decision.blocker)
        printBlocker(describe(*decision.blocker), 5, os);
      if (!decision.remedy.empty())
        printWrapped(decision.remedy, 5, os, 2);
    }
  }
}

json::Array tool::storyToJson(llvm::ArrayRef<DecisionRecord::Site> sites) {
  json::Array story;
  for (const DecisionRecord::Site &site : sites) {
    ExplainedOp op = describe(site);
    for (const Decision &decision : site.decisions) {
      json::Object object = toJson(op);
      object["types"] = site.types;
      object["pass"] = decision.pass;
      object["law"] = decision.law;
      object["decision"] = stringify(decision.outcome);
      object["reason"] = decision.text;
      if (decision.outcome == Outcome::Refused)
        object["code"] = analysis::stringify(decision.code);
      if (decision.secondsBefore)
        object["seconds_before"] = *decision.secondsBefore;
      if (decision.secondsAfter)
        object["seconds_after"] = *decision.secondsAfter;
      if (decision.blocker)
        object["blocker"] = toJson(describe(*decision.blocker));
      if (!decision.remedy.empty())
        object["remedy"] = decision.remedy;
      story.push_back(std::move(object));
    }
  }
  return story;
}
