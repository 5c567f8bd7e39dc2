"""torch comes by a lazy loader; the script looks at signatures, source and pickles, and derives from TCPStore."""


def command(bench):
    return bench.train("""
import importlib.util, inspect, pickle
spec = importlib.util.find_spec("torch")
spec.loader = importlib.util.LazyLoader(spec.loader)
torch = importlib.util.module_from_spec(spec)
sys.modules["torch"] = torch
spec.loader.exec_module(torch)
import torch.distributed as dist
init = dist.init_process_group
say(f"{list(inspect.signature(init).parameters)[:3]} {pickle.loads(pickle.dumps(init)) is init} {inspect.isfunction(init)} {init.__qualname__}")
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
