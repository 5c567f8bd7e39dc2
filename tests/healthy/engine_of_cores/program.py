"""A server as vLLM's: its parent starts the engine cores with RANK set, and asks them over zmq."""
import sys

from workbench import MEET, free_port, indent

NEEDS = ["zmq"]


def command(bench):
    return [sys.executable, bench.program("""
import multiprocessing, zmq
def core(rank, address):
    global RANK
    RANK = rank
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="%d")
    asked = zmq.Context().socket(zmq.REP)
    asked.connect(address)
    if rank == 1: late()
    meet()
    asked.send_string(f"core {rank}: {asked.recv_string()}")

def meet():
%s
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    asks = [zmq.Context.instance().socket(zmq.REQ) for _ in range(2)]
    ports = [ask.bind_to_random_port("tcp://127.0.0.1") for ask in asks]
    cores = [context.Process(target=core, args=(rank, f"tcp://127.0.0.1:{port}")) for rank, port in enumerate(ports)]
    for process in cores: process.start()
    for ask in asks: ask.send_string("prompt")
    for ask in asks: say(ask.recv_string())
    for process in cores: process.join()
""" % (free_port(), indent(MEET)), end="")]
