"""Scripts without a first line or without the right to execute, a folder, a missing file, a missing interpreter, a relative PATH."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
printf 'echo no first line $1\n' > plain
chmod +x plain
echo 'echo x' > unexecutable
mkdir folder bin
printf '#!/nonexistent/python\n' > interpreter
chmod +x interpreter
printf '#!/bin/sh\necho relative\n' > bin/tool
chmod +x bin/tool
printf '#!/usr/bin/env -S python -u\nimport sys; print("env -S", sys.argv[1:])\n' > words
chmod +x words
$SL ./plain a; echo $?
$SL ./unexecutable 2>/dev/null; echo $?
$SL ./folder 2>/dev/null; echo $?
$SL ./missing 2>/dev/null; echo $?
$SL ./interpreter 2>/dev/null; echo $?
PATH=bin:$PATH $SL tool; echo $?
(cd bin; PATH=:$PATH $SL tool; echo $?)
$SL ./words 1 2; echo $?
''')
