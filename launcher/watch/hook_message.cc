#include "safelaunch/watch/hook_message.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"

namespace safelaunch::watch {
namespace {

using Json = nlohmann::json;

// Texts are cut, since one of each kind is kept for every rank.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestTraceback = 16'384;
constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kMostFrames = 256;

// At most `limit` bytes, and no half character at the end.
std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  text.resize(limit);
  return text;
}

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Json& object, const char* key, std::size_t limit = kLongestText) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_string() ? cut(value->get<std::string>(), limit)
                                                : std::string();
}

std::optional<std::int64_t> integer_of(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  // get<int64> of an unsigned beyond its range would wrap.
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > kMost) return std::nullopt;
  return value->get<std::int64_t>();
}

std::optional<int> int_of(const Json& object, const char* key, std::int64_t low,
                          std::int64_t high) {
  const auto value = integer_of(object, key);
  if (!value || *value < low || *value > high) return std::nullopt;
  return static_cast<int>(*value);
}

int id_of(const Json& packet) {
  return int_of(packet, "id", 0, std::numeric_limits<int>::max()).value_or(-1);
}

std::vector<std::string> texts_of(const Json& object, const char* key, std::size_t most) {
  std::vector<std::string> texts;
  const Json* list = find(object, key);
  if (list == nullptr || !list->is_array()) return texts;
  for (const Json& one : *list)
    if (one.is_string() && texts.size() < most)
      texts.push_back(cut(one.get<std::string>(), kLongestText));
  return texts;
}

HookHello hello_of(const Json& packet) {
  constexpr int kLargestPid = 1 << 22;
  constexpr int kLargestInterface = 99;
  return {.token = text_of(packet, "token"),
          .pid = int_of(packet, "pid", 0, kLargestPid).value_or(0),
          .parent = int_of(packet, "ppid", 0, kLargestPid).value_or(0),
          .python = text_of(packet, "python"),
          .argv = texts_of(packet, "argv", 3),
          .plugin = int_of(packet, "plugin", 0, kLargestInterface).value_or(0)};
}

StackAnswer stack_of(const Json& packet) {
  StackAnswer answer{.id = id_of(packet), .threads = {}};
  const Json* threads = find(packet, "threads");
  if (threads == nullptr || !threads->is_array()) return answer;
  for (const Json& thread : *threads)
    if (answer.threads.size() < kMostThreads)
      answer.threads.push_back({text_of(thread, "name"), texts_of(thread, "frames", kMostFrames)});
  return answer;
}

CountersAnswer counters_of(const Json& packet) {
  CountersAnswer answer{.id = id_of(packet), .groups = {}, .waits = {}};
  const Json* groups = find(packet, "groups");
  if (groups != nullptr && groups->is_object())
    for (const auto& [name, counts] : groups->items())
      answer.groups[name] = {.enqueued = integer_of(counts, "enqueued").value_or(0),
                             .started = integer_of(counts, "started").value_or(0),
                             .completed = integer_of(counts, "completed").value_or(0)};
  const Json* waits = find(packet, "waits");
  if (waits != nullptr && waits->is_object())
    for (const auto& [name, count] : waits->items())
      answer.waits[name] = integer_of(*waits, name.c_str()).value_or(0);
  return answer;
}

// [group, number, operation, state]
std::optional<CollectiveSeen> collective_of(const Json& entry) {
  constexpr std::size_t kFields = 4;
  constexpr std::size_t kLongestName = 128;
  if (!entry.is_array() || entry.size() != kFields || !entry[1].is_number_integer())
    return std::nullopt;
  for (const std::size_t text : {0U, 2U, 3U})
    if (!entry[text].is_string()) return std::nullopt;
  const auto& state = entry[3].get_ref<const std::string&>();
  using State = CollectiveSeen::State;
  return CollectiveSeen{.group = cut(entry[0].get<std::string>(), kLongestName),
                        .number = entry[1].get<std::int64_t>(),
                        .operation = cut(entry[2].get<std::string>(), kLongestName),
                        .state = state == "finished"  ? State::finished
                                 : state == "started" ? State::started
                                                      : State::enqueued};
}

std::vector<Rank> ranks_of(const Json& list) {
  std::vector<Rank> ranks;
  if (!list.is_array()) return ranks;
  for (const Json& one : list)
    if (one.is_number_unsigned() && one.get<std::uint64_t>() < kMostRanks)
      ranks.push_back(Rank{one.get<int>()});
  return ranks;
}

CollectivesAnswer collectives_of(const Json& packet) {
  CollectivesAnswer answer{.id = id_of(packet), .last = {}, .members = {}};
  const Json* last = find(packet, "last");
  if (last != nullptr && last->is_array())
    for (const Json& entry : *last)
      if (auto one = collective_of(entry)) answer.last.push_back(std::move(*one));
  const Json* members = find(packet, "members");
  if (members != nullptr && members->is_object())
    for (const auto& [group, ranks] : members->items()) answer.members[group] = ranks_of(ranks);
  return answer;
}

