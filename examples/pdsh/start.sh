#!/bin/sh
# Starts one safelaunch on each host, which spawns the ranks there: start.sh HOST[,HOST…] SCRIPT [ARGUMENT…]
# The first host is node 0. Needs pdsh, a folder that all hosts see, and ~/.config/safelaunch/token alike on all.
set -eu
hosts=$1
shift
head=${hosts%%,*}
nodes=$(printf %s "$hosts" | tr , '\n' | grep -c .)
# With -R exec pdsh puts each host's name and its place in the list where %h and %n stand.
exec pdsh -R exec -w "$hosts" ssh -n %h \
  "cd '$PWD' && exec safelaunch --nnodes $nodes --node-rank %n --master-addr $head --nproc-per-node gpu python $*"
