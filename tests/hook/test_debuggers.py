"""What waits for a person's debugger says so, and says when it goes on."""
import os
import unittest

import harness
from collector import Collector

DEBUGPY = """
def listen(address): return "127.0.0.1", 5678
def wait_for_client(): pass
"""
REMOTE_PDB = """
class RemotePdb:
    def __init__(self, host, port, patch=False):
        if not port: raise OSError("no port")
"""


class Debuggers(harness.HookTest):
    def told(self, module, text, script):
        path = harness.script(script)
        with open(os.path.join(os.path.dirname(path), module + ".py"), "w") as file:
            file.write(text)
        with Collector() as collector:
            self.assert_ended_well(harness.python(path, harness.environment(collector, RANK=0, WORLD_SIZE=2)))
            self.assert_no_fault(collector)
            worker = collector.drained().workers[0]
            return [(event["e"], event.get("port")) for event in worker.events if event["e"].startswith("person.")]

    def test_an_editors_debugger_is_awaited_on_its_port(self):
        told = self.told("debugpy", DEBUGPY, "import debugpy\ndebugpy.listen(1)\ndebugpy.wait_for_client()\n")
        self.assertEqual(told, [("person.enter", 5678), ("person.exit", None)])

    def test_a_remote_pdb_that_fails_waits_no_longer(self):
        told = self.told("remote_pdb", REMOTE_PDB, """
            import remote_pdb
            remote_pdb.RemotePdb("127.0.0.1", 4444)
            try: remote_pdb.RemotePdb(host="127.0.0.1", port=0)
            except OSError as error: assert str(error) == "no port"
        """)
        self.assertEqual(told, [("person.enter", 4444), ("person.exit", None), ("person.enter", 0), ("person.exit", None)])


if __name__ == "__main__":
    unittest.main()
