#pragma once

#include <string>

#include "scratch.h"

/// Run directories as safelaunch writes them, as values.
namespace safelaunch::testing {

constexpr const char* kJob = R"({
  "run": "20261121-150653-b939a3", "pid": 5565, "start_ticks": 1299226, "boot_id": "b",
  "started": "2026-11-21T15:06:53.722Z", "command": ["torchrun", "--nproc-per-node", "2", "train.py"],
  "directory": "/home/ann/model", "chain": ["basic", "no-p2p"]})";

constexpr const char* kFirstAttempt =
    R"({"t":0.1,"wall":"w","e":"run","run":"20261121-150653-b939a3","command":["torchrun"]}
{"t":1,"e":"attempt","attempt":1,"profile":"basic"}
{"t":3,"e":"stage","attempt":1,"rank":1,"stage":"imported","pid":71}
{"t":4,"e":"stage","attempt":1,"rank":0,"stage":"imported","pid":70}
{"t":5,"e":"stage","attempt":1,"rank":0,"stage":"group","pid":70}
{"t":5,"e":"status","attempt":1,"text":"group 1/2 · waiting for rank 1"}
)";

constexpr const char* kVerdict =
    R"({"t":21,"e":"verdict","attempt":1,"kind":"hung","stage":"collective","text":"rank 1 is missing","waiting":[0],"missing":[1]}
{"t":22,"e":"exit","attempt":1,"rank":0,"pid":70,"status":"killed by SIGKILL"}
{"t":22,"e":"cause","attempt":1,"id":"rank-missing","certainty":"confirmed","text":"Rank 0 waited for rank 1."}
)";

constexpr const char* kSecondAttempt =
    R"({"t":23,"e":"attempt","attempt":2,"profile":"no-p2p"}
{"t":25,"e":"stage","attempt":2,"rank":0,"stage":"collective","pid":80}
{"t":25,"e":"training","attempt":2}
{"t":30,"e":"end","attempt":2,"exit_status":0}
)";

constexpr const char* kOutcome = R"({
  "run": "20261121-150653-b939a3", "command": ["torchrun", "--nproc-per-node", "2", "train.py"],
  "exit_status": 0, "worked_with": "no-p2p", "cost": "medium",
  "attempts": [
    {"attempt": 1, "profile": "basic", "end": "hung", "seconds": 21.0, "stages": "group 1/2",
     "cause": {"id": "rank-missing", "title": "a rank never came", "certainty": "confirmed",
               "explanation": "Rank 0 waited for rank 1.", "lines": ["Traceback"], "remedy": "Look at it."},
     "next": "no-p2p: next in the chain"},
    {"attempt": 2, "profile": "no-p2p", "end": "completed", "seconds": 7.0, "stages": "collective 2/2"}]})";

/// Hung under basic, healed by no-p2p.
inline report::RunFiles healed_run() {
  report::RunFiles files;
  files.directory = "/runs/20261121-150653-b939a3";
  add(files, "attempt-1-basic/evidence/rank-0.stack",
      "thread MainThread\n  train.py:95 all_reduce\n");
  add(files, "attempt-1-basic/evidence/rank-1.stack", "thread MainThread\n  train.py:50 sleep\n");
  add(files, "attempt-1-basic/launcher.out", "from the launcher\n");
  add(files, "attempt-1-basic/rank-1.err", "from rank 1\n");
  add(files, "attempt-2-no-p2p/env.diff", "+ NCCL_P2P_DISABLE=1  # profile no-p2p\n");
  add(files, "events.jsonl", std::string(kFirstAttempt) + kVerdict + kSecondAttempt);
  add(files, "job.json", kJob);
  add(files, "outcome.json", kOutcome);
  return files;
}

/// One whose safelaunch was killed in the middle of a line.
inline report::RunFiles killed_run() {
  report::RunFiles files;
  files.directory = "/runs/20261121-150653-b939a3";
  add(files, "events.jsonl", std::string(kFirstAttempt) + R"({"t":6,"e":"sta)");
  add(files, "job.json", kJob);
  return files;
}

}  // namespace safelaunch::testing
