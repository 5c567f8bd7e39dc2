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

TEST_CASE("after the user's signal the command's own status counts", "[attempt]") {
  Told attempt;
  attempt.signal(SIGTERM);
  attempt.on(WorkerEnded{{}, Exited{143}});
  CHECK(attempt.outcome().command == ExitStatus(Exited{143}));
  CHECK(attempt.outcome().signal == SIGTERM);
}

TEST_CASE("a job that takes long to end after a signal is explained in one line", "[attempt]") {
  Told attempt;
  attempt.signal(SIGTERM);
  attempt.ranks_answer();
  attempt.pass(1s);
  CHECK(attempt.said().empty());
  attempt.pass(2s);
  CHECK(attempt.said() ==
        "SIGTERM: passed on; the job may save as long as it needs. A second one kills it now\n");
}

TEST_CASE("a job that may have something to save is on no clock unless the user has set one",
          "[attempt]") {
  AttemptRules rules = own_spawn();
  SECTION("none") {
    Told attempt(rules);
    attempt.signal(SIGHUP);
    CHECK(attempt.last_stop().grace == std::nullopt);
  }
  SECTION("--grace") {
    rules.grace.from_first_signal = true;
    Told attempt(rules);
    attempt.signal(SIGHUP);
    CHECK(attempt.last_stop().grace == rules.grace.in_all);
  }
  SECTION("ranks that wait for each other have nothing to save") {
    Told attempt(rules);
    attempt.hang_with_a_person_waiting();
    attempt.ranks_answer(rank_1_is_in("train.py:50 load"));
    CHECK(attempt.last_stop().grace == rules.grace.in_all);
  }
}

TEST_CASE("a hangup is not explained: nobody is there", "[attempt]") {
  Told attempt;
  attempt.signal(SIGHUP);
  attempt.pass(5s);
  CHECK(attempt.said().empty());
  CHECK(attempt.last_stop().signal == SIGHUP);
}

TEST_CASE("Ctrl-C on a hang says who waits for whom before the signal reaches the ranks",
          "[attempt]") {
  Told attempt;
  attempt.hang_with_a_person_waiting();
  CHECK(attempt.all<AskRanks>() == std::vector<AskRanks>{{250ms, ranks::Whom::imported}});
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.ranks_answer(rank_1_is_in("train.py:50 load"));
  CHECK(attempt.said().find("rank 0 has waited") != std::string::npos);
  CHECK(attempt.said().find("train.py:50 load") != std::string::npos);
  CHECK(attempt.said().find("Ctrl-C again kills them now") != std::string::npos);
  CHECK(attempt.last_stop().mode == launch::StopMode::polite);
  CHECK(attempt.last_stop().signal == SIGINT);
}

TEST_CASE("the ranks are asked before the signal, and told of only where the job stays",
          "[attempt]") {
  Told attempt;
  attempt.signal(SIGINT);
  CHECK(attempt.all<AskRanks>() == std::vector<AskRanks>{{250ms, ranks::Whom::imported}});
  CHECK_FALSE(attempt.did<StopJob>());
  attempt.ranks_answer(rank_1_is_in("train.py:50 load"));
  CHECK(attempt.last_stop().mode == launch::StopMode::polite);
  CHECK(attempt.last_stop().signal == SIGINT);
  CHECK(attempt.said().empty());
  attempt.pass(3s);
  CHECK(attempt.said() ==
        "SIGINT came to rank 1 in train.py:50 load\n"
        "SIGINT: passed on; the job may save as long as it needs. A second one kills it now\n");
}

TEST_CASE("a job that ends at once after a signal tells at its end where it stood", "[attempt]") {
  Told attempt;
  attempt.signal(SIGTERM);
  attempt.ranks_answer(rank_1_is_in("train.py:50 load"));
  attempt.end_processes();
  CHECK(attempt.said().empty());
  attempt.on(OutputDrained{});
  CHECK(attempt.said() == "SIGTERM came to rank 1 in train.py:50 load\n");
}

TEST_CASE("a single process that Ctrl-C ends has said itself where it stood", "[attempt]") {
  Told attempt;
  attempt.signal(SIGINT);
  attempt.ranks_answer(rank_1_is_in("train.py:50 load"));
  attempt.end_processes(/*output_drained=*/true);
  CHECK(attempt.said().empty());
}

TEST_CASE("a second TERM while the ranks are asked stops the job harder at once", "[attempt]") {
  Told attempt;
  attempt.signal(SIGTERM);
  attempt.signal(SIGTERM);
  CHECK(attempt.all<StopJob>().size() == 2);
  attempt.ranks_answer(rank_1_is_in("train.py:50 load"));
  attempt.pass(3s);
  CHECK(attempt.said().empty());
}

