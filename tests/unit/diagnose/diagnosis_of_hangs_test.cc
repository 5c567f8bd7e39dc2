// Attempts that hung.
#include <csignal>

#include "catch.h"
#include "evidence_of.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

TEST_CASE("a rank that never comes is named with what it does", "[diagnosis]") {
  const diagnose::Evidence evidence = hang(
      Stage::rendezvous,
      {{Rank{2}, Activity::idling, "sleeping in hrtimer_nanosleep", "load_data (train.py:12)"}});
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "rank-missing");
  CHECK(d.failure.certainty == Certainty::confirmed);
  CHECK(falls_back(d));
  CHECK(d.failure.explanation ==
        "Rank 2 was missing; ranks 0, 1 and 3 waited 180s for it to come to the rendezvous. It was "
        "idling in load_data (train.py:12).");
  CHECK(status(evidence) == 124);
}

TEST_CASE("of a rank that waits for a child the child is named", "[diagnosis]") {
  const diagnose::Evidence evidence =
      hang(Stage::rendezvous, {{Rank{2}, Activity::idling,
                                "sleeping in a child (sleep, pid 5781), on gpu-1", "f.py:7 main"}});
  CHECK_THAT(diagnosed(evidence).failure.explanation,
             EndsWith("It was idling in f.py:7 main, in a child (sleep, pid 5781), on gpu-1."));
}

TEST_CASE("how a rank sleeps is not told where its function is known", "[diagnosis]") {
  for (const char* doing : {"sleeping", "sleeping in hrtimer_nanosleep"})
    CHECK_THAT(
        diagnosed(hang(Stage::rendezvous, {{Rank{2}, Activity::idling, doing, "f.py:7 main"}}))
            .failure.explanation,
        EndsWith("It was idling in f.py:7 main."));
  CHECK_THAT(diagnosed(hang(Stage::rendezvous,
                            {{Rank{2}, Activity::idling, "sleeping, on gpu-1", "f.py:7 main"}}))
                 .failure.explanation,
             EndsWith("It was idling in f.py:7 main, on gpu-1."));
}

TEST_CASE("a rank that sticks among the others is not called missing", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::collective, {{.rank = Rank{2},
                                                          .activity = Activity::stopped,
                                                          .doing = "by a signal (pid 71, state T)",
                                                          .where = {},
                                                          .inside = true}});
  evidence.failure.waited = std::chrono::milliseconds(1902);
  CHECK(diagnosed(evidence).failure.explanation ==
        "Rank 2 did not come through; ranks 0, 1 and 3 waited 1.9s for it to join the first "
        "collective. It was stopped, by a signal (pid 71, state T).");
}

TEST_CASE("a rank that is behind in training is named with its place", "[diagnosis]") {
  diagnose::Evidence evidence =
      hang(Stage::collective, {{.rank = Rank{2}, .where = "train.py:48 load_data"}});
  evidence.failure.kind = FailureKind::stalled;
  evidence.remarks = {"rank 2 never called all_reduce, collective 9 of group 0"};
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "training-stalled");
  CHECK(d.failure.headline == "rank 2 is behind");
  CHECK(d.failure.places == std::vector<std::string>{"train.py:48 in load_data"});
  CHECK(d.failure.details ==
        "Training stood still for 180s: no collective finished; ranks 0, 1 and 3 wait in a "
        "collective; rank 2 was missing. Rank 2 never called all_reduce, collective 9 of group 0.");
}

TEST_CASE("a blank in the name of a script does not part it from its line", "[diagnosis]") {
  const auto place_of = [](const std::string& where) {
    return diagnosed(hang(Stage::group, {{.rank = Rank{1}, .where = where}})).failure.places;
  };
  CHECK(place_of("my train.py:6 <module>") ==
        std::vector<std::string>{"my train.py:6 in <module>"});
  CHECK(place_of("训练 脚本.py:6 load → wait") ==
        std::vector<std::string>{"训练 脚本.py:6 in load → wait"});
}

TEST_CASE("that all ranks are in one collective is confirmed only by all ranks", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::collective, {});
  CHECK(diagnosed(evidence).failure.cause == "collective-stuck");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
  evidence.all_in_one_collective = true;
  CHECK(diagnosed(evidence).failure.certainty == Certainty::confirmed);
}

