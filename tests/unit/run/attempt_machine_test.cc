#include "attempt_story.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;
using Told = AttemptStory;

TEST_CASE("a command that ends by itself is over when its output is passed on", "[attempt]") {
  Told attempt;
  attempt.on(WorkerEnded{{}, Exited{0}});
  attempt.on(AllWorkersEnded{});
  CHECK(attempt.last_stop().mode == launch::StopMode::sweep);
  attempt.end_processes();
  CHECK(attempt.did<FinishOutput>());
  CHECK_FALSE(attempt.did<AttemptOver>());
  attempt.on(OutputDrained{});
  CHECK(attempt.did<AttemptOver>());
  CHECK(attempt.outcome().command == ExitStatus(Exited{0}));
}

TEST_CASE("a server that cannot listen, and does not end, is ended with its own status",
          "[attempt]") {
  Told attempt;
  attempt.on(ServeFailed{3});
  attempt.pass(9s);
  CHECK_FALSE(attempt.did<StopJob>());
  SECTION("it waits for its ranks") {
    attempt.pass(1s);
    CHECK(attempt.did<TellUser>());
    CHECK(attempt.last_stop().mode == launch::StopMode::sweep);
    attempt.on(WorkerEnded{{}, Signaled{SIGTERM}});
    CHECK(attempt.outcome().command == ExitStatus(Exited{3}));
  }
  SECTION("it ends by itself") {
    attempt.on(WorkerEnded{{}, Exited{4}});
    attempt.on(AllWorkersEnded{});
    CHECK_FALSE(attempt.did<TellUser>());
    CHECK(attempt.outcome().command == ExitStatus(Exited{4}));
  }
  SECTION("it has tried again, and serves") {
    attempt.on(TrainingBegan{true});
    attempt.pass(1h);
    CHECK_FALSE(attempt.did<StopJob>());
  }
}

TEST_CASE("output that ends before the processes do does not end the attempt", "[attempt]") {
  Told attempt;
  attempt.on(OutputDrained{});
  CHECK_FALSE(attempt.did<AttemptOver>());
  attempt.on(AllWorkersEnded{});
  attempt.end_processes(true);
  CHECK(attempt.did<AttemptOver>());
}

TEST_CASE("a reader of the output that does not read keeps nobody from the end", "[attempt]") {
  Told attempt;
  attempt.signal(SIGTERM);
  attempt.end_processes();
  attempt.pass(1s);
  CHECK_FALSE(attempt.did<AttemptOver>());
  SECTION("the rest is waited for two seconds") {
    attempt.pass(1s);
  }
  SECTION("a second signal ends it at once") {
    attempt.signal(SIGTERM);
  }
  CHECK(attempt.did<AttemptOver>());
}

TEST_CASE("without a signal a slow reader has all the time that it needs", "[attempt]") {
  Told attempt;
  attempt.on(AllWorkersEnded{});
  attempt.end_processes();
  attempt.pass(1h);
  CHECK_FALSE(attempt.did<AttemptOver>());
}

TEST_CASE("a command that cannot be started leaves nothing running", "[attempt]") {
  Told attempt;
  attempt.on(StartFailed{});
  CHECK(attempt.last_stop().mode == launch::StopMode::now);
}

TEST_CASE("the ranks of a hang are asked where they stand before they are stopped", "[attempt]") {
  Told attempt;
  attempt.be_asked();
  CHECK(attempt.all<AskRanks>() == std::vector<AskRanks>{{1s}});
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.ranks_answer();
  CHECK(attempt.did<HideOutput>());
  CHECK(attempt.removes_segments());
  CHECK(attempt.last_stop().mode == launch::StopMode::sweep);
}

TEST_CASE("where RAS is asked too, both answers are waited for", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{hung(), false, true});
  CHECK(attempt.did<AskRas>());
  attempt.ranks_answer();
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.on(RasAnswered{});
  CHECK(attempt.did<StopJob>());
}

TEST_CASE("RAS that answers after the stop changes nothing", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{hung(), false, true});
  attempt.signal(SIGTERM);
  attempt.forget();
  attempt.on(RasAnswered{});
  attempt.ranks_answer();
  CHECK_FALSE(attempt.did<StopJob>());
}

TEST_CASE("a launcher has a moment to tell of a dead rank in its own words", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{died()});
  attempt.pass(2s);
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.pass(1s);
  CHECK(attempt.last_stop().mode == launch::StopMode::sweep);
  CHECK_FALSE(attempt.did<HideOutput>());
}

