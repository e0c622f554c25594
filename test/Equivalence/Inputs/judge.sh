#!/bin/sh
# Verifies all pairs of a folder, both ways round: NAME.equal*.mlir computes what
# NAME.mlir does, NAME.wrong*.mlir does not, and of NAME.unknown*.mlir nobody knows.
# Prints verdicts that are others.
# Further arguments are options of `commute verify`.
cd "$1" || exit 2
shift
status=0
for other in *.equal*.mlir *.wrong*.mlir *.unknown*.mlir; do
  case $other in
  \*.*) continue ;;
  *.equal*) expected=0 ;;
  *.wrong*) expected=1 ;;
  *.unknown*) expected=4 ;;
  esac
  base=${other%%.*}.mlir
  for pair in "$base $other" "$other $base"; do
    commute verify $pair "$@" >report 2>&1
    code=$?
    if [ $code -ne $expected ]; then
      echo "$pair: exit code $code instead of $expected"
      cat report
      status=1
    fi
  done
done
exit $status