TEST_CASE("a circle of messages is a cause of its own", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::collective, {});
  evidence.confirmations = {{"messages-in-a-circle", "rank 0 waits in recv from rank 1"}};
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "messages-in-a-circle");
  CHECK(stops(d, diagnose::StopReason::hopeless));
}

TEST_CASE("groups that differ explain a gloo that cannot connect, and a rank that left",
          "[diagnosis]") {
  diagnose::Evidence evidence =
      with_exceptions({raised(0, "RuntimeError",
                              "[/gloo/x.cc:1] Gloo connectFullMesh failed with "
                              "[../gloo/transport/tcp/pair.cc:144] no error")});
  REQUIRE(diagnosed(evidence).failure.cause != "ranks-disagree");
  evidence.confirmations = {{"ranks-disagree", "group 1 is ranks 0 3 on rank 0, but …"}};
  CHECK(diagnosed(evidence).failure.cause == "ranks-disagree");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::confirmed);
}

TEST_CASE("what is known of nobody is a guess", "[diagnosis]") {
  CHECK(diagnosed(hang(Stage::group, {{Rank{2}, Activity::unseen, "", ""}})).failure.certainty ==
        Certainty::guess);
}

TEST_CASE("a stopped rank is named at once as stopped", "[diagnosis]") {
  const diagnose::Diagnosis d =
      diagnosed(hang(Stage::collective, {{Rank{1}, Activity::stopped, "", ""}}));
  CHECK(d.failure.cause == "rank-stopped");
  CHECK(d.failure.certainty == Certainty::confirmed);
  CHECK(d.decision ==
        diagnose::Decision(diagnose::RetrySame{}));  // somebody stopped it, no setting did
}

TEST_CASE("the function of a missing rank may tell why it is missing", "[diagnosis]") {
  const diagnose::Diagnosis d = diagnosed(hang(
      Stage::group, {{Rank{2}, Activity::idling, "a timed sleep", "wait (file_baton.py:49)"}}));
  CHECK(d.failure.cause == "extension-lock");
}

TEST_CASE("the last words of a missing rank may tell why it is missing", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::group, {{Rank{2}, Activity::quiet, "", ""}});
  evidence.output = {{"rank-2.err", Rank{2}, "hello\nwandb: Enter your choice:\n"}};
  CHECK(diagnosed(evidence).failure.cause == "waiting-for-human");
  evidence.output = {{"rank-2.err", Rank{2}, "wandb: Enter your choice:\n1\n2\n3\n4\n"}};
  CHECK(diagnosed(evidence).failure.cause == "rank-missing");
  evidence.output = {{"rank-0.err", Rank{0}, "wandb: Enter your choice:\n"}};
  CHECK(diagnosed(evidence).failure.cause == "rank-missing");
}

TEST_CASE("a hang in which all ranks came is guessed from the stage", "[diagnosis]") {
  CHECK(diagnosed(hang(Stage::imported, {})).failure.cause == "start-stuck");
  CHECK(diagnosed(hang(Stage::rendezvous, {})).failure.cause == "store-silent");
  CHECK(diagnosed(hang(Stage::communicator, {})).failure.cause == "init-stuck");
  CHECK(diagnosed(hang(Stage::collective, {})).failure.cause == "collective-stuck");
}

TEST_CASE("NCCL's way between the ranks is a hint where its first collective hangs",
          "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::collective, {});
  evidence.output = {
      {"nccl", std::nullopt, "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"}};
  CHECK(diagnosed(evidence).failure.cause == "gpu-p2p");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
  evidence.failure.missing = {{Rank{2}, Activity::idling, "", ""}};
  CHECK(diagnosed(evidence).failure.cause == "rank-missing");
}

