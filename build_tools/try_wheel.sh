#!/usr/bin/env bash
# try_wheel.sh PYTHON WHEEL: installs a wheel into a fresh environment of a Python and
# optimizes an archive with its command; as root, on a view of the file system without LLVM
# and the other libraries that only this machine has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1 wheel=$2
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
folder=build/wheel/try-$version

stage() { build_tools/stage.sh "[wheel] Python $version: $1" "build/logs/wheel-$version-$2.log" "${@:3}"; }

rm -rf "$folder"
stage "installing $(basename "$wheel") into a fresh environment" install bash -c \
  "'$python' -m venv $folder && $folder/bin/pip install --no-deps --no-index '$wheel'"
hide='mount --make-rprivate / && mount -t tmpfs none /usr/lib/llvm-22 &&
  for library in LLVM zip dnnl OpenCL z3 zstd; do
    for file in /usr/lib/x86_64-linux-gnu/lib$library.so.*; do
      if [ -f "$file" ] && [ ! -L "$file" ]; then mount --bind /dev/null "$file"; fi
    done
  done'
try="$folder/bin/commute opt test/fixtures/llama_model_tp2.pt2 -o $folder/optimized.pt2 --policy=always"
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  stage "optimizing an archive without LLVM" try unshare --mount bash -c "$hide && $try"
else
  stage "optimizing an archive" try bash -c "$try"
fi
