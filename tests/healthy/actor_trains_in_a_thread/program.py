"""Ray Train's way: a driver's workers are told their rank when they already run, train in a thread, and their main thread waits for news."""
import sys

from workbench import MEET, free_port, indent


def command(bench):
    return [sys.executable, bench.program("""
import multiprocessing, queue, threading
def worker(tasks, answers):
    import torch
    while True:
        environment = tasks.get()
        if environment is None: break
        os.environ.update(environment)
        news = queue.Queue()
        threading.Thread(target=train, args=[int(environment["RANK"]), news]).start()
        answers.put(news.get())

def train(rank, news):
    global RANK
    RANK = rank
    if rank == 1: late()
    meet()
    news.put(f"worker {rank} has trained")

def meet():
%s
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    tasks, answers = [context.Queue() for _ in range(2)], [context.Queue() for _ in range(2)]
    workers = [context.Process(target=worker, args=both) for both in zip(tasks, answers)]
    for each in workers: each.start()
    for rank, task in enumerate(tasks):
        task.put(dict(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="%d"))
    for answer in answers: say(answer.get())
    for task in tasks: task.put(None)
    for each in workers: each.join()
""" % (indent(MEET), free_port()), end="")]
