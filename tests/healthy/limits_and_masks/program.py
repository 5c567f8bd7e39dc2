"""The job's limits, umask, nice value, ignored signals, affinity and descriptors are the caller's."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os, resource, signal
print(oct(os.umask(0)), os.nice(0), sorted(os.sched_getaffinity(0)) == sorted(os.sched_getaffinity(os.getppid())))
for name in ("CORE", "NOFILE", "STACK", "CPU", "AS"): print(name, resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
for name in ("USR1", "PIPE", "CHLD", "HUP", "TTOU"): print(name, signal.getsignal(getattr(signal, "SIG" + name)))
""")
    return bench.around(r'''
trap '' USR1 PIPE
ulimit -c 0 -n 777 -s 9000
umask 027
nice -n 3 $SL python job.py
echo $?
(ulimit -f 100; $SL sh -c 'head -c 1000000 /dev/zero | tr "\0" x; exit 3' | wc -c)
(ulimit -t 2; $SL sh -c 'while :; do :; done'; echo $?) 2>/dev/null
(ulimit -s 256; $SL sh -c 'echo stack'; echo $?)
''')
