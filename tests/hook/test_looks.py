"""What a program finds when it looks at torch's functions is what it finds without the hook."""
import json

import harness
from collector import Collector

ALONE = dict(RANK=0, LOCAL_RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1")

LOOKS = """
    import copy, functools, inspect, json, pickle, re, sys, typing
    import torch, torch.distributed as dist
    from torch.distributed import distributed_c10d as c10d

    def tried(look):
        try:
            return re.sub("0x[0-9a-f]+", "0x", repr(look()))
        except Exception as error:
            return re.sub("0x[0-9a-f]+", "0x", "%s: %s" % (type(error).__name__, error))

    def chain(function):
        while function is not None:
            yield "%s in %s" % (function.__code__.co_name, function.__code__.co_filename)
            function = getattr(function, "__wrapped__", None)

    @functools.wraps(dist.init_process_group)
    def of_the_program(*args, **kwargs):
        return dist.init_process_group(*args, **kwargs)

    def seen(function):
        looks = {
            "signature": lambda: inspect.signature(function), "bare signature": lambda: inspect.signature(function, follow_wrapped=False),
            "arguments": lambda: inspect.getfullargspec(function), "source": lambda: inspect.getsource(function),
            "line": lambda: inspect.getsourcelines(function)[1], "file": lambda: inspect.getfile(function),
            "source file": lambda: inspect.getsourcefile(function), "module": lambda: inspect.getmodule(function).__name__,
            "hints": lambda: sorted(map(str, typing.get_type_hints(function).items())), "pickle": lambda: pickle.dumps(function),
            "pickled": lambda: pickle.loads(pickle.dumps(function)) is function, "copy": lambda: copy.deepcopy(function) is function,
            "variables": lambda: sorted(inspect.getclosurevars(function).nonlocals), "attributes": lambda: sorted(vars(function)),
            "code": lambda: function.__code__, "globals": lambda: function.__globals__["__name__"], "chain": lambda: list(chain(function)),
            "kind": lambda: type(function), "itself": lambda: function, "dir": lambda: dir(function),
        }
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__", "__annotations__"):
            looks[name] = lambda name=name: getattr(function, name)
        return {name: tried(look) for name, look in looks.items()}

    NAMES = ("init_process_group", "new_group", "destroy_process_group", "all_reduce", "barrier", "broadcast", "send", "isend",
             "all_gather_object", "all_gather_into_tensor")

    def all_seen():
        found = {name: seen(getattr(dist, name)) for name in NAMES}
        found["of the program"] = seen(of_the_program)
        found["one and the same"] = {name: str(getattr(dist, name) is getattr(c10d, name)) for name in dir(dist) if hasattr(c10d, name)}
        found["the store"] = {"kind": tried(lambda: type(dist.TCPStore.__init__)), "doc": tried(lambda: dist.TCPStore.__init__.__doc__),
                              "name": tried(lambda: dist.TCPStore.__init__.__name__), "itself": tried(lambda: dist.TCPStore.__init__),
                              "signature": tried(lambda: inspect.signature(dist.TCPStore.__init__)),
                              "file": tried(lambda: inspect.getfile(dist.TCPStore.__init__)),
                              "pickle": tried(lambda: pickle.dumps(dist.TCPStore.__init__))}
        return found
"""

LOOKS_AT_EACH_STAGE = LOOKS + """
    found = {"imported": all_seen()}
    dist.init_process_group("gloo")
    found["in a group"] = all_seen()
    dist.all_reduce(torch.ones(1))
    found["training"] = all_seen()
    dist.destroy_process_group()
    found["after"] = all_seen()
    with open(__file__ + ".found", "w") as file:  # torch's own threads print to stdout between its pieces
        json.dump(found, file)
"""

COMPILES = LOOKS + """
    def reduces(tensor):
        doubled = tensor * 2
        dist.all_reduce(doubled)
        return doubled + 1

    def asks(tensor):
        return tensor + dist.get_rank() + len(dist.init_process_group.__name__) + dist.is_initialized()

    dist.init_process_group("gloo")
    four = torch.ones(4)
    found = {
        "compiled": tried(lambda: torch.compile(reduces, backend="eager")(four)),
        "compiled whole": tried(lambda: torch.compile(asks, backend="eager", fullgraph=True)(four)),
        "breaks": tried(lambda: torch._dynamo.explain(reduces)(four).graph_break_count),
        "scripted": tried(lambda: torch.jit.script(dist.init_process_group)),
        "traced": tried(lambda: torch.jit.trace(asks, (four,), check_trace=False).code),
        "fx": tried(lambda: torch.fx.symbolic_trace(lambda tensor: dist.init_process_group.__doc__ and tensor + 1).code),
        "wrapped for fx": tried(lambda: torch.fx.wrap(dist.init_process_group)),
    }
    dist.destroy_process_group()
    with open(__file__ + ".found", "w") as file:  # torch's own threads print to stdout between its pieces
        json.dump(found, file)
"""


def differences(bare, ours, where=()):
    if isinstance(bare, dict) and isinstance(ours, dict):
        for key in sorted(set(bare) | set(ours)):
            yield from differences(bare.get(key), ours.get(key), where + (key,))
    elif bare != ours:
        yield where, bare, ours


class Looks(harness.HookTest):
    def found(self, path, collector):
        env = harness.environment(collector, MASTER_PORT=harness.free_port(), **ALONE)
        if collector is None:
            env.pop("PYTHONPATH")
        result = harness.python(path, env)
        self.assert_ended_well(result)
        with open(path + ".found") as file:
            return json.load(file)

    def assert_alike(self, text):
        path = harness.script(text)
        bare = self.found(path, None)
        with Collector() as collector:
            ours = self.found(path, collector)
            self.assertEqual(len(collector.drained().workers[0].all("group")), 1)
            self.assert_no_fault(collector)
        self.maxDiff = None
        self.assertEqual(list(differences(bare, ours)), [])

    def test_at_torchs_functions(self):
        self.assert_alike(LOOKS_AT_EACH_STAGE)

    def test_by_compilers_and_tracers(self):
        self.assert_alike(COMPILES)


if __name__ == "__main__":
    harness.main("torch")
