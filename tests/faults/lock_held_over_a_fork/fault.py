"""A thread of rank 1 holds a lock while it forks; the child waits for it for ever, and rank 1 for the child."""
EXPECTED = ["fork-deadlock", "rank-missing"]


def command(bench):
    return bench.torchrun(bench.script(
        "import multiprocessing as mp, os, threading, time, torch.distributed as dist\nlock = threading.Lock()\n"
        "def hold():\n    with lock: time.sleep(2)\ndef work():\n    with lock: pass\n"
        "if os.environ['RANK'] == '1':\n    threading.Thread(target=hold).start()\n"
        "    child = mp.get_context('fork').Process(target=work); child.start(); child.join()\ndist.init_process_group('gloo')\n"))
