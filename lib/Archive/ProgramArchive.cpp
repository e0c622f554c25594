//===- ProgramArchive.cpp - reading and writing .pt2 archives -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"
#include "commute/Archive/Weights.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <utility>

namespace commute::archive {

using llvm::Twine;

static constexpr llvm::StringLiteral modelsFolder = "models/";
static constexpr llvm::StringLiteral modelSuffix = ".json";
static constexpr llvm::StringLiteral sidecarRecord = "extra/commute.json";
static constexpr uint64_t maxSidecarBytes = uint64_t(16) << 20;

static llvm::Error archiveError(const Container &container,
                                const Twine &message) {
  return llvm::createStringError(container.path() + ": " + message);
}

/// Returns, for example, "'models/a.json', 'archive_format', ... (12 in all)".
static std::string listNames(llvm::ArrayRef<std::string> names) {
  constexpr size_t shown = 8;
  std::string result = llvm::join(
      llvm::map_range(names.take_front(shown),
                      [](const std::string &name) { return quoted(name); }),
      ", ");
  if (names.size() > shown)
    result += (", ... (" + Twine(names.size()) + " in all)").str();
  return result;
}

/// Checks that a record consists of `expected`, apart from surrounding white
/// space.
static llvm::Error checkFixedRecord(const Container &container,
                                    llvm::StringRef name,
                                    llvm::StringRef expected,
                                    llvm::StringRef reason) {
  constexpr uint64_t maxBytes = 256;
  if (!container.find(name)) {
    std::vector<std::string> names;
    for (const Record &record : container.records())
      names.push_back(record.name);
    return archiveError(container, "record " + name +
                                       " is missing, so this is not an archive "
                                       "of torch.export.save; it has " +
                                       listNames(names));
  }
  llvm::Expected<std::string> content = container.read(name, maxBytes);
  if (!content)
    return content.takeError();
  if (llvm::StringRef(*content).trim() != expected)
    return archiveError(container, "record " + name + ": expected '" +
                                       expected + "', found " +
                                       quoted(*content) + "; " + reason);
  return llvm::Error::success();
}

/// Returns the record of the program to read.
static llvm::Expected<std::string> chooseModel(const Container &container,
                                               llvm::StringRef model) {
  std::vector<std::string> models;
  bool hasCompiledCode = false;
  for (const Record &record : container.records()) {
    llvm::StringRef name = record.name;
    hasCompiledCode |= name.starts_with("data/aotinductor/");
    if (name.consume_front(modelsFolder) && name.consume_back(modelSuffix))
      models.push_back(name.str());
  }
  if (models.empty()) {
    if (hasCompiledCode)
      return archiveError(container,
                          "this package contains only code compiled by "
                          "AOTInductor (data/aotinductor/) and no graph; save "
                          "the program with torch.export.save");
    return archiveError(
        container,
        "this archive contains no program (record models/NAME.json)");
  }

  auto recordOf = [](llvm::StringRef name) {
    return (modelsFolder + name + modelSuffix).str();
  };
  if (!model.empty()) {
    if (llvm::is_contained(models, model))
      return recordOf(model);
    return archiveError(container, "this archive contains no program " +
                                       quoted(model) + "; it contains " +
                                       listNames(models));
  }
  if (models.size() == 1)
    return recordOf(models.front());
  constexpr llvm::StringLiteral defaultModel = "model";
  if (llvm::is_contained(models, defaultModel))
    return recordOf(defaultModel);
  return archiveError(container,
                      "this archive contains several programs; choose "
                      "one of " +
                          listNames(models));
}

llvm::Expected<std::unique_ptr<ProgramArchive>>
readProgramArchive(llvm::StringRef path, llvm::StringRef model,
                   const ContainerLimits &containerLimits) {
  auto archive = std::make_unique<ProgramArchive>();
  if (llvm::Error failure =
          Container::open(path, containerLimits).moveInto(archive->container))
    return failure;
  const Container &container = *archive->container;
  if (llvm::Error failure = checkFixedRecord(
          container, "archive_format", "pt2",
          "only archives written by torch.export.save are supported"))
    return failure;
  if (llvm::Error failure = checkFixedRecord(
          container, "archive_version", "0",
          "PyTorch defines no other version of the archive layout"))
    return failure;
  if (llvm::Error failure =
          chooseModel(container, model).moveInto(archive->modelRecord))
    return failure;

  JsonLimits limits;
  llvm::Expected<std::string> json =
      container.read(archive->modelRecord, limits.maxBytes);
  if (!json)
    return json.takeError();
  std::string origin =
      (path + ": record " + llvm::StringRef(archive->modelRecord)).str();
  if (llvm::Error failure = parseProgram(std::move(*json), origin, limits)
                                .moveInto(archive->program))
    return failure;

  if (llvm::Error failure = Weights::checkRecords(*archive))
    return failure;

  if (container.find(sidecarRecord)) {
    llvm::Expected<std::string> sidecar =
        container.read(sidecarRecord, maxSidecarBytes);
    if (!sidecar)
      return sidecar.takeError();
    archive->sidecar = std::move(*sidecar);
  }
  return archive;
}

llvm::Error writeProgramArchive(const ProgramArchive &source,
                                llvm::StringRef path, std::string programJson,
                                std::optional<std::string> sidecar) {
  const Container &container = *source.container;
  std::unique_ptr<ContainerWriter> writer;
  if (llvm::Error failure =
          ContainerWriter::create(path, container.root()).moveInto(writer))
    return failure;

  // Insert a new sidecar where torch.export.save puts extra files, which is
  // before the records that PyTorch's zip writer adds at the end.
  llvm::ArrayRef<Record> records = container.records();
  size_t tail = records.size();
  while (tail > 0 &&
         (records[tail - 1].name == "byteorder" ||
          llvm::StringRef(records[tail - 1].name).starts_with(".data/")))
    --tail;
  bool addsSidecar = sidecar && !container.find(sidecarRecord);

  for (size_t index = 0; index <= records.size(); ++index) {
    if (index == tail && addsSidecar)
      if (llvm::Error failure = writer->add(sidecarRecord, std::move(*sidecar)))
        return failure;
    if (index == records.size())
      break;
    const std::string &name = records[index].name;
    // Names are unique in a container, so each string is moved at most once.
    llvm::Error failure =
        name == source.modelRecord
            ? writer->add(name, std::exchange(programJson, {}))
        : name == sidecarRecord && sidecar
            ? writer->add(name, std::exchange(*sidecar, {}))
            : writer->copy(container, name);
    if (failure)
      return failure;
  }
  return writer->commit();
}

} // namespace commute::archive
