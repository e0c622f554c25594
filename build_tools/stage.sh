#!/usr/bin/env bash
# stage.sh TITLE LOG COMMAND...: runs a command and prints one line, with the time that
# it took. What the command prints goes to the file LOG, which is shown if it fails.
set -u
title=$1 log=$2
shift 2
mkdir -p "$(dirname "$log")"
started=$SECONDS

"$@" >"$log" 2>&1 </dev/null &
pid=$!
# A shell without job control starts background commands immune to Ctrl-C.
trap 'kill "$pid" 2>/dev/null; printf "\n"; exit 130' INT TERM

if [ -t 1 ]; then
  columns=$(tput cols 2>/dev/null || echo 80)
  while kill -0 "$pid" 2>/dev/null; do
    progress=$(tail -c 400 "$log" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 |
      tr -cd '[:print:]')
    line="$title (log in $log) $((SECONDS - started)) s  $progress"
    printf '\r\033[K%s' "${line:0:columns-1}"
    sleep 0.5
  done
  printf '\r\033[K'
fi
wait "$pid"
status=$?
if [ "$status" -eq 0 ]; then
  printf '%s: %d s\n' "$title" "$((SECONDS - started))"
  exit 0
fi
printf '%s: failed after %d s; the end of %s:\n' "$title" "$((SECONDS - started))" "$log"
tail -n 200 "$log"
exit "$status"