TEST_CASE("a launcher that ends in that moment is stopped no further", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{died()});
  attempt.on(WorkerEnded{{}, Exited{1}});
  attempt.on(AllWorkersEnded{});
  attempt.pass(3s);
  CHECK(attempt.all<StopJob>().size() == 1);
  CHECK(attempt.outcome().command == ExitStatus(Exited{1}));
}

TEST_CASE("a script that ends well has caught the failure of its rank", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{died()});
  attempt.on(WorkerEnded{{}, Exited{0}});
  attempt.on(AllWorkersEnded{});
  attempt.end_processes();
  CHECK_FALSE(attempt.outcome().verdict);
  CHECK(attempt.outcome().command == ExitStatus(Exited{0}));
}

TEST_CASE("no launcher ends a job whose rank left with status 0", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{died(Exited{0})});
  CHECK(attempt.did<AskRanks>());
}

TEST_CASE("of our own ranks one that fails takes the world with it", "[attempt]") {
  Told attempt(own_spawn());
  attempt.on(rank_ended(1, Exited{3}));
  CHECK(attempt.last_stop().mode == launch::StopMode::sweep);
  CHECK(attempt.outcome().command == ExitStatus(Exited{3}));
}

TEST_CASE("in training the others may save first", "[attempt]") {
  Told attempt(own_spawn());
  WorkerEnded ended = rank_ended(1, Exited{3});
  ended.trained = true;
  attempt.on(ended);
  CHECK(attempt.last_stop().mode == launch::StopMode::polite);
  CHECK_FALSE(attempt.removes_segments());
}

TEST_CASE("a rank that ends well leaves the others alone", "[attempt]") {
  Told attempt(own_spawn());
  attempt.on(rank_ended(1, Exited{0}));
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.on(rank_ended(0, Exited{2}));
  CHECK(attempt.outcome().command == ExitStatus(Exited{2}));  // the first that failed
}

TEST_CASE("what a rank ends with while a hang is stopped is our doing", "[attempt]") {
  Told attempt(own_spawn());
  attempt.be_asked();
  attempt.ranks_answer();
  attempt.on(rank_ended(0, Signaled{SIGTERM}));
  CHECK_FALSE(attempt.outcome().command);
}

TEST_CASE("a rank that dies while ranks are asked is no second reason to stop", "[attempt]") {
  Told attempt(own_spawn());
  attempt.be_asked();
  attempt.on(rank_ended(0, Exited{1}));
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.ranks_answer();
  CHECK(attempt.all<StopJob>().size() == 1);
}

TEST_CASE("a standstill in training is told, and the job goes on", "[attempt]") {
  Told attempt;
  attempt.on(TrainingBegan{});
  attempt.on(TrainingStalled{{600s, {Rank{1}}, {{Rank{0}, {2, 1}}, {Rank{1}, {1, 1}}}}});
  attempt.ranks_answer(rank_1_is_in("train.py:9 save"));
  CHECK(attempt.did<RecordStall>());
  CHECK(attempt.said().find("train.py:9 save") != std::string::npos);
  CHECK_FALSE(attempt.did<StopJob>());
}

TEST_CASE("ranks that work are told, and never ended", "[attempt]") {
  Told attempt({.grace = {.of_ranks = 30s, .in_all = 30s}, .kill_on_stall = true});
  attempt.on(TrainingBegan{});
  watch::StallReport report{600s, {}, {}};
  report.working = {Rank{1}};
  attempt.on(TrainingStalled{report});
  attempt.ranks_answer(rank_1_is_in("eval.py:31 evaluate"));
  CHECK(attempt.said().find("training waits for ranks that work: no output and no collective "
                            "finished for 10min; rank 1 works") != std::string::npos);
  CHECK(attempt.said().find("eval.py:31 evaluate") != std::string::npos);
  CHECK_FALSE(attempt.did<StopJob>());
}

TEST_CASE("a command that goes on after its ranks is told, and never ended", "[attempt]") {
  Told attempt({.grace = {.of_ranks = 30s, .in_all = 30s}, .kill_on_stall = true});
  attempt.on(TrainingBegan{});
  watch::StallReport report{600s, {Rank{0}, Rank{1}}, {}};
  report.all_ended = true;
  attempt.on(TrainingStalled{report});
  attempt.ranks_answer();
  CHECK(attempt.said().find("the command goes on without them") != std::string::npos);
  CHECK_FALSE(attempt.did<StopJob>());
}

