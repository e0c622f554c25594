#!/usr/bin/env bash
# Runs the programs of Commute that need a GPU, within 6 minutes:
#
#   benchmarks/gpu/run.sh                # on a GPU; with small sizes on a machine without one
#   benchmarks/gpu/run.sh --cpu          # with small sizes on the CPU, though there is a GPU
#   benchmarks/gpu/run.sh layers-2:own_slices.float32,own_rows.float32 operators:launches
#                                        # these parts, or some of what they measure
#
# OUT              the folder of the results (default: build/gpu/results)
# PYTHON           the interpreter (default: python3); it needs PyTorch 2.10 or newer
# COMMUTE_BUILD    the build tree with the module, such as build/release; otherwise the
#                  module comes from build/gpu/carried, where pack.sh puts it
# TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR   as for PyTorch (default: new folders)
# SECONDS_IN_ALL   when to stop (default: 350, or 3600 on a CPU)
#
# Each part has a time limit and a JSON file of its own, written as it goes, and none needs
# another. OUT/DEVICE.json joins them, and OUT/log.txt has what they print. The status is 0 if
# all parts have ended and no value is wrong.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
out=${OUT:-$repository/build/gpu/results}
python=${PYTHON:-python3}
if [ "${1:-}" = --cpu ]; then
  export CUDA_VISIBLE_DEVICES=
  shift
fi
# Each part's limit in seconds, in the order of importance.
declare -A limits=([machine]=40 [layers-2]=130 [operators]=100 [layers-4]=70 [compile]=80)
[ $# -gt 0 ] || set -- layers-2 operators layers-4 compile
parts=(machine "$@") # which gives the results their name
for part in "${parts[@]}"; do
  [ -n "${limits[${part%%:*}]:-}" ] || { echo "run.sh: there is no part ${part%%:*}" >&2; exit 2; }
done
if [ "${CUDA_VISIBLE_DEVICES-0}" != "" ] &&
  { [ -e /dev/nvidia0 ] || [[ $(nvidia-smi -L 2>/dev/null) == *GPU* ]]; }; then
  slowness=1 seconds_in_all=350
else
  slowness=10 seconds_in_all=3600
fi
end=$((SECONDS + ${SECONDS_IN_ALL:-$seconds_in_all}))
mkdir -p "$out"
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
mkdir "$temporary/parts"
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$temporary/inductor}
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$temporary/triton}

if [ -n "${COMMUTE_BUILD:-}" ]; then
  [[ $COMMUTE_BUILD = /* ]] || COMMUTE_BUILD=$repository/$COMMUTE_BUILD
  export PYTHONPATH=$COMMUTE_BUILD/python${PYTHONPATH:+:$PYTHONPATH}
else
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  packed=$repository/build/gpu/carried/commute-$tag.tar.gz
  if [ -e "$packed" ]; then
    mkdir -p "$temporary/site"
    cp -r "$repository/python/commute" "$temporary/site/"
    tar -C "$temporary/site/commute" -xzf "$packed"
    export PYTHONPATH=$temporary/site${PYTHONPATH:+:$PYTHONPATH}
  else
    echo "run.sh: no $packed; make it with benchmarks/gpu/pack.sh, or set COMMUTE_BUILD" >&2
  fi
fi

run_part() { # NAME COMMAND...
  local name=$1 begin=$SECONDS left=$((end - SECONDS)) limit=$((limits[$1] * slowness)) status=0
  shift
  if [ "$left" -lt 10 ]; then
    echo "not run, the time is up" >"$temporary/$name.end"
  else
    [ "$limit" -le "$left" ] || limit=$left
    echo "[gpu] $name: at most $limit s"
    timeout --kill-after=5 "$limit" "$@" "$temporary/parts/$name.json" \
      "${items[@]}" >"$temporary/$name.log" 2>&1 || status=$?
    case $status in
      0) echo "done" ;;
      124 | 137) echo "stopped after $limit s" ;;
      *) echo "failed with status $status"; tail -n 20 "$temporary/$name.log" ;;
    esac >"$temporary/$name.end"
    { echo "=== $name"; cat "$temporary/$name.log"; } >>"$out/log.txt"
  fi
  echo "[gpu] $name: $(head -n 1 "$temporary/$name.end") ($((SECONDS - begin)) s)"
  # What is there so far is kept if run.sh itself is stopped.
  results=$("$python" "$here/summary.py" join "$temporary" "$out" "${parts[@]%%:*}")
}

: >"$out/log.txt"
for part in "${parts[@]}"; do
  name=${part%%:*} items=()
  [ "$part" = "$name" ] || IFS=, read -r -a items <<<"${part#*:}"
  case $name in
    machine) run_part machine "$python" "$here/measuring.py" ;;
    layers-*) run_part "$name" "$python" "$here/parallel_layers.py" "--ranks=${name#layers-}" ;;
    operators) run_part operators "$python" "$here/operator_times.py" ;;
    compile) run_part compile "$python" "$here/compile_times.py" ;;
  esac
done
"$python" "$here/summary.py" show "$results"