TEST_CASE("a hangup is passed on at once: nobody is there to be told", "[attempt]") {
  Told attempt;
  attempt.signal(SIGHUP);
  CHECK_FALSE(attempt.did<AskRanks>());
  CHECK(attempt.last_stop().signal == SIGHUP);
}

TEST_CASE("a second Ctrl-C while the ranks are being asked is not lost", "[attempt]") {
  Told attempt;
  attempt.hang_with_a_person_waiting();
  attempt.signal(SIGINT);
  CHECK(attempt.said().find("rank 0 has waited") != std::string::npos);
  CHECK(attempt.all<StopJob>().size() == 2);  // the second INT means: now
  attempt.forget();
  attempt.ranks_answer();
  CHECK_FALSE(attempt.did<StopJob>());
  CHECK_FALSE(attempt.did<TellUser>());
}

TEST_CASE("a verdict that falls while a Ctrl-C is explained does not make the stop harder",
          "[attempt]") {
  Told attempt;
  attempt.hang_with_a_person_waiting();
  attempt.on(VerdictFell{hung()});
  attempt.ranks_answer();
  CHECK(attempt.last_stop().mode == launch::StopMode::polite);
  CHECK(attempt.outcome().signal == SIGINT);
}

TEST_CASE("a rank that fails while a Ctrl-C is explained ends the asking", "[attempt]") {
  Told attempt(own_spawn());
  attempt.hang_with_a_person_waiting();
  attempt.on(rank_ended(1, Exited{1}));
  CHECK(attempt.last_stop().signal == SIGINT);
}

TEST_CASE("a job that ends while a Ctrl-C is explained needs no explanation", "[attempt]") {
  Told attempt;
  attempt.hang_with_a_person_waiting();
  attempt.on(AllWorkersEnded{});
  attempt.ranks_answer();
  CHECK(attempt.said().empty());
  CHECK(attempt.last_stop().mode == launch::StopMode::sweep);
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

TEST_CASE("a signal that does not end a job is passed on in every state", "[attempt]") {
  using Way = void (*)(Told&);
  const Way way =
      GENERATE(Way([](Told&) {}), Way([](Told& attempt) { attempt.hang_with_a_person_waiting(); }),
               Way([](Told& attempt) { attempt.be_asked(); }),
               Way([](Told& attempt) { attempt.be_stopped(); }));
  Told attempt;
  way(attempt);
  attempt.on(SignalCame{SIGUSR1, launch::SignalOrigin::user, {}});
  CHECK(attempt.all<ForwardSignal>() ==
        std::vector<ForwardSignal>{{SIGUSR1, launch::SignalOrigin::user}});
  CHECK_FALSE(attempt.outcome().late_signal);
}

TEST_CASE("a signal that was ignored at the start is passed on and ends nothing", "[attempt]") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    AttemptStory attempt({.launcher = job::Launcher::python, .grace = {}});
    for (int times = 0; times < 2; ++times)
      attempt.on(SignalCame{signal, launch::SignalOrigin::user, {}, true});
    CHECK(attempt.all<ForwardSignal>().size() == 2);
    CHECK_FALSE(attempt.did<StopJob>());
    CHECK_FALSE(attempt.outcome().signal);
  }
}

