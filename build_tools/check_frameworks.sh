#!/usr/bin/env bash
# Verifies models of frameworks in an environment of its own, build/frameworks, which has the
# packages of .venv as well:
#
#   build_tools/check_frameworks.sh build/release [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: check_frameworks.sh BUILD [NAME...]}
shift
environment=build/frameworks
stamp=$environment/ready
if ! cmp -s frameworks/requirements.txt "$stamp"; then
  .venv/bin/python -m venv --clear "$environment"
  site=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/venv.pth"
  # Their dependencies are PyTorch, which is there, and what verification does not need.
  build_tools/stage.sh "[test] installing frameworks" build/logs/frameworks.log \
    "$environment/bin/python" -m pip install --no-deps --requirement frameworks/requirements.txt
  cp frameworks/requirements.txt "$stamp"
fi
OMP_NUM_THREADS=1 PYTHONPATH=$build/python "$environment/bin/python" frameworks/run.py "$@"
