// The effect of each event in each state: read a table against the drawing of the states.
#include "agent_story.h"

namespace safelaunch::agree {
namespace {

using Happens = std::function<void(AgentStory&)>;

std::string what_events_do(const std::function<void(AgentStory&)>& way) {
  const auto word = [](Decision decision) {
    return [decision](AgentStory& agent) { agent.hears(decision); };
  };
  const std::vector<std::pair<std::string, Happens>> events{
      {"seated",
       [](AgentStory& a) {
         a.on(Seated{{a.config.claim.seat.value(), 1}});
       }},
      {"parked", [](AgentStory& a) { a.on(Parked{"held by another"}); }},
      {"confirmed", [](AgentStory& a) { a.confirmed(); }},
      {"gather", word({.order = Order::gather})},
      {"reach", word({.order = Order::gather, .doors = "[]"})},
      {"go", [](AgentStory& a) { a.is_sent_off(1); }},
      {"stop", word({.order = Order::stop, .attempt = 1})},
      {"end", word({.order = Order::end, .exit_code = 3})},
      {"apart", word({.order = Order::apart})},
      {"node 0 gone", [](AgentStory& a) { a.on(SeatVacated{0}); }},
      {"unseated", [](AgentStory& a) { a.on(Unseated{"not heard"}); }},
      {"refused",
       [](AgentStory& a) {
         a.on(Refused{{Errc::usage, "wrong token"}});
       }},
      {"unreachable", [](AgentStory& a) { a.on(Unreachable{"no answer"}); }},
      {"turned away", [](AgentStory& a) { a.on(TurnedAway{"gpu-9 is a spare"}); }},
      {"news", [](AgentStory& a) { a.on(NewsHere{{.workers = 8}}); }},
      {"over here", [](AgentStory& a) { a.is_over(); }},
      {"signal", [](AgentStory& a) { a.on(SignalHere{15}); }},
      {"lease over", [](AgentStory& a) { a.passes(10s); }},
  };
  return testing::table_of<ActionWord, AgentStory>(
      events, way, [](AgentStory& story, const Happens& happens) { happens(story); });
}

/// The same for the events that a leader alone hears.
std::string what_the_leader_does(const std::function<void(AgentStory&)>& way) {
  const auto ended = [](NodePhase phase, int exit_code) {
    return [=](AgentStory& a) {
      a.member_is(1, phase, NodeEnd{.attempt = 1, .exit_code = exit_code, .diagnosis = {}});
    };
  };
  const std::vector<std::pair<std::string, Happens>> events{
      {"node 1 joined", [](AgentStory& a) { a.member_is(1, NodePhase::joined); }},
      {"node 1 ready", [](AgentStory& a) { a.member_is(1, NodePhase::ready); }},
      {"node 1 going", [](AgentStory& a) { a.member_is(1, NodePhase::going); }},
      {"node 1 ended well", ended(NodePhase::ended, 0)},
      {"node 1 failed", ended(NodePhase::ended, 1)},
      {"node 1 stopped", ended(NodePhase::stopped, 0)},
      {"node 1 anew", [](AgentStory& a) { a.member(1, {}, "another"); }},
      {"node 1 gone", [](AgentStory& a) { a.on(SeatVacated{1}), a.echo(); }},
      {"node 1 signalled", [](AgentStory& a) { a.member(1, {.signal = 15}); }},
      {"turned away", [](AgentStory& a) { a.on(TurnedAway{"gpu-9 is a spare"}); }},
      {"reach wanted", [](AgentStory& a) { a.on(ReachWanted{"[]"}), a.echo(); }},
      {"attempt wanted", [](AgentStory& a) { a.wants(2); }},
      {"stop wanted", [](AgentStory& a) { a.on(StopWanted{"a hang"}), a.echo(); }},
      {"end wanted",
       [](AgentStory& a) {
         a.on(EndWanted{3, "over"}), a.echo();
       }},
      {"attention",
       [](AgentStory& a) {
         a.on(AttentionWanted{true, 1}), a.echo();
       }},
      {"over here", [](AgentStory& a) { a.is_over(), a.echo(); }},
      {"signal", [](AgentStory& a) { a.on(SignalHere{15}), a.echo(); }},
      {"unseated", [](AgentStory& a) { a.on(Unseated{"not heard"}); }},
      {"lease over", [](AgentStory& a) { a.passes(10s); }},
  };
  return testing::table_of<ActionWord, AgentStory>(
      events, way, [](AgentStory& story, const Happens& happens) { happens(story); });
}

}  // namespace

TEST_CASE("what each event does in each state of a member", "[agree]") {
  SECTION("joining") {
    CHECK(what_events_do([](AgentStory& agent) { agent.on(Joins{}); }) == R"(
seated: publish joined
parked: tell
unseated: claim
refused: end with 64
signal: leave, end with 143
lease over: tell
nothing: confirmed; gather; reach; go; stop; end; apart; node 0 gone; unreachable; turned away;
  news; over here
)");
  }
  SECTION("parked") {
    CHECK(what_events_do([](AgentStory& agent) {
            agent.on(Joins{});
            agent.on(Parked{"held by another"});
          }) == R"(
seated: publish joined
end: tell, leave, end with 3
apart: leave, end with 0
unseated: claim
refused: end with 64
signal: leave, end with 143
nothing: parked; confirmed; gather; reach; go; stop; node 0 gone; unreachable; turned away;
  news; over here; lease over
)");
  }
  SECTION("joined") {
    CHECK(what_events_do([](AgentStory& agent) { agent.sits(); }) == R"(
parked: tell
gather: publish joined
reach: publish joined
go: publish joined
stop: publish joined
end: publish leaving, leave, end with 3
apart: publish leaving, leave, apart
unseated: claim
refused: publish leaving, end with 64
news: publish joined
signal: publish joined and the signal, publish leaving and the signal, leave, end with 143
lease over: tell
nothing: seated; confirmed; node 0 gone; unreachable; turned away; over here
)");
  }
  SECTION("ready") {
    CHECK(what_events_do([](AgentStory& agent) {
            agent.sits();
            agent.is_called();
          }) == R"(
parked: tell
gather: publish ready
reach: publish ready, reach []
go: publish going, hold, start 1
stop: publish ready
end: publish leaving, leave, end with 3
apart: publish leaving, leave, apart
unseated: claim
refused: publish leaving, end with 64
news: publish ready
signal: publish ready and the signal
nothing: seated; confirmed; node 0 gone; unreachable; turned away; over here; lease over
)");
  }
  SECTION("going") {
    CHECK(what_events_do([](AgentStory& agent) { agent.goes(); }) == R"(
parked: kill, tell
confirmed: hold
gather: stop
reach: stop
go: stop
stop: publish going, stop
end: stop
apart: stop
node 0 gone: stop
unseated: kill
refused: stop
news: publish going
over here: publish ended
signal: publish going and the signal
lease over: kill
nothing: seated; unreachable; turned away
)");
  }
  SECTION("stopping") {
    CHECK(what_events_do([](AgentStory& agent) {
            agent.goes();
            agent.hears({.order = Order::stop, .attempt = 1});
          }) == R"(
parked: kill, tell
confirmed: hold
stop: publish going
unseated: kill
news: publish going
over here: publish stopped
signal: publish going and the signal
lease over: kill
nothing: seated; gather; reach; go; end; apart; node 0 gone; refused; unreachable; turned away
)");
  }
  SECTION("ended") {
    CHECK(what_events_do([](AgentStory& agent) {
            agent.goes();
            agent.is_over();
          }) == R"(
parked: tell
gather: publish ready
reach: publish ready, reach []
go: publish ended
stop: publish ended
end: publish leaving, leave, end with 3
apart: publish leaving, leave, end with 0
unseated: claim
refused: publish leaving, end with 64
news: publish ended
signal: publish ended and the signal
nothing: seated; confirmed; node 0 gone; unreachable; turned away; over here; lease over
)");
  }
  SECTION("lost, and its ranks are being killed") {
    CHECK(what_events_do([](AgentStory& agent) {
            agent.goes();
            agent.passes(10s);
          }) == R"(
parked: tell
stop: publish going
news: publish going
over here: publish stopped
signal: publish going and the signal
lease over: tell
nothing: seated; confirmed; gather; reach; go; end; apart; node 0 gone; unseated; refused;
  unreachable; turned away
)");
  }
  SECTION("lost") {
    CHECK(what_events_do([](AgentStory& agent) {
            agent.goes();
            agent.passes(10s);
            agent.is_over(137);
          }) == R"(
parked: tell
gather: publish ready
reach: publish ready, reach []
go: publish stopped
stop: publish stopped
end: publish leaving, leave, end with 3
apart: publish leaving, leave, end with 0
unseated: claim
refused: publish leaving, end with 64
news: publish stopped
signal: publish stopped and the signal, publish leaving and the signal, leave, end with 143
lease over: tell
nothing: seated; confirmed; node 0 gone; unreachable; turned away; over here
)");
  }
  SECTION("ending") {
    CHECK(what_events_do([](AgentStory& agent) {
            agent.goes();
            agent.hears({.order = Order::end, .exit_code = 3});
          }) == R"(
parked: kill
confirmed: hold
unseated: kill
news: publish going
over here: publish stopped, publish leaving, leave, end with 3
signal: publish going and the signal
lease over: kill
nothing: seated; gather; reach; go; stop; end; apart; node 0 gone; refused; unreachable;
  turned away
)");
  }
}

TEST_CASE("what each event does in each state of a leader", "[agree]") {
  SECTION("gathering") {
    CHECK(what_the_leader_does([](AgentStory& agent) {
            agent.leads();
            agent.on(NewsHere{});
            agent.member_is(2, NodePhase::ready);
          }) == R"(
node 1 joined: node 1 told
node 1 ready: node 1 told, all ready
node 1 going: node 1 told
node 1 ended well: node 1 told
node 1 failed: node 1 told
node 1 stopped: node 1 told
node 1 anew: node 1 told
node 1 signalled: node 1 told, say 1.2 end 143
turned away: tell
end wanted: say 1.2 end 3
signal: say 1.2 end 143
unseated: claim
lease over: tell
nothing: node 1 gone; reach wanted; attempt wanted; stop wanted; attention; over here
)");
  }
  SECTION("all are ready") {
    CHECK(what_the_leader_does([](AgentStory& agent) {
            agent.leads();
            agent.all_come();
          }) == R"(
node 1 joined: node 1 told
node 1 ready: node 1 told
node 1 going: node 1 told
node 1 ended well: node 1 told
node 1 failed: node 1 told
node 1 stopped: node 1 told
node 1 anew: node 1 told
node 1 gone: node 1 silent
node 1 signalled: node 1 told, say 1.2 end 143
turned away: tell
reach wanted: say 1.2 gather, reach []
attempt wanted: say 1.2 go 2, hold, start 2
end wanted: say 1.2 end 3
signal: say 1.2 end 143
unseated: claim
nothing: stop wanted; attention; over here; lease over
)");
  }
  SECTION("going") {
    CHECK(what_the_leader_does([](AgentStory& agent) { agent.leads_attempt(); }) == R"(
node 1 joined: node 1 told, say 1.3 stop, stop
node 1 ready: node 1 told, say 1.3 stop, stop
node 1 going: node 1 told
node 1 ended well: node 1 told
node 1 failed: node 1 told, say 1.3 stop, stop
node 1 stopped: node 1 told
node 1 anew: node 1 told, say 1.3 stop, stop
node 1 gone: node 1 silent, say 1.3 stop, stop
node 1 signalled: node 1 told, say 1.3 stop, stop by 15
turned away: tell
stop wanted: say 1.3 stop, stop
end wanted: say 1.3 end 3, stop
attention: say 1.3 go 1
signal: say 1.3 stop
unseated: kill
lease over: kill
nothing: reach wanted; attempt wanted; over here
)");
  }
  SECTION("stopping") {
    CHECK(what_the_leader_does([](AgentStory& agent) {
            agent.leads_attempt();
            agent.on(StopWanted{"a hang"});
            agent.echo();
          }) == R"(
node 1 joined: node 1 told
node 1 ready: node 1 told
node 1 going: node 1 told
node 1 ended well: node 1 told
node 1 failed: node 1 told
node 1 stopped: node 1 told
node 1 anew: node 1 told
node 1 gone: node 1 silent
node 1 signalled: node 1 told, say 1.4 end 143
turned away: tell
end wanted: say 1.4 end 3
signal: say 1.4 end 143
unseated: kill
lease over: kill
nothing: reach wanted; attempt wanted; stop wanted; attention; over here
)");
  }
  SECTION("ending") {
    CHECK(what_the_leader_does([](AgentStory& agent) {
            agent.leads_attempt();
            agent.on(EndWanted{0, ""});
            agent.echo();
          }) == R"(
node 1 joined: node 1 told
node 1 ready: node 1 told
node 1 going: node 1 told
node 1 ended well: node 1 told
node 1 failed: node 1 told
node 1 stopped: node 1 told
node 1 anew: node 1 told
node 1 gone: node 1 silent
node 1 signalled: node 1 told
turned away: tell
unseated: kill
lease over: kill
nothing: reach wanted; attempt wanted; stop wanted; end wanted; attention; over here; signal
)");
  }
}

}  // namespace safelaunch::agree
