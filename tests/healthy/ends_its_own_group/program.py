"""Launch scripts end their process group, or all their jobs, when they exit.

Not by `jobs -p`: bash finds no job there once in two hundred times on a busy machine.
"""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
setsid -w $SL bash -c 'trap "kill 0" EXIT; sleep 300 & echo done'; echo $?
setsid -w $SL bash -c 'trap "trap - TERM; kill -- -\$\$" EXIT; sleep 301 & echo done; exit 7'; echo $?
setsid -w $SL bash -c 'sleep 302 & trap "kill $!" EXIT; echo done; exit 7'; echo $?
''')
