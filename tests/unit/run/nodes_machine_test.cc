#include "run_story.h"

using namespace safelaunch;
using namespace safelaunch::run;

using Agreeing = AgreeingRun;

TEST_CASE("where nodes agree, nothing starts before all have agreed on it", "[nodes]") {
  Agreeing run;
  run.begin_alone();
  CHECK(run.did<JoinNodes>());
  CHECK(run.did<TellReady>());
  CHECK_FALSE(run.did<StartAttempt>());
  CHECK_FALSE(run.did<ProposeAttempt>());
  run.on(LeadsNodes{});
  run.on(NodesReady{});
  CHECK(run.proposed() == std::vector<std::string>{"1 basic"});
  CHECK_FALSE(run.did<StartAttempt>());
  run.agree(1, "basic");
  CHECK(run.started() == std::vector<std::string>{"basic"});
}

TEST_CASE("after a failure the leader proposes the next profile to all", "[nodes]") {
  Agreeing run;
  run.lead();
  run.agree(1, "basic");
  run.ends_with(failed_in_nccl());
  run.on(ProfileChosen{});
  run.memory_is_back();
  REQUIRE(run.proposed().size() == 2);
  CHECK(run.started().size() == 1);
  const std::string second = run.all<ProposeAttempt>().back().profile.name;
  run.agree(2, second);
  CHECK(run.started().back() == second);
  run.ends_with(went_well_record());
  REQUIRE(run.all<ProposeEnd>().size() == 1);
  CHECK(run.all<ProposeEnd>().front().exit_code == 0);
  CHECK_FALSE(run.exit_code());
  run.on(EndAgreed{0, ""});
  CHECK(run.exit_code() == 0);
}

TEST_CASE("a member starts what is agreed on, and leaves what follows to the leader", "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.agree(1, "basic");
  run.ends_with(failed_in_nccl());
  CHECK(run.did<RecordAttempt>());
  CHECK_FALSE(run.did<TellFallback>());
  CHECK_FALSE(run.exit_code());
  run.agree(2, "no-shm");
  CHECK(run.started() == std::vector<std::string>{"basic", "no-shm"});
  CHECK(run.all<StartAttempt>().back().number == 2);
  run.ends_with(went_well_record());
  run.on(EndAgreed{0, ""});
  CHECK(run.exit_code() == 0);
}

TEST_CASE("a member that comes to the second attempt starts with that", "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.agree(2, "no-shm");
  CHECK(run.all<StartAttempt>().front().number == 2);
  CHECK(run.started() == std::vector<std::string>{"no-shm"});
}

TEST_CASE("a profile that is not on a member is told, and nothing starts", "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.agree(1, "our-own");
  CHECK_FALSE(run.did<StartAttempt>());
  REQUIRE(run.all<TellNotStarted>().size() == 1);
  CHECK(run.all<TellNotStarted>().front().error.message.find("our-own") != std::string::npos);
}

TEST_CASE("what the ways between the nodes show is told and recorded, and forbids nothing",
          "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.on(LeadsNodes{});
  const Finding finding{"wrong-interface", Severity::risk, "a cannot reach b on eth1", "take eth0"};
  run.on(NodesReady{{}, {}, {finding}});
  REQUIRE(run.all<RecordFinding>().size() == 1);
  CHECK(run.all<RecordFinding>().front().finding == finding);
  CHECK(run.said().find("risk: wrong-interface: a cannot reach b on eth1; help: take eth0") !=
        std::string::npos);
  CHECK(run.did<ProposeAttempt>());
}

TEST_CASE("what blocks one node ends all, with its name", "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.on(LeadsNodes{});
  run.on(NodesReady{{"gpu-17 (node 1): risk: x"}, "gpu-17 (node 1) is blocked: no torch"});
  CHECK_FALSE(run.did<ProposeAttempt>());
  REQUIRE(run.all<ProposeEnd>().size() == 1);
  CHECK(run.all<ProposeEnd>().front().exit_code == 75);
  CHECK(run.said().find("gpu-17 (node 1): risk: x") != std::string::npos);
}

