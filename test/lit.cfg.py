"""Configuration of Commute's lit tests."""

import os
import sys

import lit.formats

config.name = "Commute"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["fixtures", "Inputs"]
config.environment["PATH"] = os.pathsep.join(
    [config.commute_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
# Variables of one FileCheck block must not leak into the next.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
config.substitutions.append(("%fixtures", os.path.join(config.test_source_root, "fixtures")))
config.substitutions.append(("%python", sys.executable))
