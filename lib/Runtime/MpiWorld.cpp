//===- MpiWorld.cpp - ranks that are processes under mpirun -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/MpiWorld.h"

#include "MpiModule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <thread>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {
/// What goes in front of a tensor, as text: the call, and the tensor's type.
struct Header {
  CollectiveCall call;
  std::string element;
  SmallVector<int64_t> sizes;
  /// False for a null tensor.
  bool hasTensor = false;
};
} // namespace

/// Fields one behind the other, each with its length in front.
static void append(std::string &text, StringRef field) {
  text += std::to_string(field.size()) + ":" + field.str();
}
static void append(std::string &text, ArrayRef<int64_t> numbers) {
  std::string field;
  for (int64_t number : numbers)
    field += std::to_string(number) + " ";
  append(text, field);
}
static bool take(StringRef &text, std::string &field) {
  size_t length = 0;
  if (text.consumeInteger(10, length) || !text.consume_front(":") ||
      length > text.size())
    return false;
  field = text.take_front(length).str();
  text = text.drop_front(length);
  return true;
}
static bool take(StringRef &text, SmallVectorImpl<int64_t> &numbers) {
  std::string field;
  if (!take(text, field))
    return false;
  StringRef rest = field;
  while (!rest.empty())
    if (rest.consumeInteger(10, numbers.emplace_back()) ||
        !rest.consume_front(" "))
      return false;
  return true;
}

static std::string encode(const CollectiveCall &call,
                          const TensorValue &tensor) {
  std::string text;
  append(text, call.operation);
  append(text, call.operand);
  append(text, call.members);
  append(text, call.node);
  append(text, call.place);
  append(text, StringRef(tensor ? "tensor" : ""));
  std::string element;
  if (tensor)
    llvm::raw_string_ostream(element) << int(tensor->getKind());
  append(text, element);
  append(text, tensor ? tensor->getSizes() : ArrayRef<int64_t>());
  return text;
}

static bool decode(StringRef text, Header &header) {
  std::string hasTensor;
  bool succeeds =
      take(text, header.call.operation) && take(text, header.call.operand) &&
      take(text, header.call.members) && take(text, header.call.node) &&
      take(text, header.call.place) && take(text, hasTensor) &&
      take(text, header.element) && take(text, header.sizes);
  header.hasTensor = !hasTensor.empty();
  return succeeds && text.empty();
}

//===----------------------------------------------------------------------===//
// Transport
//===----------------------------------------------------------------------===//

namespace commute::runtime {
class MpiTransport : public Transport {
public:
  explicit MpiTransport(MpiWorld &world) : world(world) {}

  int64_t getRank() const override { return world.getRank(); }
  /// The process that fails ends all others.
  llvm::Error checkPeers() override { return llvm::Error::success(); }
  llvm::Expected<SmallVector<TensorValue>>
  exchange(const CollectiveCall &call,
           ArrayRef<TensorValue> toMembers) override;

private:
  int getPosition(int64_t rank) const {
    return llvm::find(world.world, rank) - world.world.begin();
  }
  /// Calls `isDone` until it is true; the error names whom `getWaited` tells.
  llvm::Error waitUntil(llvm::function_ref<bool()> isDone,
                        llvm::function_ref<std::string()> getWaited,
                        const CollectiveCall &call);
  llvm::Expected<std::string> receiveText(int64_t member,
                                          const CollectiveCall &call);
  llvm::Expected<TensorValue>
  receive(int64_t member, const CollectiveCall &call, Type elementType);

  MpiWorld &world;
};
} // namespace commute::runtime

llvm::Error MpiTransport::waitUntil(llvm::function_ref<bool()> isDone,
                                    llvm::function_ref<std::string()> getWaited,
                                    const CollectiveCall &call) {
  Clock::time_point deadline = Clock::now() + world.timeout;
  while (!isDone()) {
    if (Clock::now() > deadline)
      return llvm::createStringError("no answer from " + getWaited() +
                                     " within " + Twine(world.timeout.count()) +
                                     " s in " + call.describe());
    // Other ranks may be waiting for this core.
    std::this_thread::yield();
  }
  return llvm::Error::success();
}

