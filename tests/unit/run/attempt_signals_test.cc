// What a signal does to an attempt: passed on, explained, or the reason of its end.
#include "attempt_story.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;
using Told = AttemptStory;

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
