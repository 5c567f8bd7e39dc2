"""joblib's workers (loky) do the work of rank 0, which only waits for them."""
NEEDS = ["joblib"]


def command(bench):
    return bench.train("""
if RANK == 0:
    late(0)
    import joblib
    def burn(number):
        end = time.monotonic() + 11
        while time.monotonic() < end: sum(range(10000))
        return number
    say(str(joblib.Parallel(n_jobs=2)(joblib.delayed(burn)(number) for number in range(2))))
""")
