"""make -j2 starts two jobs, with its jobserver, and a make inside."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
printf 'all: a b c\na b:\n\t@echo $@; python -c pass\nc:\n\t@$(MAKE) -f inner --no-print-directory\n' > Makefile
printf 'all: d e\nd e:\n\t@echo $@\n' > inner
$SL make -j2
echo $?
printf 'all:\n\t@$(SL) sh -c "echo a rule"\n' > rule
make -f rule
''')