llvm::Expected<std::string>
MpiTransport::receiveText(int64_t member, const CollectiveCall &call) {
  int source = getPosition(member);
  size_t numBytes = 0;
  auto getWaited = [&] { return "rank " + std::to_string(member); };
  if (llvm::Error error =
          waitUntil([&] { return world.module.probe(source, &numBytes); },
                    getWaited, call))
    return std::move(error);
  std::string text(numBytes, '\0');
  MpiRequest *request =
      world.module.startReceive(source, text.data(), numBytes);
  if (llvm::Error error = waitUntil(
          [&] { return world.module.finish(request); }, getWaited, call))
    return std::move(error);
  return text;
}

llvm::Expected<TensorValue> MpiTransport::receive(int64_t member,
                                                  const CollectiveCall &call,
                                                  Type elementType) {
  llvm::Expected<std::string> text = receiveText(member, call);
  if (!text)
    return text.takeError();
  Header header;
  if (!decode(*text, header))
    return llvm::createStringError(
        "rank " + Twine(member) +
        " sent what is no message of this version of Commute, in " +
        call.describe());
  if (!call.matches(header.call))
    return llvm::createStringError(
        describeMismatch(getRank(), call, member, header.call));
  if (!header.hasTensor)
    return TensorValue();
  if (header.element != std::to_string(int(*getElementKind(elementType))))
    return llvm::createStringError("rank " + Twine(member) +
                                   " sent elements of another type, in " +
                                   call.describe());
  if (llvm::Error error = checkMemory(header.sizes, elementType))
    return std::move(error);
  std::shared_ptr<Tensor> tensor = Tensor::allocate(header.sizes, elementType);
  if (tensor->getNumBytes() == 0)
    return tensor;
  int source = getPosition(member);
  size_t numBytes = 0;
  auto getWaited = [&] { return "rank " + std::to_string(member); };
  if (llvm::Error error =
          waitUntil([&] { return world.module.probe(source, &numBytes); },
                    getWaited, call))
    return std::move(error);
  if (numBytes != tensor->getNumBytes())
    return llvm::createStringError(
        "rank " + Twine(member) + " sent " + Twine(numBytes) + " bytes for " +
        Twine(tensor->getNumBytes()) + ", in " + call.describe());
  MpiRequest *request =
      world.module.startReceive(source, tensor->getMutableData(), numBytes);
  if (llvm::Error error = waitUntil(
          [&] { return world.module.finish(request); }, getWaited, call))
    return std::move(error);
  return tensor;
}

llvm::Expected<SmallVector<TensorValue>>
MpiTransport::exchange(const CollectiveCall &call,
                       ArrayRef<TensorValue> toMembers) {
  // All sends are under way before anything is waited for. What is sent lives
  // until they are done, or the process ends.
  std::vector<std::string> headers;
  headers.reserve(call.members.size());
  SmallVector<MpiRequest *> sends;
  Type elementType;
  for (auto [member, tensor] : llvm::zip_equal(call.members, toMembers)) {
    if (tensor)
      elementType = tensor->getElementType();
    if (member == getRank())
      continue;
    headers.push_back(encode(call, tensor));
    sends.push_back(world.module.startSend(
        getPosition(member), headers.back().data(), headers.back().size()));
    if (tensor && tensor->getNumBytes() > 0)
      sends.push_back(world.module.startSend(
          getPosition(member), tensor->getData(), tensor->getNumBytes()));
  }
  SmallVector<TensorValue> received;
  for (auto [member, own] : llvm::zip_equal(call.members, toMembers)) {
    if (member == getRank()) {
      received.push_back(own);
      continue;
    }
    llvm::Expected<TensorValue> tensor = receive(member, call, elementType);
    if (!tensor)
      return tensor.takeError();
    received.push_back(std::move(*tensor));
  }
  if (llvm::Error error = waitUntil(
          [&] {
            llvm::erase_if(sends, [&](MpiRequest *request) {
              return world.module.finish(request);
            });
            return sends.empty();
          },
          [] { return std::string("those who are sent to"); }, call))
    return std::move(error);
  return received;
}

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

std::optional<int64_t> MpiWorld::getStartedProcesses() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char *text = std::getenv(name)) {
      int64_t count = 0;
      // What mpirun writes is a number; join() asks MPI itself.
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
    return llvm::createStringError("started by mpirun, but the module for MPI "
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

  // The end is a collective as well: whoever is still waiting in another one
  // learns that this rank has finished.
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
