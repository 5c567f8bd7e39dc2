"""The command ends with each kind of status, and by signals."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
for status in 1 2 3 7 64 75 78 124 125 126 127 130 137 143 255; do
  $SL sh -c "exit $status"
  echo $status $?
done
for name in TERM SEGV KILL INT HUP USR1 ALRM; do
  $SL sh -c "kill -$name "'$$' 2>/dev/null
  echo $name $?
done 2>/dev/null
''')
