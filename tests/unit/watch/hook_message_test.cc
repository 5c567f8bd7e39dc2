#include "safelaunch/watch/hook_message.h"

#include <random>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::watch;

namespace {

constexpr ProcessId kProcess{71, 9};

HookMessage read(std::string_view packet) {
  HookSpeaker speaker{.process = kProcess};
  auto message = read_hook_message(packet, speaker);
  REQUIRE(message.has_value());
  return *message;
}

template <class T>
T only_event(const HookMessage& message) {
  REQUIRE(message.events.size() == 1);
  REQUIRE(std::holds_alternative<T>(message.events.front()));
  return std::get<T>(message.events.front());
}

}  // namespace

TEST_CASE("a start of a rank is read with its world", "[hook_message]") {
  const auto started =
      only_event<RankStarted>(read(R"({"e":"start","t":1,"rank":2,"world":4,"local_rank":0})"));
  CHECK(started.rank == Rank{2});
  CHECK(started.process == kProcess);
  CHECK(started.world_size == 4);
  CHECK(started.source == Source::hook);
}

TEST_CASE("each event of the protocol stands for its stage", "[hook_message]") {
  const auto [name, stage, entered] =
      GENERATE(table<std::string, Stage, bool>({{"init.enter", Stage::group, true},
                                                {"store.enter", Stage::rendezvous, true},
                                                {"store.exit", Stage::rendezvous, false},
                                                {"group", Stage::group, false},
                                                {"coll.enter", Stage::collective, true},
                                                {"coll.done", Stage::collective, false}}));
  const HookMessage message = read(R"({"e":")" + name + R"(","t":1,"rank":0,"init":true})");
  CHECK((entered ? only_event<StageEntered>(message).stage
                 : only_event<StageReached>(message).stage) == stage);
}

TEST_CASE("the address of the store is kept to tell jobs apart", "[hook_message]") {
  CHECK(
      only_event<StageEntered>(
          read(
              R"({"e":"store.enter","rank":0,"host":"node1","port":29500,"master":true,"init":true})"))
          .detail == "node1:29500");
}

TEST_CASE("a store that the script makes for itself is no stage", "[hook_message]") {
  CHECK(read(R"({"e":"store.enter","rank":0,"host":"h","port":1,"init":false})").events.empty());
  CHECK(read(R"({"e":"store.exit","rank":0,"host":"h","port":1,"init":false})").events.empty());
  CHECK(read(R"({"e":"store.failed","rank":0,"host":"h","err":"x","init":false})").events.empty());
}

TEST_CASE("a start says that the process begins anew, an import does not", "[hook_message]") {
  CHECK(only_event<RankStarted>(read(R"({"e":"start","rank":0})")).anew);
  const HookMessage imported = read(R"({"e":"imported","rank":0,"lib":"torch"})");
  CHECK_FALSE(std::get<RankStarted>(imported.events.front()).anew);
}

TEST_CASE("who makes a group of some ranks waits for its members", "[hook_message]") {
  const auto entered = only_event<StageEntered>(
      read(R"({"e":"pg.enter","rank":1,"group":"2","members":[1,3],"init":false})"));
  CHECK(entered.stage == Stage::communicator);
  CHECK(entered.awaits == std::vector{Rank{1}, Rank{3}});
  CHECK(only_event<StageLeft>(read(R"({"e":"pg.exit","rank":1,"group":"2","init":false})")).stage ==
        Stage::communicator);
  CHECK(
      read(R"({"e":"pg.enter","rank":0,"group":"2","members":[1,3],"init":false})").events.empty());
  CHECK(read(R"({"e":"pg.enter","rank":0,"group":"0","members":null,"init":true})").events.empty());
}

TEST_CASE("a collective that is queued behind the device's own work is no wait", "[hook_message]") {
  const auto left =
      only_event<StageLeft>(read(R"({"e":"coll.queued","rank":1,"op":"allreduce_"})"));
  CHECK(left.stage == Stage::collective);
  CHECK(left.device_works);
}

TEST_CASE("the first call is read with its group and its other end", "[hook_message]") {
  const auto told = std::get<HookCall>(
      read(R"({"e":"coll.enter","rank":1,"op":"recv_","group":"2","members":[1,3],"peer":3,)"
           R"("blocks":true})")
          .body);
  CHECK(told.what == HookCall::What::begins);
  CHECK(told.call == FirstCall{.operation = "recv",
                               .group = "2",
                               .members = {Rank{1}, Rank{3}},
                               .peer = Rank{3},
                               .blocks = true});
  const auto what = [](const char* packet) { return std::get<HookCall>(read(packet).body).what; };
  CHECK(what(R"({"e":"coll.done","rank":1,"op":"recv_"})") == HookCall::What::ends);
  CHECK(what(R"({"e":"coll.queued","rank":1,"op":"recv_"})") == HookCall::What::ends);
  CHECK(what(R"({"e":"coll.enter","rank":1,"op":"recv_"})") == HookCall::What::again);
  CHECK(what(R"({"e":"init.enter","rank":1})") == HookCall::What::forgotten);
}