TEST_CASE("a node whose checks forbid the run tells the others instead of ending", "[nodes]") {
  Agreeing run;
  run.plan.options.preflight = true;
  run.begin_alone();
  run.on(HostChecked{{.lines = {},
                      .findings = {{"python-missing", Severity::blocks, "no torch", "install"}},
                      .trouble = ""}});
  REQUIRE(run.all<TellReady>().size() == 1);
  CHECK(run.all<TellReady>().front().blocked);
  CHECK(run.all<TellReady>().front().findings.front().find("no torch") != std::string::npos);
  CHECK_FALSE(run.exit_code());
  run.on(EndAgreed{75, "gpu-17 (node 1) is blocked"});
  CHECK(run.exit_code() == 75);
}

TEST_CASE("a node whose checks forbid the run does not start alone either", "[nodes][bug]") {
  Agreeing run(false);
  run.plan.options.preflight = true;
  run.begin_alone();
  run.on(HostChecked{{.lines = {},
                      .findings = {{"connect-failed", Severity::blocks, "no route", "look"}},
                      .trouble = ""}});
  run.on(AgreedOnNone{"no other safelaunch has come in 30s"});
  CHECK(run.started().empty());
  CHECK(run.exit_code() == 75);
}

TEST_CASE("a signal goes to all nodes; a second one does not wait for them", "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.signal(SIGINT);
  REQUIRE(run.all<TellSignal>().size() == 1);
  CHECK_FALSE(run.exit_code());
  run.signal(SIGINT);
  CHECK(run.exit_code() == 130);
}

TEST_CASE("a signal while an attempt runs goes to it and to all nodes", "[nodes]") {
  Agreeing run;
  run.lead();
  run.agree(1, "basic");
  run.signal(SIGTERM);
  CHECK(run.did<SignalAttempt>());
  CHECK(run.did<TellSignal>());
}

TEST_CASE("a signal at a leader whose own ranks are through goes to the other nodes", "[nodes]") {
  Agreeing run;
  run.lead();
  run.agree(1, "basic");
  run.ended_here(went_well_record());
  run.signal(SIGTERM);
  CHECK(run.did<TellSignal>());
  CHECK_FALSE(run.did<SignalAttempt>());
  CHECK_FALSE(run.exit_code());
  run.on(EndAgreed{143, "signal 15 at node 0 (gpu-16)"});
  CHECK(run.exit_code() == 143);
}

TEST_CASE("a signal that Slurm sends twice in a millisecond is one", "[nodes]") {
  Agreeing run;
  run.lead();
  run.agree(1, "basic");
  constexpr int kSlurmstepd = 55;
  run.signal(SIGTERM, kSlurmstepd);
  run.signal(SIGTERM, kSlurmstepd);
  CHECK(run.all<SignalAttempt>().size() == 1);
  CHECK(run.all<TellSignal>().size() == 1);
  run.pass(Duration(500));
  run.signal(SIGTERM, kSlurmstepd);  // and now it is asked for again
  CHECK(run.all<SignalAttempt>().size() == 2);
  run.signal(SIGUSR1, kSlurmstepd);
  run.signal(SIGUSR1, kSlurmstepd);  // a signal that ends nothing is passed on as often as it comes
  CHECK(run.all<SignalAttempt>().size() == 4);
}

TEST_CASE("a signal that a scheduler sends to all nodes at once is one, whichever comes first",
          "[nodes]") {
  Agreeing run;
  run.lead();
  run.agree(1, "basic");
  run.on(SignalPassedOn{});  // another node's was faster
  run.signal(SIGTERM);
  CHECK(run.did<TellSignal>());
  CHECK_FALSE(run.did<SignalAttempt>());
  run.signal(SIGTERM);  // somebody does not want to wait
  CHECK(run.did<SignalAttempt>());
}

TEST_CASE("a signal that does not end a job changes nothing between attempts", "[nodes]") {
  Agreeing run;
  run.lead();
  run.signal(SIGUSR1);
  CHECK_FALSE(run.did<TellSignal>());
  run.signal(SIGINT);
  CHECK_FALSE(run.exit_code());
}

TEST_CASE("nodes that may have no agent run apart, as without safelaunch", "[nodes]") {
  Agreeing run(false);
  run.begin_alone();
  run.on(AgreedOnNone{"no other safelaunch has come in 30s"});
  CHECK(run.started() == std::vector<std::string>{"basic"});
  CHECK(run.said().find(
            "no other safelaunch has come in 30s; this node now runs alone, with one attempt") !=
        std::string::npos);
  CHECK(run.did<PartFromNodes>());  // else the end of the attempt waits for theirs
  run.ends_with(failed_in_nccl());
  CHECK(run.exit_code());
  CHECK(run.started().size() == 1);
}

