#!/usr/bin/env bash
# Installs what Commute is built and tested with, on Debian 12 (bookworm): the
# packages of build_tools/apt-packages.txt and a Python environment in .venv
# with the packages of build_tools/python-requirements.txt. Does nothing,
# quickly, when both are already there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '[setup] %s\n' "$*"; }
# stage TITLE NAME COMMAND...: one line; the output goes to build/logs/NAME.log.
stage() { build_tools/stage.sh "[setup] $1" "build/logs/$2.log" "${@:3}"; }

# --- Debian packages ---------------------------------------------------------
mapfile -t packages < <(sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' build_tools/apt-packages.txt)
missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { say "error: installing packages needs root or sudo"; exit 1; }
    as_root=(sudo)
    sudo -v  # asks for the password before the output goes to a log
  fi
  stage "updating Debian's package lists" apt-update "${as_root[@]}" apt-get update -q
  stage "installing ${#missing[@]} Debian packages" apt-install \
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
else
  say "all ${#packages[@]} Debian packages are installed"
fi

# --- Python environment ------------------------------------------------------
# PyTorch serves the boundary tests, the examples and the demo only; the tools
# themselves neither need it nor link it.
stamp=.venv/commute-requirements.sha256
wanted=$(sha256sum build_tools/python-requirements.txt | cut -d' ' -f1)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  say "the Python environment .venv is up to date"
else
  [ -x .venv/bin/python ] || stage "making the Python environment .venv" venv /usr/bin/python3 -m venv .venv
  # torch==2.13.0 by exact version: a range would take the CUDA build.
  stage "installing Python packages" pip \
    .venv/bin/python -m pip install --requirement build_tools/python-requirements.txt
  printf '%s\n' "$wanted" >"$stamp"
fi
