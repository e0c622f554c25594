#!/usr/bin/env bash
# Builds a wheel for every Python from 3.10 on that is installed here with its headers, and
# one with the command line alone that any Python from 3.8 on can install
# (docs/python.md, "Wheels"). ccache compiles what they share once. PYTHONS names the
# interpreters, separated by spaces, instead of those that are found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

candidates() {
  if [ -n "${PYTHONS:-}" ]; then
    tr ' ' '\n' <<<"$PYTHONS"
    return
  fi
  ls /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] /usr/local/bin/python3.[0-9][0-9] \
    "$HOME"/.pyenv/versions/3.*/bin/python3 2>/dev/null || true
}
# "3.11 yes", or "3.11 no" without headers.
describe() {
  "$1" -c 'import os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
print("%d.%d" % sys.version_info[:2], "yes" if os.path.exists(header) else "no")' 2>/dev/null
}

declare -A found tried
while IFS= read -r python; do
  read -r version has_headers < <(describe "$python") || continue
  minor=${version#3.}
  [ "$minor" -ge 8 ] && tried[$version]=${tried[$version]:-$python}
  [ "$minor" -ge 10 ] && [ "$has_headers" = yes ] && found[$version]=${found[$version]:-$python}
done < <(candidates)
[ ${#found[@]} -gt 0 ] || { echo "wheels: no Python from 3.10 on with headers is installed"; exit 1; }

all=build/wheel/all
rm -rf "$all" && mkdir -p "$all"
for version in $(printf '%s\n' "${!found[@]}" | sort -V); do
  COMMUTE_WHEEL_PYTHON=${found[$version]} build_tools/wheel.sh
  cp build/wheel/"$version"/repaired/*.whl "$all"
done
# The tool is the same in all of them.
/usr/bin/python3 build_tools/command_wheel.py "$(ls "$all"/*.whl | head -n 1)" "$all"
for version in $(printf '%s\n' "${!tried[@]}" | sort -V); do
  build_tools/try_wheel.sh "${tried[$version]}" "$all"/commute-*-py3-none-*.whl
done
ls -sh "$all"