bool is_true(const Json& packet, const char* key) {
  const Json* value = find(packet, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

bool is_false(const Json& packet, const char* key) {
  const Json* value = find(packet, key);
  return value != nullptr && value->is_boolean() && !value->get<bool>();
}

HookCommunicator communicator_of(const Json& packet) {
  const Json* id = find(packet, "comm");
  return {.id = id != nullptr && id->is_number_unsigned() ? id->get<std::uint64_t>() : 0,
          .rank = int_of(packet, "comm_rank", 0, kMostRanks - 1),
          .size = int_of(packet, "comm_size", 1, kMostRanks),
          .met = is_true(packet, "met")};
}

std::string store_address(const Json& packet) {
  const auto port = int_of(packet, "port", 0, 65'535);
  return port ? fmt::format("{}:{}", text_of(packet, "host"), *port) : text_of(packet, "host");
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
    if (name == "coll.enter") return entered(Stage::collective, text_of(packet_, "op"));
    if (name == "coll.done") return reached(Stage::collective);
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
    if (text_of(packet_, "backend") == "jax") speaker_.uses_jax = true;
    entered(Stage::group, text_of(packet_, "backend"));
  }

  // The collectives of JAX are inside compiled programs, where nobody sees them. What can be seen
  // of its ranks meeting is their exchange of devices; whoever has it behind him trains.
  void jax_devices() {
    if (message_.name == "pg.enter") entered(Stage::communicator, text_of(packet_, "group"));
    if (message_.name == "pg.exit") reached(Stage::collective);
  }

  // A group beside the world's: whose making ends when its members have met, and who is not one of
  // them waits for nobody.
  void group_of_some() {
    if (message_.name == "pg.exit")
      message_.events.emplace_back(
          StageLeft{*message_.rank, speaker_.process, Stage::communicator});
    if (message_.name != "pg.enter") return;
    const Json* list = find(packet_, "members");
    const std::vector<Rank> members = list != nullptr ? ranks_of(*list) : std::vector<Rank>();
    if (!members.empty() && std::ranges::find(members, *message_.rank) == members.end()) return;
    entered(Stage::communicator, text_of(packet_, "group"));
    std::get<StageEntered>(message_.events.back()).awaits = members;
  }

  // A rank that calls a collective has a communicator. Its wait in the collective counts only if
  // the end will be told too: otherwise the stage would seem to hang.
  void issued() {
    reached(Stage::communicator);
    if (is_true(packet_, "followed")) entered(Stage::collective, text_of(packet_, "op"));
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

  void raised() {
    message_.events.emplace_back(RankRaised{
        *message_.rank, speaker_.process, text_of(packet_, "type"), text_of(packet_, "err"),
        text_of(packet_, "traceback", kLongestTraceback), is_true(packet_, "comm")});
  }

  HookMessage& message_;
  const Json& packet_;
  HookSpeaker& speaker_;
};

void read_body(HookMessage& message, const Json& packet) {
  const std::string& name = message.name;
  if (name == "hello") message.body = hello_of(packet);
  if (name == "stack") message.body = stack_of(packet);
  if (name == "counters") message.body = counters_of(packet);
  if (name == "collectives") message.body = collectives_of(packet);
  if (name == "refused")
    message.body = HookRefusal{text_of(packet, "what"), text_of(packet, "why")};
  if (name == "hook_error")
    message.body = HookFault{text_of(packet, "where"), text_of(packet, "err")};
  if (name == "exception") message.body = HookException{};
  if (name == "comm") message.body = communicator_of(packet);
}

Error not_of_the_protocol(const char* why) {
  return Error{Errc::os, fmt::format("a packet of the hook cannot be read: {}", why)};
}

}  // namespace

Result<HookMessage> read_hook_message(std::string_view packet, HookSpeaker& speaker) {
  const Json json = Json::parse(packet.begin(), packet.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return not_of_the_protocol("it is no JSON object");
  HookMessage message;
  message.name = text_of(json, "e");
  if (message.name.empty()) return not_of_the_protocol("it has no name \"e\"");
  if (find(json, "rank") != nullptr) {
    const auto rank = int_of(json, "rank", 0, kMostRanks - 1);
    if (!rank) return not_of_the_protocol("its rank is no rank");
    message.rank = Rank{*rank};
  }
  message.world_size = int_of(json, "world", 1, kMostRanks);
  message.local_rank = int_of(json, "local_rank", 0, kMostRanks - 1);
  message.dropped = int_of(json, "dropped", 0, std::numeric_limits<int>::max()).value_or(0);
  read_body(message, json);
  if (const auto* hello = std::get_if<HookHello>(&message.body); hello && hello->plugin > 0)
    speaker.source = Source::plugin;
  message.source = speaker.source;
  if (message.rank) Translation(message, json, speaker).run();
  return message;
}

std::string hook_request(HookQuestion question, int id) {
  constexpr std::array<std::string_view, 4> kNames{"stack", "counters", "collectives", "here"};
  return fmt::format(R"({{"q":"{}","id":{}}})", kNames.at(static_cast<std::size_t>(question)), id);
}

}  // namespace safelaunch::watch
