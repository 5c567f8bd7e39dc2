"""The shell scripts that examples/from-scripts.md replaces: the old exports and arguments, and what the new line gives the job."""

import json
import subprocess
import sys

from harness import SafelaunchTest, main

# It prints the variables of NCCL and its own arguments, as a training script would see them.
JOB = """
import json, os, sys
ours = {"NCCL_DEBUG_FILE", "NCCL_PROFILER_PLUGIN", "NCCL_RAS_ADDR", "NCCL_SOCKET_MAGIC", "NCCL_CONF_FILE"}
print(json.dumps([{name: value for name, value in os.environ.items() if name.startswith("NCCL_") and name not in ours}, sys.argv[1:]]))
"""
ARGUMENTS = ["--num_workers", "4", "--batch_size", "1024", "--pin_memory"]

OLD = {
    "minimal": ("export NCCL_IB_DISABLE=1 NCCL_DEBUG=INFO", ARGUMENTS),
    "low-resources": ("export NCCL_IB_DISABLE=1 NCCL_P2P_DISABLE=1", ["--num_workers", "0", "--batch_size", "256"]),
    "gpu-cache": ("", ["--num_workers", "1", "--batch_size", "1024", "--pin_memory", "--use_gpu_cache", "--gpu_cache_size", "5000"]),
    "prefetch": ("", ["--num_workers", "1", "--batch_size", "1024", "--pin_memory", "--use_prefetch", "--prefetch_factor", "2"]),
}


class OldScripts(SafelaunchTest):
    def old(self, exports, arguments):
        shell = ["sh", "-c", f'{exports}\nexec "$@"', "old", sys.executable, self.script(JOB), *arguments]
        return json.loads(subprocess.run(shell, env=self.environment(), capture_output=True, text=True, check=True).stdout)

    def assert_profile_does_what_the_script_did(self, profile):
        variables, arguments = self.old(*OLD[profile])
        run = self.run_safelaunch("--profile", profile, "--", sys.executable, self.script(JOB), *ARGUMENTS)
        self.assert_status(run, 0)
        seen, words = json.loads(run.out)
        self.assertEqual({name: seen.get(name) for name in variables}, variables, str(run))
        self.assertEqual(words, arguments, str(run))


for name in OLD:
    def test(self, name=name):
        self.assert_profile_does_what_the_script_did(name)
    setattr(OldScripts, "test_" + name.replace("-", "_"), test)

if __name__ == "__main__":
    main()