TEST_CASE("a token that cannot be used ends a run that every node has an agent for", "[nodes]") {
  const Error error{Errc::bad_config, "the token's file is for all to read"};
  Agreeing certain;
  certain.begin_alone();
  certain.on(NodesRefused{error});
  CHECK(certain.exit_code() == 78);

  Agreeing by_hand(false);
  by_hand.begin_alone();
  by_hand.on(NodesRefused{error});
  CHECK(by_hand.started() == std::vector<std::string>{"basic"});
}

TEST_CASE("a signal at another node, which ended the attempt, is told here", "[nodes]") {
  AttemptRecord interrupted;
  interrupted.signal = SIGTERM;
  const EndAgreed end{143, "signal 15 at node 0 (gpu-16)"};
  const auto told = [&](bool leads, bool came_here) {
    Agreeing run;
    leads ? run.lead() : run.begin_alone();
    run.agree(1, "basic");
    if (came_here) run.signal(SIGTERM);
    run.ends_with(interrupted);
    run.on(end);
    CHECK(run.exit_code() == 143);
    const auto failures = run.all<SayFailure>();
    return !failures.empty() && failures.back().text == end.why;
  };
  for (const bool leads : {true, false}) {
    CHECK(told(leads, false));
    CHECK_FALSE(told(leads, true));
  }
}

TEST_CASE("a node whose own ranks went well tells why all end with a failure", "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.agree(1, "basic");
  run.ends_with(went_well_record());
  run.on(EndAgreed{124, "the failure is the script's own"});
  REQUIRE(run.did<SayFailure>());
  CHECK(run.all<SayFailure>().back().text ==
        "this node's ranks succeeded, but the job failed: the failure is the script's own");
}

TEST_CASE("an attempt that was ended with that of others says why in the words of the agreement",
          "[nodes]") {
  Agreeing run;
  run.begin_alone();
  run.agree(1, "basic");
  AttemptRecord record;
  record.gave_way = true;
  record.ended_because = "safelaunch ended it: the board has not confirmed this node for 10s";
  run.ends_with(record);
  CHECK(run.last_summary().failure->explanation == record.ended_because);
}

TEST_CASE("the attempt of a leader that the others tell nothing more of is recorded", "[nodes]") {
  Agreeing run;
  run.lead();
  run.agree(1, "basic");
  AttemptRecord record;
  record.gave_way = true;
  record.ended_because = "safelaunch ended it: the board has not confirmed this node for 10s";
  run.leads_no_more();
  run.ends_with(record);
  CHECK(run.last_summary().failure->explanation == record.ended_because);
  CHECK_FALSE(run.did<ProposeEnd>());
  run.on(EndAgreed{69, "node0 waited 30s for the board of the nodes"});
  CHECK(run.exit_code() == 69);
}

TEST_CASE("the attempt of a leader that waits for others is recorded when all nodes end",
          "[nodes]") {
  for (const bool well : {true, false}) {
    Agreeing run;
    run.lead();
    run.agree(1, "basic");
    run.ended_here(well ? went_well_record() : script_failed());
    CHECK_FALSE(run.did<RecordAttempt>());
    run.on(EndAgreed{69, "node0 waited 30s for the board of the nodes"});
    CHECK(run.all<RecordAttempt>().size() == 1);
    CHECK(run.last_summary().number == 1);
    CHECK(run.did<SayFailure>() == well);  // a failure here is told by the closing screen
    CHECK(run.exit_code() == 69);
  }
}

TEST_CASE("nodes that are gone end the run, with their names", "[nodes]") {
  Agreeing run;
  run.lead();
  run.agree(1, "basic");
  const AttemptRecord record = went_well_record();
  run.on(EndedByNodes{record, 69, "no word from node 1 (gpu-17) for too long"});
  REQUIRE(run.all<ProposeEnd>().size() == 1);
  CHECK(run.all<ProposeEnd>().front().exit_code == 69);
  CHECK(run.all<ProposeEnd>().front().why.find("no word from node 1 (gpu-17)") !=
        std::string::npos);
}
