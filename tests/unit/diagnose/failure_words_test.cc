#include "safelaunch/diagnose/failure_words.h"

#include <csignal>

#include "catch.h"
#include "test_data.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using safelaunch::testing::data;

namespace {

std::string shown(const std::string& file) {
  return failure_words(data("launchers/" + file), Catalogue::builtin());
}

bool has_words(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the traceback of the rank that failed first is shown, without tags", "[failure_words]") {
  const std::string expected =
      "Traceback (most recent call last):\n"
      "  File \"/home/user/job/zde.py\", line 5, in <module>\n"
      "    1/0\n"
      "    ~^~\n"
      "ZeroDivisionError: division by zero\n";
  for (const char* launcher : {"torchrun", "accelerate", "deepspeed"}) {
    INFO(launcher);
    CHECK(shown(launcher + std::string("-zero-division.txt")) == expected);
  }
}

TEST_CASE("a traceback before torch has_words named its ranks is found too", "[failure_words]") {
  CHECK(has_words(shown("torchrun-zero-division-early.txt"), "zde_early.py"));
  CHECK_FALSE(has_words(shown("torchrun-zero-division-early.txt"), "torchrun"));
}

TEST_CASE("mp.spawn's embedded traceback is shown instead of its own", "[failure_words]") {
  const auto all = tracebacks(data("launchers/spawn-zero-division.txt"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].type == "ZeroDivisionError");
  CHECK(all[0].rank == Rank{1});
}

TEST_CASE("a traceback in torch's log has the head of its first line on each", "[failure_words]") {
  const std::string head = "E1128 11:18:04.807000 5887 torch/distributed/elastic/api.py:836] ";
  std::string log = head + "failed (exitcode: 17) local_rank: 1 (pid: 5935) of fn: f\n";
  for (const char* line : {"Traceback (most recent call last):",
                           "  File \"/v/api.py\", line 791, in _poll", "    self._pc.join(-1)"})
    log += head + line + "\n";
  const auto all = tracebacks(log + head + "ValueError: it broke\n" + head + "waiting\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].type == "ValueError");
  CHECK(all[0].message == "it broke");
  // The launcher's own tells of no rank's exception.
  CHECK(tracebacks(log + head + "torch.multiprocessing.spawn.ProcessExitedException: process 1\n")
            .empty());
}

TEST_CASE("vLLM's heads and process names are taken off, and give the rank", "[failure_words]") {
  const auto line = [](const char* who, int pid, const char* level, const char* words) {
    return fmt::format("({} pid={}) {} 11-29 09:12:40 [executor.py:953] {}\n", who, pid, level,
                       words);
  };
  std::string log = line("Worker_TP1", 71, "ERROR", "WorkerProc failed to start.");
  log += line("Worker_TP1", 71, "ERROR", "Traceback (most recent call last):");
  log += "(APIServer pid=70) INFO 11-29 09:12:40 [serve.py:12] still here\n";
  log += line("Worker_TP1", 71, "ERROR", "  File \"w.py\", line 920, in worker_main");
  log +=
      line("Worker_TP1", 71, "ERROR", "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB");
  log += "(Worker_TP1 pid=71) INFO 11-29 09:12:41 [executor.py:12] Shutting down\n";
  log += "\x1b[0;36m(EngineCore_DP0 pid=72)\x1b[0;0m ValueError: a number\n";
  const std::string tagged = with_rank_tags(log, {{71, Rank{1}}});
  CHECK(tagged.starts_with("[rank1]: ERROR 11-29"));
  CHECK(has_words(tagged, "(APIServer pid=70) INFO"));
  const auto all = tracebacks(tagged);
  REQUIRE(all.size() == 1);
  CHECK(all[0].rank == Rank{1});
  CHECK(all[0].type == "RuntimeError");
  CHECK(all[0].message == "CUDA out of memory. Tried to allocate 2 GiB");
}

TEST_CASE("a progress bar hides no traceback, and what others write in between is none of it",
          "[failure_words][bug]") {
  const std::string frames =
      "  File \"a.py\", line 6, in step\n[INFO:swift] last_model_checkpoint: None\n"
      "Train:  10%|█         | 2/20 [00:00<00:07,  2.45it/s]\nValueError: no such sample\n"
      "----------End global rank 1 STDERR----------\n";
  const std::string begin = "Traceback (most recent call last):\n";
  for (const std::string& bar :
       {std::string("\rTrain:   5%|▌  | 1/20 [00:00<00:09,  2.1it/s]\rTrain:  10%|█  | 2/20 [00:00<"
                    "00:07,  2.45it/s]"),
        std::string(80, ' ')}) {
    const auto all = tracebacks(bar + "[rank1]: " + begin + "[rank1]:   File \"a.py\", line 6\n" +
                                "[rank1]: ValueError: no such sample\n");
    REQUIRE(all.size() == 1);
    CHECK(all[0].rank == Rank{1});
    CHECK(all[0].message == "no such sample");
    const auto untagged = tracebacks(bar + begin + frames);
    REQUIRE(untagged.size() == 1);
    CHECK(untagged[0].type == "ValueError");
    CHECK(untagged[0].message == "no such sample");
  }
}

TEST_CASE("the exception of a program that has called a launcher is no rank's",
          "[failure_words][bug]") {
  CHECK(tracebacks("Traceback (most recent call last):\n  File \"/bin/llamafactory-cli\", line 7\n"
                   "subprocess.CalledProcessError: Command '['torchrun', '--nproc_per_node', '2']' "
                   "returned non-zero exit status 1.\n")
            .empty());
}

TEST_CASE("a message ends at a dated line of another process, and at an abort", "[failure_words]") {
  const std::string own =
      "Traceback (most recent call last):\n  File \"a.py\", line 6, in <module>\n"
      "ValueError: no such dataset\nlook in /data\n";
  for (const char* next : {"2026-11-29 09:04:06.116501: F xla/client.h:79] Terminating process",
                           "2026-11-29T09:04:06+00:00 ERROR gone", "Fatal Python error: Aborted"}) {
    const auto all =
        tracebacks(own + next + "\nRPC: /tensorflow.CoordinationService/RegisterTask\n");
    REQUIRE(all.size() == 1);
    CHECK(all[0].message == "no such dataset\nlook in /data");
  }
}

TEST_CASE("an exception and the one it arose from are one traceback", "[failure_words]") {
  const auto all = tracebacks(data("launchers/chained.txt"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].message == "could not set up training");
  CHECK(has_words(all[0].text, "doesn't have NCCL built in"));
}

TEST_CASE("the traceback of a DataLoader's worker stays with that of its rank", "[failure_words]") {
  const auto all = tracebacks(data("launchers/dataloader.txt"));
  REQUIRE(all.size() == 1);
  CHECK(has_words(all[0].text, "KeyError: 'label'"));
}

TEST_CASE("a victim's traceback is shown only where there is no other", "[failure_words]") {
  const std::string victim =
      "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 1\n"
      "[rank0]: RuntimeError: Connection closed by peer [127.0.0.1]:947\n";
  CHECK(has_words(failure_words("step 1\n" + victim, Catalogue::builtin()),
                  "Connection closed by peer"));
}

TEST_CASE("the traceback of a victim is not shown as the words of the rank that failed first",
          "[failure_words]") {
  const std::string victim =
      "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 1\n"
      "[rank0]: RuntimeError: Connection closed by peer [127.0.0.1]:947\n";
  const std::string said = "config error: missing data_dir\n";
  CHECK(failure_words(said + victim, Catalogue::builtin(), Rank{1}) == said);
  CHECK(failure_words(victim, Catalogue::builtin(), Rank{1}).empty());
  CHECK_FALSE(has_words(shown("torchrun-peer-sigkill.txt"), "Connection reset by peer"));
}

TEST_CASE("without a traceback the last words of the ranks are shown", "[failure_words]") {
  CHECK(has_words(shown("torchrun-exit3.txt"), "bad news: giving up\n"));
  CHECK_FALSE(has_words(shown("torchrun-exit3.txt"), "ChildFailedError"));
  CHECK(shown("torchrun-exit3.txt").ends_with("giving up\n"));
  CHECK(shown("deepspeed-exit3.txt").ends_with("giving up\n"));
}

TEST_CASE("tracebacks of several ranks in one stream do not mix where torch tags them",
          "[failure_words]") {
  const auto all = tracebacks(
      "[rank1]: Traceback (most recent call last):\n[rank0]: Traceback (most recent call last):\n"
      "[rank1]:   File \"a.py\", line 1\n[rank0]:   File \"b.py\", line 2\n"
      "[rank0]: KeyError: 0\n[rank1]: KeyError: 1\n");
  REQUIRE(all.size() == 2);
  CHECK(all[0].rank == Rank{1});
  CHECK(all[0].text ==
        "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 1\n");
  CHECK(all[1].message == "0");
}

TEST_CASE("a traceback that was cut off is none", "[failure_words]") {
  CHECK(tracebacks("Traceback (most recent call last):\n  File \"a.py\", line 1\n").empty());
}

TEST_CASE("an interrupt is no failure of a rank", "[failure_words]") {
  CHECK(tracebacks("Traceback (most recent call last):\n  File \"a.py\"\nKeyboardInterrupt\n")
            .empty());
}

TEST_CASE("each launcher's words give the status of the rank that failed first",
          "[failure_words]") {
  const auto told = [](const char* file) {
    return reported_exit(data("launchers/" + std::string(file)));
  };
  CHECK(told("torchrun-exit3.txt")->status == ExitStatus(Exited{3}));
  CHECK(told("torchrun-exit3.txt")->rank == Rank{1});
  CHECK(told("torchrun-peer-sigkill.txt")->status == ExitStatus(Signaled{SIGKILL}));
  CHECK(told("deepspeed-exit3.txt")->status == ExitStatus(Exited{3}));
  CHECK(told("spawn-exit3.txt")->status == ExitStatus(Exited{3}));
  CHECK(told("spawn-zero-division.txt")->status == ExitStatus(Exited{1}));
  CHECK_FALSE(told("python-port-taken.txt"));
}

TEST_CASE("a process that mp.spawn saw killed is reported by its signal", "[failure_words]") {
  const auto told = reported_exit(
      "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal "
      "SIGKILL\n");
  CHECK(told->rank == Rank{2});
  CHECK(told->status == ExitStatus(Signaled{SIGKILL}));
}
