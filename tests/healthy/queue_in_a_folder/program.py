"""Three workers share a folder of tasks: each takes one by renaming it, until none is left."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os, sys
while names := [name for name in os.listdir("tasks") if name.isdigit()]:
    try: os.rename("tasks/" + names[0], f"tasks/taken-{names[0]}")
    except FileNotFoundError: continue
    sys.stdout.write(f"task {names[0]}\n")
""")
    return bench.around(r'''
mkdir tasks
for i in $(seq 12); do echo $i > tasks/$i; done
$SL bash -c 'for i in 1 2 3; do python job.py $i & done; wait' | sort -n
''')