TEST_CASE("where the user wants it, a standstill in training ends the job politely", "[attempt]") {
  Told attempt({.grace = {.of_ranks = 30s, .in_all = 30s}, .kill_on_stall = true});
  attempt.on(TrainingBegan{});
  attempt.on(TrainingStalled{{600s, {}, {}}});
  attempt.ranks_answer();
  CHECK(attempt.last_stop().mode == launch::StopMode::polite);
  CHECK(attempt.last_stop().signal == SIGTERM);
  REQUIRE(attempt.outcome().verdict);
  CHECK(attempt.outcome().verdict->kind == FailureKind::stalled);
  CHECK_FALSE(attempt.outcome().signal);
}

TEST_CASE("a probe that says switch in the moment when a rank dies comes too late", "[attempt]") {
  Told attempt(own_spawn());
  attempt.on(rank_ended(1, Exited{1}));
  attempt.on(WayWanted{});
  CHECK_FALSE(attempt.outcome().gave_way);
  CHECK(attempt.all<StopJob>().size() == 1);
}

TEST_CASE("an attempt that makes way shows nothing of its end", "[attempt]") {
  Told attempt;
  attempt.on(WayWanted{});
  CHECK(attempt.outcome().gave_way);
  CHECK(attempt.did<HideOutput>());
  CHECK(attempt.removes_segments());
}

TEST_CASE("an attempt that has trained leaves its segments alone", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{hung(), true, false});
  attempt.ranks_answer();
  CHECK(attempt.did<StopJob>());
  CHECK_FALSE(attempt.removes_segments());
}

TEST_CASE("the watch ends once, however often the attempt is stopped", "[attempt]") {
  Told attempt;
  attempt.signal(SIGINT);
  attempt.signal(SIGINT);
  attempt.signal(SIGTERM);
  CHECK(attempt.all<EndWatching>().size() == 1);
  CHECK(attempt.all<StopJob>().size() == 3);
}

TEST_CASE("training that stood still before a rank died had failed then already", "[attempt]") {
  AttemptStory attempt;
  attempt.pass(1h);
  watch::StallReport report{10min, {}, {}};
  report.unsure = 1min;
  attempt.on(TrainingStalled{report});
  attempt.pass(20min);
  SECTION("") {
    attempt.on(VerdictFell{died(Signaled{SIGABRT}), true});
    CHECK(attempt.outcome().failed_at == TimePoint(49min));
  }
  SECTION("unless it has moved since") {
    attempt.on(TrainingMoves{15min});
    attempt.on(VerdictFell{died(Signaled{SIGABRT}), true});
    CHECK(attempt.outcome().failed_at == TimePoint(80min));
  }
}

TEST_CASE("the end of a standstill of which nobody was told is not told", "[attempt]") {
  Told attempt;
  attempt.on(TrainingStalled{{600s, {}, {}}});
  attempt.on(TrainingMoves{600s});
  attempt.ranks_answer();
  CHECK_FALSE(attempt.did<TellUser>());
  attempt.on(TrainingStalled{{600s, {}, {}}});
  attempt.ranks_answer();
  attempt.on(TrainingMoves{720s});
  CHECK(attempt.said().find("training goes on, after 12min") != std::string::npos);
}

TEST_CASE("a standstill in collectives that never meet does not end by their timeout",
          "[attempt]") {
  Told attempt;
  ranks::RankAnswers answers;
  for (const auto& [rank, operation] : {std::pair{0, "broadcast"}, std::pair{1, "reduce"}}) {
    watch::RankCollectives& seen = answers.collectives[Rank{rank}];
    seen.told = true;
    seen.last = {{"0", 31, operation, watch::CollectiveSeen::State::started}};
    seen.members["0"] = {Rank{0}, Rank{1}};
  }
  attempt.on(TrainingBegan{});
  attempt.on(TrainingStalled{{600s, {}, {}}});
  attempt.ranks_answer(answers);
  attempt.on(TrainingMoves{720s});
  CHECK(attempt.said().find("is broadcast on rank 0, but reduce on rank 1") != std::string::npos);
  CHECK(attempt.said().find("goes on") == std::string::npos);
}

TEST_CASE("RAS that answers first is waited for no longer, its ranks are", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{hung(), false, true});
  attempt.on(RasAnswered{});
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.ranks_answer();
  CHECK(attempt.all<StopJob>().size() == 1);
}

TEST_CASE("a verdict that falls while a standstill is asked about stops the job", "[attempt]") {
  Told attempt;
  attempt.on(TrainingStalled{{600s, {}, {}}});
  attempt.on(VerdictFell{hung()});
  attempt.ranks_answer();
  CHECK_FALSE(attempt.did<RecordStall>());
  CHECK(attempt.last_stop().mode == launch::StopMode::sweep);
}