TEST_CASE("a group of some ranks is a call, the world's is none", "[hook_message]") {
  const auto told = std::get<HookCall>(
      read(R"({"e":"pg.enter","rank":1,"group":"2","members":[1,3],"init":false})").body);
  CHECK(told.call.operation == "new_group");
  CHECK(told.call.members == std::vector{Rank{1}, Rank{3}});
  CHECK_FALSE(std::holds_alternative<HookCall>(
      read(R"({"e":"pg.enter","rank":1,"group":"0","members":null,"init":true})").body));
}

TEST_CASE("exceptions behind a rank's back are no exceptions of the rank", "[hook_message]") {
  const HookMessage thread =
      read(R"({"e":"thread.raised","rank":1,"type":"ValueError","err":"no","traceback":"tb",)"
           R"("frames":["/usr/lib/python3.11/threading.py:9 run","/home/u/job.py:3 train"]})");
  CHECK(thread.events.empty());
  const RankRaised& told = std::get<HookThreadRaised>(thread.body).raised;
  CHECK(told.type == "ValueError");
  CHECK(told.where == "job.py:3 train");
  const auto child =
      std::get<HookChildDied>(read(R"({"e":"child.died","rank":1,"pid":7,"status":-9})").body);
  CHECK(child.status == ExitStatus(Signaled{9}));
  const auto stack = std::get<StackAnswer>(
      read(R"({"e":"stack","rank":1,"id":3,"threads":[],"handled":{"type":"KeyError"}})").body);
  CHECK(stack.handled->raised.type == "KeyError");
}

TEST_CASE("an exception is read with what says whether it came from communication",
          "[hook_message]") {
  const HookMessage message = read(
      R"({"e":"exception","rank":1,"type":"ValueError","err":"no","traceback":"tb","comm":true,)"
      R"("frames":["/job/train.py:3 <module>"],"last":[["0",21,"all_reduce","started"]],)"
      R"("groups":{"0":{"enqueued":21,"started":-1,"completed":20}}})");
  const auto raised = only_event<RankRaised>(message);
  CHECK(raised.type == "ValueError");
  CHECK(raised.message == "no");
  CHECK(raised.traceback == "tb");
  CHECK(raised.communication);
  CHECK(raised.where == "train.py:3 <module>");
  const RankCollectives& came_to = std::get<HookException>(message.body).came_to;
  CHECK(came_to.groups.at("0").enqueued == 21);
  CHECK(came_to.groups.at("0").completed == 20);
  CHECK(came_to.told);
  REQUIRE(came_to.last.size() == 1);
  CHECK(came_to.last.front().number == 21);
}

TEST_CASE("a process that is no rank brings no events", "[hook_message]") {
  CHECK(read(R"({"e":"start","t":1})").events.empty());
  CHECK(read(R"({"e":"coll.enter","t":1})").events.empty());
}

TEST_CASE("a rank of JAX is through once it has exchanged its devices", "[hook_message]") {
  HookSpeaker speaker{.process = kProcess};
  const auto events_of = [&](const char* packet) {
    return read_hook_message(packet, speaker).value().events;
  };
  CHECK(events_of(R"({"e":"pg.exit","rank":0,"group":"cpu"})").empty());
  (void)events_of(R"({"e":"init.enter","rank":0,"backend":"jax"})");
  const auto events = events_of(R"({"e":"pg.exit","rank":0,"group":"cpu"})");
  REQUIRE(events.size() == 1);
  CHECK(std::get<StageReached>(events.front()).stage == Stage::collective);
  const auto without = events_of(R"({"e":"pg.exit","rank":0,"group":"tpu","made":false})");
  REQUIRE(without.size() == 1);  // JAX does without that platform
  CHECK(std::get<StageLeft>(without.front()).stage == Stage::communicator);
  const auto followed = events_of(R"({"e":"pg.exit","rank":0,"group":"cuda","followed":true})");
  REQUIRE(followed.size() == 1);  // NCCL's plugin will tell of the first collective
  CHECK(std::get<StageReached>(followed.front()).stage == Stage::communicator);
}

