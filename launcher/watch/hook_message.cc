#include "safelaunch/watch/hook_message.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"

// A field of a wrong kind is as if it were not there; only bytes that are no JSON object, a
// packet without a name and a rank that is none make an error. The events of a packet depend on
// what its process has said before: JAX's ranks meet in their exchange of devices, torch's in a
// group.
namespace safelaunch::watch {
namespace {

using Json = nlohmann::json;

// Texts are cut, since one of each kind is kept for every rank.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestTraceback = 16'384;
constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kMostFrames = 256;

std::string text(const Json& object, const char* key) {
  return text_of(object, key, kLongestText);
}

int id_of(const Json& packet) {
  return number_of(packet, "id", 0, std::numeric_limits<int>::max()).value_or(-1);
}

constexpr int kLargestPid = 1 << 22;

HookHello hello_of(const Json& packet) {
  constexpr int kLargestInterface = 99;
  return {.token = text(packet, "token"),
          .pid = number_of(packet, "pid", 0, kLargestPid).value_or(0),
          .parent = number_of(packet, "ppid", 0, kLargestPid).value_or(0),
          .python = text(packet, "python"),
          .argv = texts_of(packet, "argv", 3, kLongestText),
          .plugin = number_of(packet, "plugin", 0, kLargestInterface).value_or(0)};
}

RankRaised raised_of(const Json& object, Rank rank) {
  return {.rank = rank,
          .process = {},
          .type = text(object, "type"),
          .message = text(object, "err"),
          .traceback = text_of(object, "traceback", kLongestTraceback),
          .communication = is_true(object, "comm"),
          .where = summarize({{"", texts_of(object, "frames", kMostFrames, kLongestText)}})};
}

// As Python has it: the negative number of a signal.
ExitStatus status_of(const Json& packet) {
  constexpr int kLargest = 255;
  const int status = number_of(packet, "status", -kLargest, kLargest).value_or(1);
  return status < 0 ? ExitStatus(Signaled{-status}) : ExitStatus(Exited{status});
}

StackAnswer stack_of(const Json& packet, Rank rank) {
  StackAnswer answer{.id = id_of(packet), .threads = {}};
  if (const Json* handled = field_of(packet, "handled"); handled && handled->is_object())
    answer.handled = ExceptionTold{raised_of(*handled, rank), is_true(packet, "leaves")};
  for (const Json& thread : array_of(packet, "threads"))
    if (answer.threads.size() < kMostThreads)
      answer.threads.push_back(
          {text(thread, "name"), texts_of(thread, "frames", kMostFrames, kLongestText)});
  return answer;
}

std::map<std::string, GroupCounters> groups_of(const Json& packet) {
  std::map<std::string, GroupCounters> groups;
  for (const auto& [name, counts] : object_of(packet, "groups").items())
    groups[name] = {.enqueued = number_of<std::int64_t>(counts, "enqueued").value_or(0),
                    .started = number_of<std::int64_t>(counts, "started").value_or(0),
                    .completed = number_of<std::int64_t>(counts, "completed").value_or(0)};
  return groups;
}

CountersAnswer counters_of(const Json& packet) {
  CountersAnswer answer{.id = id_of(packet), .groups = groups_of(packet), .waits = {}};
  for (const auto& [name, count] : object_of(packet, "waits").items())
    answer.waits[name] = as_number<std::int64_t>(count).value_or(0);
  answer.uncounted = uncounted_named(text_of(packet, "uncounted"));
  return answer;
}

// [group, number, operation, state]
std::optional<CollectiveSeen> collective_of(const Json& entry) {
  constexpr std::size_t kFields = 4;
  if (!entry.is_array() || entry.size() != kFields || !entry[1].is_number_integer())
    return std::nullopt;
  for (const std::size_t text : {0U, 2U, 3U})
    if (!entry[text].is_string()) return std::nullopt;
  const auto& state = entry[3].get_ref<const std::string&>();
  using State = CollectiveSeen::State;
  return CollectiveSeen{
      .group = std::string(cut(entry[0].get_ref<const std::string&>(), kLongestName)),
      .number = entry[1].get<std::int64_t>(),
      .operation = std::string(cut(entry[2].get_ref<const std::string&>(), kLongestName)),
      .state = state == "finished"  ? State::finished
               : state == "started" ? State::started
                                    : State::enqueued};
}

std::vector<Rank> ranks_of(const Json& list) {
  std::vector<Rank> ranks;
  if (!list.is_array()) return ranks;
  for (const Json& one : list)
    if (const auto rank = as_number(one); rank && *rank >= 0 && *rank < kMostRanks)
      ranks.push_back(Rank{*rank});
  return ranks;
}

CollectivesAnswer collectives_of(const Json& packet) {
  CollectivesAnswer answer{.id = id_of(packet), .last = {}, .members = {}};
  for (const Json& entry : array_of(packet, "last"))
    if (auto one = collective_of(entry)) answer.last.push_back(std::move(*one));
  for (const auto& [group, ranks] : object_of(packet, "members").items())
    answer.members[group] = ranks_of(ranks);
  return answer;
}

RankCollectives came_to(const Json& packet) {
  CollectivesAnswer answer = collectives_of(packet);
  return {.told = field_of(packet, "last") != nullptr,
          .groups = groups_of(packet),
          .last = std::move(answer.last),
          .members = std::move(answer.members),
          .waits = {}};
}

// [group, number, microseconds]
std::optional<Arrival> arrival_of(const Json& entry) {
  constexpr std::size_t kFields = 3;
  constexpr std::int64_t kLatest = 10'000'000'000'000'000;  // in the year 2286
  if (!entry.is_array() || entry.size() != kFields || !entry[0].is_string() ||
      !entry[1].is_number_integer() || !entry[2].is_number_integer())
    return std::nullopt;
  const auto at = entry[2].get<std::int64_t>();
  if (at < 0 || at > kLatest) return std::nullopt;
  return Arrival{.group = std::string(cut(entry[0].get_ref<const std::string&>(), kLongestName)),
                 .number = entry[1].get<std::int64_t>(),
                 .at = std::chrono::microseconds(at)};
}

Arrivals arrivals_of(const Json& packet) {
  constexpr int kMostLooks = 1'000;
  Arrivals arrivals;
  for (const Json& entry : array_of(packet, "came"))
    if (auto one = arrival_of(entry)) arrivals.came.push_back(std::move(*one));
  for (const Json& look : array_of(packet, "looks"))
    if (const auto times = number_of(look, "times", 1, kMostLooks))
      arrivals.places[summarize({{"", texts_of(look, "frames", kMostFrames, kLongestText)}})] +=
          *times;
  return arrivals;
}

HookCommunicator communicator_of(const Json& packet) {
  return {.id = number_of<std::uint64_t>(packet, "comm").value_or(0),
          .rank = number_of(packet, "comm_rank", 0, kMostRanks - 1),
          .size = number_of(packet, "comm_size", 1, kMostRanks),
          .met = is_true(packet, "met")};
}

// A group of some ranks is made by a call of its own; the world's is made within init.
constexpr const char* kNewGroup = "new_group";

HookCall call_of(const Json& packet, HookCall::What what) {
  HookCall told{.what = what,
                .call = {.operation = operation_for_people(text(packet, "op")),
                         .group = text(packet, "group"),
                         .members = ranks_of(array_of(packet, "members")),
                         .blocks = is_true(packet, "blocks")}};
  if (const auto peer = number_of(packet, "peer", 0, kMostRanks - 1)) told.call.peer = Rank{*peer};
  told.call.tag = number_of<std::int64_t>(packet, "tag").value_or(0);
  return told;
}

HookCall new_group_of(const Json& packet, HookCall::What what) {
  HookCall told = call_of(packet, what);
  told.call.operation = kNewGroup;
  told.call.blocks = true;
  return told;
}

std::optional<InitFile> init_file_of(const Json& packet) {
  const std::string path = text(packet, "file");
  if (path.empty()) return std::nullopt;
  constexpr int kLargestAge = 1'000'000'000;
  return InitFile{
      .path = path,
      .bytes = number_of<std::int64_t>(packet, "file_bytes").value_or(0),
      .age = std::chrono::seconds(number_of(packet, "file_age_s", 0, kLargestAge).value_or(0))};
}

// Where the device comes to the call later, only the operation is told again.
std::optional<HookCall> call_in(const std::string& name, const Json& packet) {
  using What = HookCall::What;
  const bool of_group = name.starts_with("pg.") && is_false(packet, "init");
  if (name == "init.enter")
    return HookCall{.what = What::forgotten, .call = {}, .init_file = init_file_of(packet)};
  if (name == "coll.enter")
    return call_of(packet, field_of(packet, "group") != nullptr ? What::begins : What::again);
  if (name.starts_with("coll.")) return call_of(packet, What::ends);
  if (of_group) return new_group_of(packet, name == "pg.enter" ? What::begins : What::ends);
  return std::nullopt;
}

std::string store_address(const Json& packet) {
  const auto port = number_of(packet, "port", 0, 65'535);
  return port ? fmt::format("{}:{}", text(packet, "host"), *port) : text(packet, "host");
}

// The events that one packet of a rank stands for.
class Translation {
 public:
  Translation(HookMessage& message, const Json& packet, HookSpeaker& speaker)
      : message_(message), packet_(packet), speaker_(speaker) {}

  void run() {
    const std::string& name = message_.name;
    if (name == "start") return start(/*anew=*/true);
    if (name == "imported") return start(), reached(Stage::imported);
    if (name == "init.enter") return init();
    if (name.starts_with("store.") && !is_true(packet_, "init")) return;  // the script's own
    if (name == "store.enter") return entered(Stage::rendezvous, store_address(packet_));
    if (name == "store.exit") return reached(Stage::rendezvous);
    if (name == "group") return reached(Stage::group);
    if (name == "coll.enter") return entered(Stage::collective, text(packet_, "op"));
    if (name == "coll.queued") return queued();
    if (name == "coll.done") return reached(Stage::collective);
    if (name == "person.enter") return person();
    if (name == "person.exit") return attended({});
    if (name == "comm") return start();
    if (name == "coll.issued") return issued();
    if (name == "exception" || name.ends_with(".failed")) return raised();
    if (speaker_.uses_jax) return jax_devices();
    if (is_false(packet_, "init")) group_of_some();
  }

 private:
  void start(bool anew = false) {
    message_.events.emplace_back(
        RankStarted{*message_.rank, speaker_.process, message_.world_size, speaker_.source, anew});
  }

  void init() {
    if (text(packet_, "backend") == "jax") speaker_.uses_jax = true;
    entered(Stage::group, text(packet_, "backend"));
    std::get<StageEntered>(message_.events.back()).meets = text(packet_, "meets");
  }

  // The collectives of JAX are inside compiled programs, where no hook sees them. Where no plugin
  // of NCCL's will tell of the first, the one visible sign that its ranks meet is their exchange of
  // devices; a rank that is through it counts as training.
  void jax_devices() {
    if (message_.name == "pg.enter") entered(Stage::communicator, text(packet_, "group"));
    if (message_.name == "pg.exit" && is_false(packet_, "made"))
      left_group();
    else if (message_.name == "pg.exit")
      reached(is_true(packet_, "followed") ? Stage::communicator : Stage::collective);
  }

  void left_group() {
    message_.events.emplace_back(StageLeft{*message_.rank, speaker_.process, Stage::communicator});
  }

  // A group of some ranks. Making it ends once its members have met; a rank that is no member waits
  // for nobody.
  void group_of_some() {
    if (message_.name == "pg.exit") left_group();
    if (message_.name != "pg.enter") return;
    const std::vector<Rank> members = ranks_of(array_of(packet_, "members"));
    if (!members.empty() && std::ranges::find(members, *message_.rank) == members.end()) return;
    entered(Stage::communicator, text(packet_, "group"));
    std::get<StageEntered>(message_.events.back()).awaits = members;
  }

  // A rank that calls a collective has a communicator. Its wait in the collective counts only if
  // the end will be told too: otherwise the stage would seem to hang.
  void issued() {
    reached(Stage::communicator);
    if (is_true(packet_, "followed")) entered(Stage::collective, text(packet_, "op"));
  }

  // The call is on its way, and stands behind other work of the rank's own device.
  void queued() {
    message_.events.emplace_back(
        StageLeft{*message_.rank, speaker_.process, Stage::collective, /*device_works=*/true});
  }

  void entered(Stage stage, std::string detail) {
    message_.events.emplace_back(StageEntered{*message_.rank, speaker_.process, stage,
                                              std::move(detail), message_.world_size,
                                              speaker_.source});
  }

  void reached(Stage stage) {
    message_.events.emplace_back(
        StageReached{*message_.rank, speaker_.process, stage, speaker_.source});
  }

  void person() {
    const auto port = number_of(packet_, "port", 1, 65'535);
    attended("waits for " + text(packet_, "by") + (port ? fmt::format(" on port {}", *port) : ""));
  }

  void attended(std::string doing) {
    message_.events.emplace_back(RankAttended{*message_.rank, speaker_.process, std::move(doing)});
  }

  void raised() {
    RankRaised raised = raised_of(packet_, *message_.rank);
    raised.process = speaker_.process;
    message_.events.emplace_back(std::move(raised));
  }

  HookMessage& message_;
  const Json& packet_;
  HookSpeaker& speaker_;
};

void read_body(HookMessage& message, const Json& packet) {
  const std::string& name = message.name;
  if (name == "hello") message.body = hello_of(packet);
  const Rank rank = message.rank.value_or(Rank{});
  if (name == "stack") message.body = stack_of(packet, rank);
  if (name == "thread.raised") message.body = HookThreadRaised{raised_of(packet, rank)};
  if (name == "child.died")
    message.body =
        HookChildDied{number_of(packet, "pid", 0, kLargestPid).value_or(0), status_of(packet)};
  if (name == "counters") message.body = counters_of(packet);
  if (name == "collectives") message.body = collectives_of(packet);
  if (name == "arrivals") message.body = ArrivalsAnswer{id_of(packet), arrivals_of(packet)};
  if (name == "refused") message.body = HookRefusal{text(packet, "what"), text(packet, "why")};
  if (name == "hook_error") message.body = HookFault{text(packet, "where"), text(packet, "err")};
  if (name == "exception") message.body = HookException{raised_of(packet, rank), came_to(packet)};
  if (name == "serves") message.body = HookServes{};
  if (name == "serve.exit")
    message.body = HookServeFailed{number_of(packet, "status", 0, 255).value_or(1)};
  if (name == "comm") message.body = communicator_of(packet);
  if (auto call = call_in(name, packet)) message.body = std::move(*call);
  if (name == "exit") message.body = HookExit{number_of<std::int64_t>(packet, "collectives")};
}

Error not_of_the_protocol(const char* why) {
  return Error{Errc::os, fmt::format("cannot read a packet of the hook: {}", why)};
}

}  // namespace

Result<HookMessage> read_hook_message(std::string_view packet, HookSpeaker& speaker) {
  const Json json = Json::parse(packet.begin(), packet.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return not_of_the_protocol("it is no JSON object");
  HookMessage message;
  message.name = text(json, "e");
  if (message.name.empty()) return not_of_the_protocol("it has no name \"e\"");
  if (field_of(json, "rank") != nullptr) {
    const auto rank = number_of(json, "rank", 0, kMostRanks - 1);
    if (!rank) return not_of_the_protocol("its rank is not a valid number");
    message.rank = Rank{*rank};
  }
  message.world_size = number_of(json, "world", 1, kMostRanks);
  message.local_rank = number_of(json, "local_rank", 0, kMostRanks - 1);
  message.dropped = number_of(json, "dropped", 0, std::numeric_limits<int>::max()).value_or(0);
  read_body(message, json);
  if (const auto* hello = std::get_if<HookHello>(&message.body); hello && hello->plugin > 0)
    speaker.source = Source::plugin;
  message.source = speaker.source;
  if (message.rank) Translation(message, json, speaker).run();
  message.of_jax = speaker.uses_jax;
  return message;
}

std::string hook_request(HookQuestion question, int id) {
  constexpr std::array<std::string_view, 5> kNames{"stack", "counters", "collectives", "arrivals",
                                                   "here"};
  return fmt::format(R"({{"q":"{}","id":{}}})", kNames.at(static_cast<std::size_t>(question)), id);
}

}  // namespace safelaunch::watch
