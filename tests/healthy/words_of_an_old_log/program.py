"""The job shows the last words of an earlier run's log, and ends with a status of its own."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
printf 'subprocess.CalledProcessError: Command returned non-zero exit status 128\nexits with return code = 77\n' > old.log
printf 'NCCL error: unhandled system error\nRuntimeError: Connection refused\n  exitcode  : 78 (pid: 77)\n' >> old.log
$SL sh -c 'tail old.log; exit 3'; echo $?
$SL sh -c 'tail old.log >&2; exit 4' 2>/dev/null; echo $?
$SL sh -c 'tail old.log; kill -9 $$' 2>/dev/null; echo $?
''')