TEST_CASE("answers are read", "[hook_message]") {
  const auto stack = std::get<StackAnswer>(
      read(R"({"e":"stack","id":7,"threads":[{"name":"MainThread","frames":["a.py:1 f"]}]})").body);
  CHECK(stack.id == 7);
  REQUIRE(stack.threads.size() == 1);
  CHECK(stack.threads.front().frames == std::vector<std::string>{"a.py:1 f"});

  const auto counters = std::get<CountersAnswer>(
      read(
          R"({"e":"counters","id":8,"groups":{"0":{"enqueued":5,"started":-1,"completed":4}},"waits":{"w":1},"uncounted":"serves"})")
          .body);
  CHECK(counters.uncounted == Uncounted::serves);
  CHECK(counters.groups.at("0").completed == 4);
  CHECK(counters.groups.at("0").started == -1);
  CHECK(counters.waits.at("w") == 1);
  CHECK(std::get<HookServeFailed>(read(R"({"e":"serve.exit","status":3})").body).status == 3);
}

TEST_CASE("collectives are read, and what is none of them is left out", "[hook_message]") {
  const auto answer = std::get<CollectivesAnswer>(
      read(R"({"e":"collectives","id":9,"last":[["0",1,"all_reduce","finished"],["0",2],7,)"
           R"(["0",2,"broadcast","enqueued"]],"members":{"0":[0,1,-3,"x"]}})")
          .body);
  CHECK(answer.id == 9);
  REQUIRE(answer.last.size() == 2);
  CHECK(answer.last[0].state == CollectiveSeen::State::finished);
  CHECK(answer.last[1].operation == "broadcast");
  CHECK(answer.last[1].number == 2);
  CHECK(answer.members.at("0") == std::vector<Rank>{Rank{0}, Rank{1}});
  CHECK(hook_request(HookQuestion::collectives, 9) == R"({"q":"collectives","id":9})");
}

TEST_CASE("arrivals are read with the places of the looks, and what is none is left out",
          "[hook_message]") {
  const auto answer = std::get<ArrivalsAnswer>(
      read(
          R"({"e":"arrivals","id":9,"came":[["0",1,1795861774253997],["0",2],["0",3,-1],7,)"
          R"(["0",4,18446744073709551615],["0",2,1795861774353997]],)"
          R"("looks":[{"times":8,"frames":["/a/train.py:40 main","/a/data.py:88 load"]},{"times":2,"frames":["/a/train.py:41 main"]},7]})")
          .body);
  CHECK(answer.id == 9);
  REQUIRE(answer.arrivals.came.size() == 2);
  CHECK(answer.arrivals.came[1].number == 2);
  CHECK(answer.arrivals.came[1].at == std::chrono::microseconds(1795861774353997));
  CHECK(answer.arrivals.places ==
        std::map<std::string, int>{{"data.py:88 load", 8}, {"train.py:41 main", 2}});
  CHECK(hook_request(HookQuestion::arrivals, 9) == R"({"q":"arrivals","id":9})");
  CHECK(hook_request(HookQuestion::here, 0) == R"({"q":"here","id":0})");
}

TEST_CASE("a request is what the protocol says", "[hook_message]") {
  CHECK(hook_request(HookQuestion::stack, 7) == R"({"q":"stack","id":7})");
  CHECK(hook_request(HookQuestion::counters, 8) == R"({"q":"counters","id":8})");
}

TEST_CASE("what is no packet is refused", "[hook_message]") {
  HookSpeaker speaker{.process = kProcess};
  for (const char* packet :
       {"", "x", "null", "[]", "{}", "{\"e\":7}", "{\"e\":\"\"}", "{\"e\":\"start\"",
        "{\"e\":\"start\",\"rank\":-1}", "{\"e\":\"start\",\"rank\":65536}",
        "{\"e\":\"start\",\"rank\":18446744073709551615}", "{\"e\":\"start\",\"rank\":1.5}",
        "{\"e\":\"start\",\"rank\":\"1\"}", "{\"e\":\"\xff\"}"}) {
    INFO(packet);
    CHECK(read_hook_message(packet, speaker).has_error());
  }
}

TEST_CASE("fields of a wrong kind are as if they were not there", "[hook_message]") {
  const HookMessage message = read(
      R"({"e":"stack","id":"x","rank":0,"world":-4,"local_rank":[],"threads":[1,{"frames":7}]})");
  CHECK_FALSE(message.world_size);
  CHECK(std::get<StackAnswer>(message.body).threads.size() == 2);
  CHECK(std::get<StackAnswer>(message.body).id == -1);
}

