#!/bin/bash
# ranks.sh PROGRAM [MPIEXEC]: threads, processes under torchrun's variables, and ranks of MPI train the same; a program that was
# told half of what it needs does not train alone.
set -u
program=$1 mpiexec=${2:-}
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive REGIMEN_PORT=$((20000 + RANDOM % 20000))
loss() { sed -n 's/^trained .* 4 ranks .*loss //p'; }
failed=0

threads=$("$program" | loss)
[ -n "$threads" ] || { echo "threads: no loss"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for rank in 0 1 2 3; do
  RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$REGIMEN_PORT "$program" > "$work/$rank" 2> "$work/$rank.error" &
done
wait
processes=$(loss < "$work/0")
[ "$processes" = "$threads" ] || { echo "processes: '$processes', threads: '$threads'"; cat "$work"/*; failed=1; }

if [ -n "$mpiexec" ]; then
  mpi=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none \
    "$mpiexec" -n 4 "$program" | loss)
  [ "$mpi" = "$threads" ] || { echo "MPI: '$mpi', threads: '$threads'"; failed=1; }
fi

said=$(RANK=1 "$program" 2>&1)
status=$?
[ $status -eq 1 ] && grep -q 'RANK and WORLD_SIZE together' <<< "$said" || { echo "half an environment: $status, $said"; failed=1; }
exit $failed
