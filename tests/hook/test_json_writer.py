"""What the hook writes is JSON, and never larger than a packet may be."""
import json
import sys

import harness

sys.path.insert(0, harness.HOOK)
from _safelaunch_hook import json_writer  # noqa: E402


def written(**fields):
    packet = json_writer.encode(fields)
    assert len(packet) <= 60000, len(packet)
    return json.loads(packet.decode())


class Encode(harness.HookTest):
    def test_values_come_back_as_they_were(self):
        fields = {"text": "a \"quoted\" \\ line\nand\ttab \x01 ü", "number": -7, "real": 1.5, "yes": True,
                  "nothing": None, "list": ["a", ["b", 2]], "map": {"k": [1]}}
        self.assertEqual(written(**fields), fields)
        self.assertEqual(written(real=float("nan")), {"real": None})

    def test_the_ranks_of_large_groups_are_all_there(self):
        members = {"0": list(range(4000)), "1": list(range(90))}
        self.assertEqual(written(members=members), {"members": members})

    def test_what_is_too_large_is_cut_and_its_end_kept(self):
        self.assertTrue(written(text="x" * 10**6 + "the end")["text"].endswith("the end"))
        self.assertEqual(written(texts=["x" * 300] * 10**4)["texts"][0], "x" * 300)
        numbers = written(numbers=list(range(10**6, 2 * 10**6)))["numbers"]
        self.assertEqual(numbers, list(range(10**6, 10**6 + len(numbers))))


if __name__ == "__main__":
    harness.main()