TEST_CASE("a long text is cut, and not within a character", "[hook_message]") {
  std::string text = "x";
  for (int i = 0; i < 20'000; ++i) text += "é";
  const auto raised =
      only_event<RankRaised>(read(R"({"e":"exception","rank":0,"err":")" + text + R"("})"));
  CHECK(raised.message.size() == 4095);
}

TEST_CASE("a packet of nothing but brackets is refused", "[hook_message]") {
  HookSpeaker speaker{.process = kProcess};
  CHECK(read_hook_message(std::string(60'000, '['), speaker).has_error());
  const std::string nested =
      R"({"e":"stack","threads":)" + std::string(20'000, '[') + std::string(20'000, ']') + "}";
  CHECK(std::get<StackAnswer>(read(nested).body).threads.size() == 1);
}

TEST_CASE("damaged packets are read or refused, and never throw", "[hook_message]") {
  const std::string whole =
      R"({"e":"counters","t":123456789,"rank":3,"world":8,"local_rank":3,"id":8,"dropped":2,)"
      R"("groups":{"0":{"enqueued":5,"started":-1,"completed":4}},"waits":{"TCPStore__init":1},)"
      R"("threads":[{"name":"MainThread","frames":["/a b/c.py:7 f","x"]}],"err":"\u00e9"})";
  std::mt19937 random(7);
  const auto pick = [&](std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(random);
  };
  HookSpeaker speaker{.process = kProcess};
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole;
    for (std::size_t hits = 1 + pick(3); hits > 0; --hits)
      damaged[pick(damaged.size() - 1)] = static_cast<char>(pick(255));
    if (pick(3) == 0) damaged.resize(pick(damaged.size()));
    INFO(damaged);
    REQUIRE_NOTHROW((void)read_hook_message(damaged, speaker));
  }
}

// ---- the plugin
// -----------------------------------------------------------------------------------

namespace {

// A packet of a connection whose hello came from the plugin.
HookMessage read_of_plugin(std::string_view packet) {
  HookSpeaker speaker{.process = kProcess};
  REQUIRE(
      read_hook_message(R"({"e":"hello","token":"x","pid":71,"plugin":5})", speaker).has_value());
  auto message = read_hook_message(packet, speaker);
  REQUIRE(message.has_value());
  CHECK(message->source == Source::plugin);
  return *message;
}

}  // namespace

TEST_CASE("a communicator makes its process known as a rank", "[hook_message]") {
  const HookMessage message = read_of_plugin(
      R"({"e":"comm","rank":3,"world":8,"comm":18446744073709551615,"comm_rank":1,"comm_size":4,"met":true})");
  const auto started = only_event<RankStarted>(message);
  CHECK(started.rank == Rank{3});
  CHECK(started.world_size == 8);
  CHECK(started.source == Source::plugin);
  const auto& communicator = std::get<HookCommunicator>(message.body);
  CHECK(communicator.id == 18446744073709551615U);
  CHECK(communicator.rank == 1);
  CHECK(communicator.size == 4);
  CHECK(communicator.met);
}

TEST_CASE("a collective whose end will be told is waited in", "[hook_message]") {
  const HookMessage message =
      read_of_plugin(R"({"e":"coll.issued","rank":0,"op":"AllReduce","followed":true})");
  REQUIRE(message.events.size() == 2);
  CHECK(std::get<StageReached>(message.events[0]).stage == Stage::communicator);
  const auto& entered = std::get<StageEntered>(message.events[1]);
  CHECK(entered.stage == Stage::collective);
  CHECK(entered.detail == "AllReduce");
  CHECK(entered.source == Source::plugin);
}

TEST_CASE("a collective whose end nobody will tell starts no clock", "[hook_message]") {
  const auto reached = only_event<StageReached>(
      read_of_plugin(R"({"e":"coll.issued","rank":0,"op":"AllReduce","followed":false})"));
  CHECK(reached.stage == Stage::communicator);
  CHECK(reached.source == Source::plugin);
}

TEST_CASE("the end of a collective counts as the plugin's word", "[hook_message]") {
  const auto reached = only_event<StageReached>(
      read_of_plugin(R"({"e":"coll.done","rank":0,"op":"AllReduce","ms":3,"observed":true})"));
  CHECK(reached.stage == Stage::collective);
  CHECK(reached.source == Source::plugin);
}

TEST_CASE("an exit says how many collectives the rank has finished, where torch counts them") {
  const auto told = read(R"({"e":"exit","rank":0,"collectives":56})");
  CHECK(std::get<HookExit>(told.body).collectives == 56);
  CHECK_FALSE(std::get<HookExit>(read(R"({"e":"exit","rank":0})").body).collectives);
  CHECK_FALSE(
      std::get<HookExit>(read(R"({"e":"exit","rank":0,"collectives":"many"})").body).collectives);
}
