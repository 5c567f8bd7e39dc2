"""The script looks at signatures, source and pickles, and derives from TCPStore."""


def command(bench):
    return bench.train("""
import inspect, pickle
import torch.distributed as dist
init = dist.init_process_group
say(f"{list(inspect.signature(init).parameters)[:3]}")
say(f"{pickle.loads(pickle.dumps(init)) is init} {inspect.isfunction(init)} {init.__qualname__}")
class Store(dist.TCPStore):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.mine = 1
store = Store("127.0.0.1", 0, 1, True)
store.set("a", "b")
say(f"{store.mine} {store.get('a')} {isinstance(store, dist.Store)}")
try: init("gloo", wrong=1)
except TypeError as error: say(str(error))
if RANK == 1: late()
""")
