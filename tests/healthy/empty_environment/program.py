"""env -i: no HOME, no TERM, no USER, hardly a PATH."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
bench="XDG_STATE_HOME=$XDG_STATE_HOME SAFELAUNCH_TEST_MARK=$SAFELAUNCH_TEST_MARK"
env -i $bench $SL /bin/sh -c 'echo $HOME$TERM$USER; exit 6'
echo $?
env -i $bench PATH=/usr/bin:/bin $SL sh -c 'env | grep -c ^SAFELAUNCH_TEST; exit 5'
echo $?
''')