TEST_CASE("a first collective that torch's watchdog ended is told by what hints at the reason",
          "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.failure = {.kind = FailureKind::rank_died, .stage = Stage::collective};
  evidence.failure.ended = {{Rank{0}, {}, ExitStatus(Signaled{SIGABRT})}};
  evidence.failure.missing = {{.rank = Rank{0}, .inside = true}, {.rank = Rank{1}, .inside = true}};
  evidence.output = {
      {"stderr", std::nullopt, "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL\n"},
      {"nccl", std::nullopt, "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"}};
  CHECK(diagnosed(evidence).failure.cause == "gpu-p2p");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);

  const auto is_timeout = [](const diagnose::Evidence& told) {
    return diagnosed(told).failure.cause == "watchdog-timeout";
  };
  diagnose::Evidence never_called = evidence;
  never_called.failure.missing[1].inside = false;
  CHECK(is_timeout(never_called));
  diagnose::Evidence in_training = evidence;
  in_training.training = diagnose::Training::begun;
  CHECK(is_timeout(in_training));
  evidence.output.pop_back();
  CHECK(is_timeout(evidence));
}

TEST_CASE("a rank that left with status 0 while others wait is the script's own", "[diagnosis]") {
  MissingRank left{Rank{2}, Activity::dead, "exit status 0", ""};
  CHECK(diagnosed(hang(Stage::group, {left})).failure.cause == "rank-died");  // by hearsay
  left.status = Exited{0};
  const diagnose::Diagnosis d = diagnosed(hang(Stage::group, {left}));
  CHECK(d.failure.cause == "rank-left");
  CHECK(stops(d, diagnose::StopReason::users_own));
  CHECK(d.failure.explanation.find("Rank 2 had ended (exit status 0)") != std::string::npos);
}

TEST_CASE("a hang whose cause NCCL writes down is matched", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::group, {});
  evidence.output = {
      {"nccl", std::nullopt, testing::scenes("nccl/2.29.7.log").at("nranks-differ")}};
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "world-size-mismatch");
  CHECK(stops(d, diagnose::StopReason::hopeless));
}

TEST_CASE("an exception that a hanging job has caught and logged is not its cause", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::group, {{Rank{2}, Activity::idling, "", ""}});
  evidence.output = {{"stderr", std::nullopt,
                      "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 1\n"}};
  CHECK(diagnosed(evidence).failure.cause == "rank-missing");
  evidence.failure.raised = {raised(2, "KeyError", "1")};
  evidence.failure.raised.front().traceback = "";
  CHECK(diagnosed(evidence).failure.cause == "rank-missing");
  evidence.failure.raised.front().traceback = "Traceback";  // nobody caught it
  CHECK(diagnosed(evidence).failure.cause == "user-exception");
  CHECK(status(evidence) == 1);
}

TEST_CASE("a port that is taken after the rendezvous is not the cause", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::collective, {});
  evidence.output = {{"stderr", std::nullopt, "tensorboard: Address already in use\n"}};
  CHECK(diagnosed(evidence).failure.cause == "collective-stuck");
}

TEST_CASE("ranks that contradict each other are named at once", "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::world_size_mismatch;
  CHECK(diagnosed(evidence).failure.cause == "world-size-mismatch");
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::hopeless));
  evidence.failure.kind = FailureKind::duplicate_rank;
  CHECK(diagnosed(evidence).failure.cause == "duplicate-rank");
  CHECK(status(evidence) == 124);
}

TEST_CASE("many ranks are told in runs", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::group, {{Rank{7}, Activity::unseen, "", ""}});
  evidence.failure.waiting = {Rank{0}, Rank{1}, Rank{2}, Rank{3}, Rank{5}, Rank{6}, Rank{8}};
  CHECK(diagnosed(evidence).failure.explanation.find("; ranks 0-3, 5, 6 and 8 waited 180s") !=
        std::string::npos);
}

TEST_CASE("who holds the port that the script chose is told", "[diagnosis]") {
  diagnose::Evidence evidence = port_taken(diagnose::RendezvousPort::Choice::ours);
  evidence.port->number = 29500;
  CHECK(diagnose::ports_said_taken(evidence, diagnose::Catalogue::builtin()) ==
        std::vector<int>{29741});

  evidence.confirmations = {{"port-taken", "Port 29741 is held by pid 71 (nc) of user bob", 29741}};

  const diagnose::Diagnosis diagnosis = diagnosed(evidence);
  CHECK(diagnosis.failure.certainty == Certainty::confirmed);
  CHECK(diagnosis.failure.explanation.ends_with(" Port 29741 is held by pid 71 (nc) of user bob."));
  CHECK(stops(diagnosis, diagnose::StopReason::port_of_user));
}

