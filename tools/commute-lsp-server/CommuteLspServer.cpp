//===- CommuteLspServer.cpp - editor support for .mlir files ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// MLIR's server does the work. It has no hook for what a hover says and writes
// to standard output itself; so standard output becomes a pipe, and a thread
// forwards what comes through it.
//
//===----------------------------------------------------------------------===//

#include "HoverFilter.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

#include "llvm/Support/Error.h"
#include <thread>
#include <unistd.h>

namespace {
/// Runs MLIR's server; returns the exit code of the process.
int serve(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<commute::tp::TPDialect, mlir::func::FuncDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
} // namespace

int main(int argc, char **argv) {
  // These print text, not messages, and end the process.
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front())
    if (argument.contains("-help") || argument.contains("-version"))
      return serve(argc, argv);

  int pipeEnds[2];
  int editor = dup(STDOUT_FILENO);
  if (editor < 0 || pipe(pipeEnds) != 0 ||
      dup2(pipeEnds[1], STDOUT_FILENO) < 0) {
    llvm::errs() << "commute-lsp-server: cannot redirect standard output: "
                 << llvm::errnoAsErrorCode().message() << "\n";
    return 1;
  }
  close(pipeEnds[1]);
  std::FILE *server = fdopen(pipeEnds[0], "r");
  std::thread forwarder([server, editor] {
    llvm::raw_fd_ostream stream(editor, /*shouldClose=*/true);
    commute::forwardMessages(server, stream);
  });
  int code = serve(argc, argv);
  // The thread ends when nobody can write to the pipe any more.
  llvm::outs().flush();
  close(STDOUT_FILENO);
  forwarder.join();
  std::fclose(server);
  return code;
}
