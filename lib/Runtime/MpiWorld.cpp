//===- MpiWorld.cpp - ranks as processes under mpirun -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/MpiWorld.h"

#include "MpiTransfer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

//===----------------------------------------------------------------------===//
// Transport
//===----------------------------------------------------------------------===//

namespace commute::runtime {
class MpiTransport : public Transport {
public:
  explicit MpiTransport(MpiWorld &world) : world(world) {}

  int64_t getRank() const override { return world.getRank(); }
  /// A process that fails ends all others, so there is nothing to check.
  llvm::Error checkPeers() override { return llvm::Error::success(); }
  llvm::Expected<std::unique_ptr<Transfer>> start(const CollectiveCall &call,
                                                  Type elementType,
                                                  size_t numTensors,
                                                  bool overlaps) override;

private:
  MpiWorld &world;
};
} // namespace commute::runtime

llvm::Expected<std::unique_ptr<Transfer>>
MpiTransport::start(const CollectiveCall &call, Type elementType,
                    size_t numTensors, bool overlaps) {
  std::vector<MpiPeer> peers;
  for (auto [position, member] : llvm::enumerate(call.members)) {
    if (member == getRank())
      continue;
    MpiPeer &peer = peers.emplace_back();
    peer.rank = member;
    peer.source = llvm::find(world.world, member) - world.world.begin();
    peer.position = position;
  }
  auto transfer = std::make_unique<MpiTransfer>(world.module, world.timeout,
                                                getRank(), call, elementType,
                                                numTensors, std::move(peers));
  if (overlaps)
    transfer->overlap();
  return transfer;
}

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

std::optional<int64_t> MpiWorld::getStartedProcesses() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char *text = std::getenv(name)) {
      int64_t count = 0;
      // A malformed count still means mpirun; join() asks MPI for the real one.
      return StringRef(text).getAsInteger(10, count) ? 1 : count;
    }
  return std::nullopt;
}

static llvm::Expected<const MpiModule *> loadModule() {
  SmallString<128> path(llvm::sys::path::parent_path(
      llvm::sys::fs::getMainExecutable(nullptr, nullptr)));
  llvm::sys::path::append(path, "..", COMMUTE_MODULE_FOLDER, "CommuteMpi.so");
  std::string message;
  llvm::sys::DynamicLibrary library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &message);
  if (!library.isValid())
    return llvm::createStringError("started by mpirun, but the MPI module "
                                   "cannot be loaded: " +
                                   message);
  using GetModule = const MpiModule *(*)();
  auto getModule = reinterpret_cast<GetModule>(
      library.getAddressOfSymbol(mpiModuleFunction));
  if (!getModule)
    return llvm::createStringError(path + " is not a module of Commute");
  return getModule();
}

llvm::Expected<std::unique_ptr<MpiWorld>>
MpiWorld::join(ArrayRef<int64_t> world, std::chrono::seconds timeout) {
  llvm::Expected<const MpiModule *> module = loadModule();
  if (!module)
    return module.takeError();
  std::unique_ptr<MpiWorld> result(new MpiWorld(**module, world, timeout));
  int numProcesses = 0;
  if (!result->module.initialize(&result->position, &numProcesses))
    return llvm::createStringError("MPI cannot be initialized");
  if (numProcesses != int(world.size()))
    return llvm::createStringError(
        "mpirun started " + Twine(numProcesses) +
        " processes, but the groups of the graph have " + Twine(world.size()) +
        (world.size() == 1 ? " rank" : " ranks"));
  return result;
}

MpiWorld::~MpiWorld() { module.finalize(); }

int64_t MpiWorld::getRank() const { return world[position]; }

std::unique_ptr<Transport> MpiWorld::makeTransport() {
  return std::make_unique<MpiTransport>(*this);
}

void MpiWorld::abort(int exitCode) {
  module.abort(exitCode);
  std::_Exit(exitCode);
}

llvm::Expected<std::vector<RankOutcome>>
runtime::runOnProcesses(const RunnableProgram &program, MpiWorld &processes,
                        InputProvider getInput, const RunOptions &options) {
  func::FuncOp function = program.getFunction();
  RankDiagnostics diagnostics(function->getContext());
  RunOptions rankOptions = options;
  rankOptions.threadsPerRank =
      getThreadsPerRank(options, processes.getRanks().size());
  std::unique_ptr<Transport> transport = processes.makeTransport();
  auto named = [&](llvm::Error error) {
    return llvm::createStringError("rank " + Twine(processes.getRank()) + ": " +
                                   llvm::toString(std::move(error)));
  };
  llvm::Expected<RankOutcome> own =
      runOnRank(program, getInput, rankOptions, *transport);
  if (!own)
    return named(own.takeError());

  // End with a collective, so that a rank that waits in another collective is
  // told that this rank has finished.
  CollectiveCall call;
  call.members.assign(processes.getRanks().begin(), processes.getRanks().end());
  call.operation = "the end of the program";
  if (llvm::Error error =
          transport
              ->exchange(call, SmallVector<TensorValue>(call.members.size()))
              .takeError())
    return named(std::move(error));
  int64_t first = processes.getRanks().front();
  std::vector<RankOutcome> outcomes;
  for (int64_t rank : processes.getRanks())
    outcomes.push_back({rank, {}, own->seconds});
  bool isFirst = processes.getRank() == first;
  for (auto [index, output] : llvm::enumerate(own->outputs)) {
    call.operation = "the collection of output " + std::to_string(index);
    SmallVector<TensorValue> toMembers;
    for (int64_t rank : processes.getRanks())
      toMembers.push_back(rank == first || rank == processes.getRank()
                              ? output
                              : TensorValue());
    llvm::Expected<SmallVector<TensorValue>> received =
        transport->exchange(call, toMembers);
    if (!received)
      return named(received.takeError());
    for (auto [outcome, tensor] : llvm::zip_equal(outcomes, *received))
      outcome.outputs.push_back(std::move(tensor));
  }
  if (!isFirst)
    outcomes.clear();
  return outcomes;
}
