#!/bin/sh
# Exit code 1 for mlir-reduce: interesting.
! commute-opt "$1" 2>/dev/null | grep -q tp.all_gather
