#!/bin/bash
# ranks.sh PROGRAM [MPIEXEC MPI_PROGRAM]: lesson 6 as threads, as processes under torchrun's variables, and under mpirun logs the same
# losses, bit for bit; Ctrl-C on one rank ends all, saved; and a program that was told half of what it needs does not train alone.
set -u
program=$1 mpiexec=${2:-} with_mpi=${3:-}
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }
losses() { grep -o '"\(validation_\)\?loss":[^,}]*' "$1"; }

# processes RANKS ARGUMENTS...: as torchrun starts them; out.R, err.R and code.R of each rank R
processes() {
  local ranks=$1 port=$((20000 + RANDOM % 12000)) r
  shift
  for ((r = 0; r < ranks; ++r)); do
    (RANK=$r WORLD_SIZE=$ranks LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$program" "$@" > "out.$r" 2> "err.$r"; echo $? > "code.$r") &
  done
  wait
}
short=(--threads 1 --steps 6 --validate-every 3)

# ---- the same losses, however the ranks were started
for ranks in 2 4; do
  "$program" --ranks $ranks "${short[@]}" --log threads > out 2> err || wrong "threads: $(cat err)"
  [ "$(losses threads | wc -l)" -ge 9 ] || wrong "threads: too few losses in $(cat threads)"
  grep -q "one of $ranks ranks" out || wrong "threads: no plan of a rank: $(cat out)"
  processes $ranks "${short[@]}" --log tcp --log-of all
  for ((r = 0; r < ranks; ++r)); do
    [ "$(cat code.$r)" = 0 ] || wrong "process $r: $(cat code.$r), $(cat err.$r)"
    log=tcp; [ $r -eq 0 ] || log=tcp.$r
    diff <(losses threads) <(losses $log) || wrong "rank $r of $ranks processes logs other losses than threads"
    if [ $r -gt 0 ] && [ -n "$(cat out.$r err.$r)" ]; then wrong "rank $r speaks: $(cat out.$r err.$r)"; fi
  done
  rm -f tcp* threads
done
if [ -n "$with_mpi" ]; then   # MPI itself leaks at its end
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  "$program" --ranks 4 "${short[@]}" --log threads > out 2> err || wrong "threads: $(cat err)"
  ASAN_OPTIONS=detect_leaks=0 "$mpiexec" -n 4 "$with_mpi" "${short[@]}" --log mpi > out 2> err || wrong "mpirun: $(cat err)"
  diff <(losses threads) <(losses mpi) || wrong "ranks of MPI log other losses than threads"
fi

# ---- Ctrl-C reaches one rank of two: both end with 130, the state is whole, and a run that goes on ends as one that was not stopped
whole=(--threads 1 --steps 40 --validate-every 0)
"$program" --ranks 2 "${whole[@]}" --log whole > out 2> err || wrong "threads: $(cat err)"
port=$((20000 + RANDOM % 12000))
for r in 1 0; do
  RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$program" "${whole[@]}" --log cut --save state > out.$r 2> err.$r &
  ids[$r]=$!
done
touch cut
until [ "$(wc -l < cut)" -ge 4 ] || ! kill -0 "${ids[0]}" 2> /dev/null; do sleep 0.02; done
kill -INT "${ids[1]}"
for r in 0 1; do
  wait "${ids[$r]}"
  code=$?
  [ $code -eq 130 ] || wrong "Ctrl-C on rank 1: rank $r ended with $code, $(cat err.$r)"
done
grep -q '"interrupted":true' cut || wrong "the log does not say that the run was interrupted: $(tail -n 1 cut)"
processes 2 "${whole[@]}" --log cut --resume state
[ "$(cat code.0)$(cat code.1)" = 00 ] || wrong "resumed: $(cat err.0 err.1)"
steps() { sed -n 's/^{"event":"step","step":\([0-9]*\),\("loss":[^,]*\),.*/\1 \2/p' "$1"; }
diff <(steps whole) <(steps cut) || wrong "a run that was stopped and resumed logs other losses"

# ---- what goes wrong on one rank, or in the environment
"$program" --ranks 2 --steps 2 --save /proc/none > out 2> err
code=$?
[ $code -eq 1 ] && grep -q 'rank 0 failed: --save /proc/none' err || wrong "a folder that cannot be: $code, $(cat err)"
processes 2 --steps 2 --save /proc/none
[ "$(cat code.0)$(cat code.1)" = 11 ] && grep -q 'rank 0 failed: --save /proc/none' err.1 || wrong "the same, processes: $(cat code.* err.*)"
refused() { # WORDS VARIABLES...: without training
  local words=$1 said code
  shift
  said=$(env "$@" "$program" --steps 1 2>&1)
  code=$?
  [ $code -eq 1 ] && [[ $said == *"$words"* && $said != *"step "* ]] || wrong "$*: expected 1 and '$words', found $code, $said"
}
refused 'RANK and WORLD_SIZE together' RANK=1
refused 'RANK below WORLD_SIZE' RANK=2 WORLD_SIZE=2
refused 'MASTER_ADDR and MASTER_PORT' RANK=0 WORLD_SIZE=2
refused 'a whole number' RANK=first WORLD_SIZE=2
refused 'two that agree' RANK=0 WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=2345
refused 'MASTER_ADDR' OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2
for arguments in '--ranks 0' '--log-of some'; do
  "$program" $arguments > out 2> err
  code=$?
  [ $code -eq 2 ] && [ ! -s out ] || wrong "$arguments: $code, $(cat out err)"
done
exit $failed
