"""stdin is closed by the caller; three other descriptors are open, and the job uses them."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
echo seven > seven
exec 7<seven 8>eight 9<>nine
$SL sh -c 'cat <&7; echo eight >&8; echo nine >&9; [ -e /proc/self/fd/0 ] && echo open || echo closed' <&-
echo $?
cat eight nine
''')
