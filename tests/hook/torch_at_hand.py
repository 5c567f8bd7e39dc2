"""What the torch at hand has: its versions differ in what they count, keep, and let be watched.

torch is imported for the question, and not before.
"""
import functools
import importlib
import inspect


def needs(*features):
    """Skips a test where the torch lacks one of these."""
    def decorate(test):
        @functools.wraps(test)
        def asked(self):
            for feature in features:
                if not feature():
                    self.skipTest("this torch lacks: " + feature.__name__)
            test(self)

        return asked

    return decorate


def recorder_of_gloos_collectives():
    """2.6 records NCCL's alone."""
    return hasattr(_library(), "_dump_fr_trace_json")


def wait_counters():
    """2.6 has handlers of its debug server, but none for these."""
    return "wait_counter_values" in getattr(_library(), "_get_handler_names", list)()


def ddp_without_its_first_exchange():
    parallel = importlib.import_module("torch.nn.parallel")
    return "init_sync" in inspect.signature(parallel.DistributedDataParallel.__init__).parameters


def fully_shard_on_cpus():
    """2.6 has fully_shard, and asks a CPU's stream for an event, which it cannot make."""
    return (hasattr(importlib.import_module("torch.distributed.fsdp"), "fully_shard")
            and hasattr(importlib.import_module("torch.cpu").Stream, "record_event"))


def a_default_backend_for_each_device():
    return hasattr(importlib.import_module("torch.distributed"), "get_default_backend_for_device")


def entry_points_of_backends():
    """The hook's second door; 2.5 and later."""
    return hasattr(importlib.import_module("torch"), "_import_device_backends")


def a_build_without_nccl():
    return not importlib.import_module("torch.distributed").is_nccl_available()


def _library():
    importlib.import_module("torch")
    return importlib.import_module("torch._C._distributed_c10d")