TEST_CASE("ranks that wait for a store which nobody has opened are not started once more",
          "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::rendezvous, {});
  evidence.confirmations = {{"store-not-opened", "Nobody listens at 127.0.0.1:29741"}};
  CHECK(diagnosed(evidence).failure.cause == "store-not-opened");
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::hopeless));
}

TEST_CASE("ranks that wait for a program which is not their store blame that program",
          "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::group, {});
  evidence.port = diagnose::RendezvousPort{29500, diagnose::RendezvousPort::Choice::ours};
  CHECK(diagnosed(evidence).failure.cause == "init-stuck");

  evidence.confirmations = {{"store-foreign", "Port 29500 is held by pid 71 (nc)", 29500}};
  CHECK(diagnosed(evidence).failure.cause == "store-foreign");
  CHECK(diagnosed(evidence).decision ==
        diagnose::Decision(diagnose::RetrySame{1s, With::another_port}));

  evidence.confirmations.front().port = 29741;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::port_of_user));
}

TEST_CASE("what the ranks' own answers prove of a hang is confirmed, and stops", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::collective, {});
  evidence.confirmations = {
      {"ranks-disagree", "collective 1 of group 0 is a on rank 0, but b on rank 1"}};
  const auto diagnosis = diagnosed(evidence);
  CHECK(diagnosis.failure.cause == "ranks-disagree");
  CHECK(diagnosis.failure.certainty == Certainty::confirmed);
  CHECK(stops(diagnosis, diagnose::StopReason::hopeless));
  CHECK(status(evidence) == 124);
}

TEST_CASE("a driver that answers nobody is confirmed, and no profile helps", "[diagnosis]") {
  diagnose::Evidence evidence = hang(Stage::imported, {});
  evidence.confirmations = {{"driver-silent", "ranks 0-3 stand still"}};
  CHECK(diagnosed(evidence).failure.cause == "driver-silent");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::confirmed);
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::hopeless));
}

TEST_CASE("a rank of which only its function is known is missing for certain", "[diagnosis]") {
  const auto diagnosis = diagnosed(
      hang(Stage::collective, {{Rank{2}, Activity::unseen, "", "evaluate (train.py:7)"}}));
  CHECK(diagnosis.failure.cause == "rank-missing");
  CHECK(diagnosis.failure.certainty == Certainty::confirmed);
  CHECK(diagnosis.failure.explanation.find("It was in evaluate (train.py:7).") !=
        std::string::npos);
}

TEST_CASE("a contradiction between ranks is told with what they say", "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::world_size_mismatch;
  evidence.confirmations = {{"world-size-mismatch", "rank 0 says 2, rank 1 says 3"}};
  CHECK(diagnosed(evidence).failure.explanation ==
        "The job would hang until torch's timeout: rank 0 says 2, rank 1 says 3.");
}
TEST_CASE("a rank that stays away from NCCL does so under any profile", "[diagnosis]") {
  diagnose::Evidence evidence =
      hang(Stage::communicator, {{Rank{2}, Activity::idling, "sleeping", ""}});
  evidence.remarks = {"rank 2 of 3 never came to NCCL"};

  const diagnose::Diagnosis d = diagnosed(evidence);

  CHECK(d.failure.cause == "rank-missing");
  CHECK(stops(d, diagnose::StopReason::stays_away));
  CHECK(diagnose::exit_status_of(evidence, d) == 124);
  CHECK(d.failure.explanation.ends_with(" Rank 2 of 3 never came to NCCL."));
}

TEST_CASE("of a rank that nobody can see nobody says whose code keeps it away", "[diagnosis]") {
  const diagnose::Diagnosis d = diagnosed(
      hang(Stage::group, {{Rank{2}, Activity::unseen, "", ""}, {Rank{4}, Activity::unseen}}));
  CHECK(d.failure.cause == "rank-missing");
  CHECK(d.failure.explanation.ends_with(" Nobody can see them from here; look where they run."));
  for (const std::string& words : {d.failure.explanation, d.failure.remedy})
    CHECK(words.find("own code") == std::string::npos);
}

