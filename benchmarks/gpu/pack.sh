#!/usr/bin/env bash
# Builds commute._commute for the Python of the machine with the GPU, and packs it with the
# libraries that it needs into build/gpu/carried, an ignored folder of a few MiB that
# travels with the working tree:
#
#   benchmarks/gpu/pack.sh                      # from build/dist, which it builds, for Python 3.12
#   BUILD=build/release benchmarks/gpu/pack.sh  # from a build tree that is there
#   PYTHONS="python3.12 python3.13" benchmarks/gpu/pack.sh
#
# Commute's libraries do not depend on Python, so only the module itself is compiled anew:
# a minute on two cores. What is packed runs on x86-64 Linux with the glibc of this machine
# or a newer one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-build/dist}
carried=build/gpu/carried

stage() { build_tools/stage.sh "[gpu] $1" "build/logs/gpu-$2.log" "${@:3}"; }

# The interpreter of a version, also where pyenv keeps it.
find_python() {
  local found
  for found in "$1" "$HOME"/.pyenv/versions/"${1#python}".*/bin/"$1"; do
    found=$(command -v "$found" 2>/dev/null) || continue
    if "$found" -c '' 2>/dev/null; then
      "$found" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  echo "pack.sh: error: no $1 with its headers; name the interpreters in PYTHONS" >&2
  return 1
}

mkdir -p build/logs "$carried"
[ -e "$build/build.ninja" ] || stage "configuring $build" configure cmake --preset "$(basename "$build")"
stage "building $build" build cmake --build "$build"
rm -rf build/gpu/prefix
stage "installing Commute's libraries" install cmake --install "$build" --prefix build/gpu/prefix

rm -f "$carried"/*.tar.gz
for version in ${PYTHONS:-python3.12}; do
  python=$(find_python "$version")
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  environment=build/gpu/environment-$tag objects=build/gpu/module-$tag
  [ -x "$environment/bin/python" ] || {
    stage "making an environment for $version" "environment-$tag" "$python" -m venv "$environment"
    stage "installing nanobind" "nanobind-$tag" "$environment/bin/pip" install \
      "$(grep '^nanobind==' build_tools/python-requirements.txt)"
  }
  stage "configuring the module for $version" "configure-$tag" cmake -G Ninja \
    -S benchmarks/gpu/module -B "$objects" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_PREFIX_PATH="$PWD/build/gpu/prefix" -DPython_EXECUTABLE="$PWD/$environment/bin/python"
  stage "building the module for $version" "build-$tag" cmake --build "$objects" --target _commute

  # The module, its libraries other than those of every Linux, and where they come from.
  packed=build/gpu/packed-$tag
  rm -rf "$packed" && mkdir -p "$packed/libraries"
  cp "$objects"/python/commute/_commute.*.so "$packed/"
  strip "$packed"/_commute.*.so
  ldd "$packed"/_commute.*.so | awk '$2 == "=>" { print $3 }' |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' |
    xargs -I{} cp -L {} "$packed/libraries/"
  printf '%s, from %s\n' "$(git describe --always --dirty)" "$build" >"$packed/packed.txt"
  tar -C "$packed" -czf "$carried/commute-$tag.tar.gz" .
done
du -h "$carried"/*.tar.gz
tree=$(git ls-files -z --cached --others --exclude-standard | du -cb --files0-from=- | tail -1 | cut -f1)
all=$((tree + $(du -cb "$carried"/*.tar.gz | tail -1 | cut -f1)))
echo "[gpu] with the working tree, $((all >> 20)) MiB travel; the limit of a lent machine is 64 MiB"
[ $((all >> 20)) -lt 64 ]
