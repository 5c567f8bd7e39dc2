"""A script under safelaunch uses safelaunch for each of its launches, twice below each other."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
$SL bash -c '$SL sh -c "echo one" && $SL sh -c "$SL echo two; exit 5"'
echo $?
$SL bash -c '$SL sh -c "exit 3" || $SL sh -c "echo on"'
echo $?
''')
