#!/usr/bin/env bash
# Tests the Python package with other versions of PyTorch than that of .venv, each in an
# environment of its own under build/torch:
#
#   build_tools/check_torch_versions.sh build/release            # those of torch-versions.txt
#   build_tools/check_torch_versions.sh build/release 2.10.0     # this one
#
# "newest" is the newest one that pip installs here; constraints of its configuration may
# leave out newer ones of the package index. A version takes up to 7 GB, because the
# builds on the index are for GPUs; set PIP_EXTRA_INDEX_URL to an index with CPU builds to
# take less. KEEP=1 keeps the environments.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: check_torch_versions.sh BUILD [VERSION...]}
shift
versions=("$@")
if [ ${#versions[@]} -eq 0 ]; then
  mapfile -t versions < <(grep -v '^#' build_tools/torch-versions.txt)
fi

# Archives and live graphs, all hooks of torch.compile, and capture.
tests=(
  test_programs
  test_live_programs
  test_live_graph
  test_live_context
  test_live_hooks
  test_drop_ins
  test_fusion_option
  test_torch_compile
  test_capture
)
files=()
for test in "${tests[@]}"; do
  files+=("python/tests/$test.py")
done

for version in "${versions[@]}"; do
  if [ "$version" = newest ]; then
    version=$(.venv/bin/python -m pip install --dry-run --no-deps --ignore-installed torch |
      sed -n 's/^Would install torch-//p')
    # It may be one of the others.
    if [[ " ${versions[*]} " == *" $version "* ]]; then
      continue
    fi
  fi
  environment=build/torch/$version
  # The environment has the Python that the C++ module is built for.
  if [ ! -e "$environment/ready" ]; then
    .venv/bin/python -m venv --clear "$environment"
    build_tools/stage.sh "[test] installing PyTorch $version" "build/logs/torch-$version.log" \
      "$environment/bin/python" -m pip install "torch==$version" \
      $(grep -E '^(numpy|pytest)==' build_tools/python-requirements.txt)
    touch "$environment/ready"
  fi
  echo "[test] tests with PyTorch $version"
  COMMUTE_BUILD=$build OMP_NUM_THREADS=1 "$environment/bin/python" -m pytest -q \
    -p no:cacheprovider "${files[@]}" 2>&1 | sed 's/^/  /'
  if [ -z "${KEEP:-}" ]; then
    rm -rf "$environment"
  fi
done