TEST_CASE("a rank that ends by a signal that was ignored leaves the others time to save",
          "[attempt]") {
  const auto told = [](AttemptStory& attempt) {
    attempt.on(SignalCame{SIGINT, launch::SignalOrigin::user, {}, true});
  };
  SECTION("below torchrun") {
    AttemptStory attempt;
    told(attempt);
    attempt.on(VerdictFell{died(Signaled{SIGINT})});
    CHECK_FALSE(attempt.did<StopJob>());
    CHECK_FALSE(attempt.did<RecordVerdict>());
    CHECK(attempt.outcome().signal == SIGINT);
    CHECK_FALSE(attempt.outcome().verdict);
  }
  SECTION("in a spawn of our own") {
    AttemptStory attempt({.own_spawn = true, .grace = {}});
    told(attempt);
    attempt.on(WorkerEnded{Rank{1}, Signaled{SIGINT}, true});
    CHECK_FALSE(attempt.did<StopJob>());
    CHECK(attempt.outcome().signal == SIGINT);
  }
  SECTION("but a person's key ends a job that has nothing to save yet") {
    AttemptStory attempt;
    attempt.on(KeyPassedOn{SIGINT});
    attempt.on(VerdictFell{died(Signaled{SIGTERM})});  // torchrun passes it on so
    CHECK_FALSE(attempt.did<StopJob>());
    attempt.pass(3s);
    CHECK(attempt.did<StopJob>());
    CHECK(attempt.outcome().signal == SIGINT);
    CHECK_FALSE(attempt.outcome().verdict);
    AttemptStory saves;
    saves.on(KeyPassedOn{SIGINT});
    saves.on(VerdictFell{died(Signaled{SIGINT}), true});
    saves.pass(3s);
    CHECK_FALSE(saves.did<StopJob>());
  }
  SECTION("but one that ends otherwise, or long after, is a failure") {
    AttemptStory other;
    told(other);
    other.on(VerdictFell{died(Signaled{SIGKILL})});
    CHECK(other.did<RecordVerdict>());
    AttemptStory late;
    told(late);
    late.pass(2min);
    late.on(VerdictFell{died(Signaled{SIGINT})});
    CHECK(late.did<RecordVerdict>());
  }
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

TEST_CASE("a hangup that nohup ignores does not reach a torchrun, which would end by it",
          "[attempt]") {
  for (const job::Launcher launcher : {job::Launcher::torchrun, job::Launcher::accelerate}) {
    AttemptStory attempt({.launcher = launcher, .grace = {}});
    attempt.on(SignalCame{SIGHUP, launch::SignalOrigin::user, {}, true});
    CHECK_FALSE(attempt.did<ForwardSignal>());
    attempt.on(SignalCame{SIGINT, launch::SignalOrigin::user, {}, true});
    CHECK(attempt.did<ForwardSignal>());
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

TEST_CASE("a signal between a verdict and the ranks' answers ends ranks that no signal ends",
          "[attempt]") {
  Told attempt;
  attempt.be_asked();
  attempt.signal(SIGINT);
  const auto first = attempt.all<StopJob>().front().wanted;
  CHECK(first.mode == launch::StopMode::sweep);
  CHECK(first.grace);
}

// One row a state: what TERM does there.
TEST_CASE("a signal arrives in every state", "[attempt]") {
  Told attempt;
  struct Expected {
    bool signal;
    bool late;
    bool stops;
  };
  const auto after_term = [&]() -> Expected {
    attempt.forget();
    attempt.signal(SIGTERM);
    attempt.ranks_answer();
    return {attempt.outcome().signal == SIGTERM, attempt.outcome().late_signal == SIGTERM,
            attempt.did<StopJob>()};
  };
  const auto check = [&](Expected expected) {
    const Expected found = after_term();
    CHECK(found.signal == expected.signal);
    CHECK(found.late == expected.late);
    CHECK(found.stops == expected.stops);
  };
  SECTION("running") {
    check({.signal = true, .late = false, .stops = true});
  }
  SECTION("running, while the launcher reacts") {
    attempt.on(VerdictFell{died()});
    check({.signal = true, .late = false, .stops = true});
  }
  SECTION("explaining a Ctrl-C") {
    attempt.hang_with_a_person_waiting();
    check({.signal = false, .late = false, .stops = true});
    CHECK(attempt.outcome().signal == SIGINT);
  }
  SECTION("asking") {
    attempt.be_asked();
    check({.signal = false, .late = true, .stops = true});
  }
  SECTION("stopping a hang") {
    attempt.be_asked();
    attempt.ranks_answer();
    check({.signal = false, .late = true, .stops = true});
  }
  SECTION("stopping for another profile") {
    attempt.be_stopped();
    check({.signal = true, .late = false, .stops = true});
  }
  SECTION("draining") {
    attempt.be_asked();
    attempt.ranks_answer();
    attempt.end_processes();
    check({.signal = false, .late = true, .stops = false});
  }
  SECTION("over") {
    attempt.on(AllWorkersEnded{});
    attempt.end_processes(true);
    check({.signal = false, .late = true, .stops = false});
  }
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

TEST_CASE("each signal that stops a job is passed on with whoever sent it", "[attempt]") {
  Told attempt;
  attempt.on(SignalCame{SIGINT, launch::SignalOrigin::terminal, {}});
  attempt.on(SignalCame{SIGTERM, launch::SignalOrigin::user, {}});
  const auto stops = attempt.all<StopJob>();
  REQUIRE(stops.size() == 2);
  CHECK(stops[0].asked_by == launch::SignalOrigin::terminal);
  CHECK(stops[1].asked_by == launch::SignalOrigin::user);
  CHECK(stops[1].wanted.signal == SIGTERM);
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
