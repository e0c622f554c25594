//===- RespellMain.cpp - writes every node of an archive anew -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// respell IN.pt2 OUT.pt2: for python/tests/test_spelling.py, which runs both in
// PyTorch. Prints how many nodes were written anew. `respell --operators` lists
// the operators that the vocabulary reads.
//
//===----------------------------------------------------------------------===//

#include "Respelling.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;

static llvm::Error respell(llvm::StringRef from, llvm::StringRef to) {
  auto archive = archive::readProgramArchive(from);
  if (!archive)
    return archive.takeError();
  vocabulary::DistributedContext distributed;
  if ((*archive)->sidecar) {
    auto sidecar = vocabulary::parseSidecar(*(*archive)->sidecar, from);
    if (!sidecar)
      return sidecar.takeError();
    distributed = std::move(*sidecar);
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  vocabulary::Vocabulary vocabulary;
  archive::Program &program = *(*archive)->program;
  auto imported =
      vocabulary::importProgram(program, vocabulary, distributed, &context);
  if (!imported)
    return imported.takeError();
  size_t numForgotten = test::forgetNodes(*imported);
  auto edits = vocabulary::exportProgram(*imported->module, *imported, program,
                                         vocabulary);
  if (!edits)
    return edits.takeError();
  llvm::outs() << numForgotten << " of " << program.graph.nodes.size()
               << " nodes written anew\n";
  return archive::writeProgramArchive(**archive, to, edits->apply(program));
}

int main(int argc, char **argv) {
  if (argc == 2 && llvm::StringRef(argv[1]) == "--operators") {
    vocabulary::Vocabulary vocabulary;
    for (llvm::StringRef target : vocabulary.getReadTargets())
      llvm::outs() << target << "\n";
    return 0;
  }
  if (argc != 3) {
    llvm::errs() << "usage: respell IN.pt2 OUT.pt2\n"
                    "       respell --operators   lists those that are read\n";
    return 2;
  }
  if (llvm::Error error = respell(argv[1], argv[2])) {
    llvm::errs() << "respell: " << llvm::toString(std::move(error)) << "\n";
    return 2;
  }
  return 0;
}
