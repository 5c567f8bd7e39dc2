"""A parent drives the job over pipes, request by answer, without newlines, as a debugger's interface does."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    bench.script("""
import subprocess, sys
job = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
for i in range(20):
    job.stdin.write(b"q%d\\n" % i)
    got = b""
    while not got.endswith(b"> "): got += job.stdout.read(1)
    assert (got, job.stderr.read(2)) == (b"a%d> " % i, b"e%d" % (i % 10)), got
job.stdin.close()
print("rest", job.stdout.read(), job.wait())
""", "drive.py")
    bench.script("""
import sys
for line in sys.stdin:
    number = int(line[1:])
    sys.stdout.write(f"a{number}> ")
    sys.stdout.flush()
    sys.stderr.write(f"e{number % 10}")
    sys.stderr.flush()
sys.stdout.write("bye")
sys.exit(4)
""")
    return bench.around(r'''
python drive.py $SL python job.py
echo $?
''')