TEST_CASE("of a rank that no process has said to be nobody says whose code keeps it away",
          "[diagnosis]") {
  const diagnose::Diagnosis d =
      diagnosed(hang(Stage::group, {{.rank = Rank{2},
                                     .activity = Activity::idling,
                                     .doing = "never seen; another process: sleeps",
                                     .known = false}}));
  CHECK(d.failure.explanation.ends_with("No process that safelaunch sees came as rank 2."));
}

TEST_CASE("of missing ranks that do the same it is said once", "[diagnosis]") {
  const auto unseen = [](int rank) {
    return MissingRank{.rank = Rank{rank},
                       .activity = Activity::idling,
                       .doing = "never seen; another process: sleeps",
                       .known = false};
  };
  const auto said = [](std::vector<MissingRank> missing) {
    return diagnosed(hang(Stage::group, std::move(missing))).failure.explanation;
  };
  const MissingRank one{Rank{1}, Activity::idling, "", "a.py:1 f"};
  const MissingRank two{Rank{2}, Activity::idling, "", "a.py:1 f"};
  CHECK_THAT(said({one, two}), EndsWith(" They were idling in a.py:1 f."));
  CHECK_THAT(
      said({one, two, unseen(4)}),
      EndsWith(" Ranks 1 and 2 were idling in a.py:1 f. No process that safelaunch sees came "
               "as rank 4."));
  CHECK_THAT(said({one, unseen(4)}), ContainsSubstring(" Rank 1 was idling in a.py:1 f. No"));
  CHECK_THAT(said({unseen(2), unseen(3)}), EndsWith("came as ranks 2 and 3."));
}

TEST_CASE("launchers that start no rank lack a node, or do not reach each other where all have met",
          "[diagnosis][bug]") {
  diagnose::Evidence evidence = hang(Stage::spawned, {});
  evidence.failure.kind = FailureKind::not_started;
  evidence.failure.certainty = Certainty::confirmed;
  CHECK(diagnosed(evidence).failure.cause == "nodes-missing");
  evidence.failure.certainty = Certainty::guess;
  CHECK(diagnosed(evidence).failure.cause == "connect-failed");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
}

TEST_CASE("where one missing rank is seen and another is not, neither is told of both",
          "[diagnosis]") {
  const diagnose::Diagnosis d = diagnosed(hang(
      Stage::group, {{Rank{2}, Activity::idling, "sleeping", "f"}, {Rank{4}, Activity::unseen}}));
  CHECK(d.failure.explanation.find("own code") == std::string::npos);
  CHECK(d.failure.explanation.find("Nobody can see") == std::string::npos);
}

namespace {

diagnose::Evidence standstill_at(const std::string& where, const std::string& stack) {
  diagnose::Evidence evidence = hang(Stage::rendezvous, {{.rank = Rank{0},
                                                          .activity = Activity::idling,
                                                          .doing = "sleeping",
                                                          .where = where,
                                                          .stack = stack},
                                                         {.rank = Rank{1},
                                                          .activity = Activity::idling,
                                                          .doing = "sleeping",
                                                          .where = where,
                                                          .stack = stack}});
  evidence.failure.waiting.clear();
  evidence.confirmations = {{"start-stuck", "all ranks have stood still for 600s"}};
  return evidence;
}

}  // namespace

TEST_CASE("a standstill before anybody waits is told as one, and nobody as missing",
          "[diagnosis]") {
  const diagnose::Evidence evidence = standstill_at("train.py:40 main", "");
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "start-stuck");
  CHECK(d.failure.certainty == Certainty::confirmed);
  CHECK(d.failure.explanation == "All ranks have stood still for 600s.");
  CHECK(falls_back(d));
  CHECK(diagnose::exit_status_of(evidence, d) == 124);
}

TEST_CASE("the place of a standstill may tell its cause", "[diagnosis]") {
  const diagnose::Evidence evidence =
      standstill_at("file_baton.py:49 wait", "file_baton.py:49 wait");
  CHECK(diagnosed(evidence).failure.cause == "extension-lock");
}