TEST_CASE("a standstill is told once for each report", "[attempt]") {
  Told attempt;
  attempt.on(TrainingStalled{{600s, {}, {}}});
  attempt.ranks_answer();
  attempt.ranks_answer();
  CHECK(attempt.all<RecordStall>().size() == 1);
  attempt.on(TrainingStalled{{1200s, {}, {}}});
  attempt.ranks_answer();
  CHECK(attempt.all<RecordStall>().size() == 2);
}

TEST_CASE("a standstill says nothing once the attempt is being stopped", "[attempt]") {
  Told attempt;
  attempt.be_stopped();
  attempt.on(TrainingStalled{{600s, {}, {}}});
  CHECK_FALSE(attempt.did<AskRanks>());
}

TEST_CASE("the segments of ranks that have trained stay when one of them fails", "[attempt]") {
  Told attempt(own_spawn());
  attempt.on(TrainingBegan{});
  attempt.on(rank_ended(1, Exited{3}));
  CHECK_FALSE(attempt.removes_segments());
}

TEST_CASE("the segments of a job that failed before training are removed", "[attempt]") {
  Told attempt(own_spawn());
  attempt.on(rank_ended(1, Exited{3}));
  CHECK(attempt.removes_segments());
}

TEST_CASE("the end of the last rank that fails is no reason to stop the others", "[attempt]") {
  Told attempt(own_spawn());
  attempt.on(WorkerEnded{.rank = Rank{1}, .status = Exited{3}, .others_run = false});
  CHECK_FALSE(attempt.did<StopJob>());
  CHECK(attempt.outcome().command == ExitStatus(Exited{3}));
}

TEST_CASE("a launcher that safelaunch does not know is not waited for", "[attempt]") {
  Told attempt({.launcher = job::Launcher::opaque, .grace = {}});
  attempt.on(VerdictFell{died()});
  CHECK(attempt.did<AskRanks>());
}

TEST_CASE("a launcher is waited for only after a death, not after a contradiction", "[attempt]") {
  Told attempt;
  attempt.on(VerdictFell{Failure{.kind = FailureKind::world_size_mismatch}});
  CHECK(attempt.did<AskRanks>());
}

TEST_CASE("how the launcher ended is known to the stop", "[attempt]") {
  const bool killed = GENERATE(false, true);
  Told attempt;
  attempt.on(WorkerEnded{{}, killed ? ExitStatus(Signaled{SIGKILL}) : ExitStatus(Exited{1})});
  attempt.on(AllWorkersEnded{});
  REQUIRE(attempt.all<NoteMainEnded>().size() == 1);
  using How = launch::MainEnded::How;
  CHECK(attempt.all<NoteMainEnded>().front().ended.how ==
        (killed ? How::by_signal : How::by_itself));
}

TEST_CASE("ranks that outlive a launcher that made a success of it end by themselves",
          "[attempt]") {
  for (const bool success : {true, false}) {
    Told attempt;
    attempt.on(WorkerEnded{{}, Exited{success ? 0 : 1}});
    attempt.on(AllWorkersEnded{.ranks_live = true});
    CHECK(attempt.all<StopJob>().front().wanted.mode ==
          (success ? launch::StopMode::await : launch::StopMode::sweep));
  }
}

TEST_CASE("the first failure of a launcher's workers is the command's status", "[attempt]") {
  Told attempt(own_spawn());
  attempt.on(WorkerEnded{.rank = Rank{0}, .status = Exited{0}, .others_run = true});
  attempt.on(rank_ended(1, Signaled{SIGSEGV}));
  attempt.on(rank_ended(2, Exited{1}));
  CHECK(attempt.outcome().command == ExitStatus(Signaled{SIGSEGV}));
}

TEST_CASE("a log that stops in any state is told, and the attempt goes on", "[attempt]") {
  const output::RecordingLoss loss{"/logs/rank-0.out", "No space left on device", 10};
  for (const auto& way : {&AttemptStory::be_asked, &AttemptStory::be_stopped}) {
    AttemptStory attempt;
    (attempt.*way)();
    attempt.forget();
    attempt.on(RecordingStopped{loss});
    CHECK(attempt.done().size() == 1);
    CHECK(attempt.said() ==
          "warning: /logs/rank-0.out is not complete: No space left on device; the job goes on "
          "without it\n");
  }
}
