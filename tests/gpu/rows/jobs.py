"""The tests of test_jobs.py, each a row."""

import unittest

import test_jobs
from row import Row, Said, short

OF_A_GPU = ["test_fsdp2_over_gloo_equals_one_process_with_cuda_tensors", "test_the_first_collective_is_over_when_the_device_says_so"]


def names(group):
    return unittest.defaultTestLoader.getTestCaseNames(group)


def row(group, name):
    def play(scene):
        test, result = group(name), unittest.TestResult()
        test.limit = scene.limit
        test.run(result)
        said = [text[-700:] for _, text in result.failures + result.errors + result.skipped]
        return Said(result.wasSuccessful(), None, short("".join(said)))

    return Row(f"{group.__name__}: {name[5:].replace('_', ' ')}", 25, play, over_doubles=name not in OF_A_GPU)


ROWS = [row(group, name) for group in (test_jobs.Truth, test_jobs.Gloo, test_jobs.Healthy, test_jobs.Failing) for name in names(group)]
