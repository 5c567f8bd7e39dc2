"""The manifests of examples/kubernetes: every pod finds its number, and its ranks, in what Kubernetes tells it."""

import re
import subprocess

import harness
from harness import SafelaunchTest, main

FOLDER = harness.ROOT / "examples/kubernetes"


def read(name):
    import yaml

    return list(yaml.safe_load_all((FOLDER / name).read_text()))


class Manifests(SafelaunchTest):
    def planned(self, words, **variables):
        """The lines of --dry-run in a pod with two GPUs, as NAME: value."""
        words = ["--nproc-per-node=2" if word == "--nproc-per-node=gpu" else word for word in words[1:]]
        done = subprocess.run([harness.SAFELAUNCH, "--dry-run", *words], capture_output=True, text=True, timeout=60,
                              env=self.environment(KUBERNETES_SERVICE_HOST="10.0.0.1", **variables), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_each_pod_of_the_jobset_is_a_node_of_its_own(self):
        (jobset,) = read("jobset.yaml")
        (replicated,) = jobset["spec"]["replicatedJobs"]
        job = replicated["template"]["spec"]
        (container,) = job["template"]["spec"]["containers"]
        head = f"{jobset['metadata']['name']}-{replicated['name']}-0-0.{jobset['metadata']['name']}"
        for index in range(job["completions"]):
            told = self.planned(container["command"], JOB_COMPLETION_INDEX=str(index))
            self.assertIn(f"NODE_RANK={index} ", told)
            self.assertIn(f"MASTER_ADDR={head} ", told)
            self.assertIn("2 of 8, spawned by safelaunch", told)

    def test_each_pod_of_the_statefulset_is_a_node_of_its_own(self):
        service, pods = read("statefulset.yaml")
        (container,) = pods["spec"]["template"]["spec"]["containers"]
        words = re.search(r"safelaunch .*?(?= & job)", container["command"][2], re.S).group().split()
        name = pods["metadata"]["name"]
        for index in range(pods["spec"]["replicas"]):
            told = self.planned(words, HOSTNAME=f"{name}-{index}")
            self.assertIn(f"NODE_RANK={index} ", told)
            self.assertIn(f"MASTER_ADDR={name}-0.{service['metadata']['name']} ", told)


if __name__ == "__main__":
    main(needs=("yaml",))
