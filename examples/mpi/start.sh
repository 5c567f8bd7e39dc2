#!/bin/sh
# Starts one safelaunch on each host of Open MPI's hostfile, which spawns the ranks there: start.sh HOSTFILE SCRIPT [ARGUMENT…]
# Each agent finds its number, and how many there are, in mpirun's variables. The first host is node 0.
set -eu
hosts=$1
shift
head=$(awk '!/^#/ && NF { print $1; exit }' "$hosts")
nodes=$(awk '!/^#/ && NF { n++ } END { print n }' "$hosts")
exec mpirun --hostfile "$hosts" -np "$nodes" --map-by ppr:1:node --bind-to none \
  safelaunch --master-addr "$head" --nproc-per-node gpu python "$@"
