"""Programs open /dev/stdout, /dev/stderr and their descriptors in /proc anew."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    return bench.around(r'''
$SL sh -c 'echo a > /dev/stdout; echo b >> /dev/stderr; echo c | tee /dev/stderr
        echo d > /proc/self/fd/2; cat /proc/self/fd/0 </dev/null; exit 5' 2>&1 | sort
echo ${PIPESTATUS[0]}
echo hello | $SL sh -c 'cat /dev/stdin'
echo $?
''')
