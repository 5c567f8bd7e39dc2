"""A shell with job control starts, stops and continues its jobs, and waits for them."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
$SL bash -c '
sh -c "kill -STOP \$\$; echo went on; exit 3" & job=$!
until [ "$(cut -d" " -f3 /proc/$job/stat)" = T ]; do sleep 0.02; done
kill -CONT $job
wait $job
echo $?
set -m
sleep 300 &
kill $!
wait
echo waited' 2>/dev/null
echo $?
''')
