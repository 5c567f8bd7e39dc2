#include "safelaunch/ranks/node_ranks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"

// A picture may be lost, but never the state that it showed: the leader compares the newest with
// the last one that it has seen, and takes each stage that lies between them for one event. A rank
// with another process has begun anew. A rank that a picture lacks has not ended. First the picture
// and its JSON, then the differences of two.
namespace safelaunch::ranks {
namespace {

using RanksJson = nlohmann::json;

// Enough for a line on the screen, and for the last words of an exception.
constexpr std::size_t kLongestDoing = 200;
constexpr std::size_t kLongestMessage = 4'096;

// ProcessId's own comparison would tell the same rank from itself on two agents.
auto fields_of(const RankPicture& one) {
  return std::tie(one.rank, one.process, one.world, one.store, one.entered, one.reached, one.awaits,
                  one.group, one.prepares, one.blind, one.activity, one.doing, one.ended);
}

RankPicture picture_of(Rank rank, const watch::RankState& state, TimePoint now) {
  RankPicture one{.rank = rank, .process = *state.process()};
  one.world = state.claimed_world ? state.claimed_world : state.announced_world;
  one.store = state.store;
  for (int index = 0; index < kStageCount; ++index) {
    const auto stage = static_cast<Stage>(index);
    const auto place = static_cast<std::size_t>(index);
    one.entered[place] = state.entered(stage);
    one.reached[place] = state.reached(stage);
  }
  one.awaits = state.awaits;
  one.group = state.group;
  one.prepares = state.prepares();
  one.blind = state.blind();
  one.activity = state.activity(now);
  one.doing = state.doing(now);
  one.ended = state.ended();
  one.status = state.status();
  one.raised = state.raised();
  return one;
}

std::vector<int> numbers_of_ranks(const std::vector<Rank>& ranks) {
  std::vector<int> numbers;
  for (const Rank rank : ranks) numbers.push_back(rank.value);
  return numbers;
}

std::vector<int> stages_in(const std::array<bool, kStageCount>& which) {
  std::vector<int> stages;
  for (int index = 0; index < kStageCount; ++index)
    if (which[static_cast<std::size_t>(index)]) stages.push_back(index);
  return stages;
}

std::array<bool, kStageCount> stages_from(const RanksJson& object, const char* key) {
  std::array<bool, kStageCount> which{};
  for (const int index : numbers_of(object, key))
    if (index >= 0 && index < kStageCount) which[static_cast<std::size_t>(index)] = true;
  return which;
}

RanksJson json_of(const RankPicture& one) {
  RanksJson json{{"rank", one.rank.value},
                 {"pid", one.process.pid},
                 {"start", one.process.start_ticks},
                 {"entered", stages_in(one.entered)},
                 {"reached", stages_in(one.reached)},
                 {"activity", name(one.activity)},
                 {"doing", cut(one.doing, kLongestDoing)}};
  if (one.world) json["world"] = *one.world;
  if (!one.store.empty()) json["store"] = one.store;
  if (!one.awaits.empty()) json["awaits"] = numbers_of_ranks(one.awaits);
  if (!one.group.empty()) json["group"] = cut(one.group, kLongestDoing);
  if (one.prepares) json["prepares"] = true;
  if (one.blind) json["blind"] = true;
  if (one.ended) json["ended"] = true;
  if (one.status) {
    const auto* signaled = std::get_if<Signaled>(&*one.status);
    json[signaled != nullptr ? "signal" : "code"] =
        signaled != nullptr ? signaled->signal : std::get<Exited>(*one.status).code;
  }
  if (one.raised)
    json["raised"] = {{"type", one.raised->type},
                      {"message", cut(one.raised->message, kLongestMessage)},
                      {"traceback", cut(one.raised->traceback, kLongestMessage)},
                      {"communication", one.raised->communication},
                      {"after_a_kill", one.raised->after_a_kill},
                      {"where", cut(one.raised->where, kLongestDoing)}};
  return json;
}

std::optional<ExitStatus> status_from(const RanksJson& json) {
  if (const auto signal = number_of(json, "signal", 1, 127)) return ExitStatus{Signaled{*signal}};
  if (const auto code = number_of(json, "code", 0, 255)) return ExitStatus{Exited{*code}};
  return std::nullopt;
}

Result<RankPicture> rank_from(const RanksJson& json) {
  const auto rank = number_of(json, "rank", 0, 10'000'000);
  const auto pid = number_of(json, "pid");
  if (!rank || !pid)
    return Error{Errc::peer_lost, fmt::format("the news of a rank lacks its {}",
                                              rank ? "\"pid\"" : "number (\"rank\")")};
  RankPicture one{.rank = Rank{*rank}};
  one.process = {*pid, number_of<std::uint64_t>(json, "start").value_or(0)};
  one.world = number_of(json, "world", 1, 10'000'000);
  one.store = text_of(json, "store", kLongestDoing);
  one.entered = stages_from(json, "entered");
  one.reached = stages_from(json, "reached");
  for (const int member : numbers_of(json, "awaits")) one.awaits.push_back(Rank{member});
  one.group = text_of(json, "group", kLongestDoing);
  one.prepares = is_true(json, "prepares");
  one.blind = is_true(json, "blind");
  one.activity = activity_named(text_of(json, "activity"));
  one.doing = text_of(json, "doing", kLongestDoing);
  one.ended = is_true(json, "ended");
  one.status = status_from(json);
  if (const RanksJson* raised = field_of(json, "raised"); raised != nullptr && raised->is_object())
    one.raised = RankRaised{one.rank,
                            one.process,
                            text_of(*raised, "type", kLongestDoing),
                            text_of(*raised, "message", kLongestMessage),
                            text_of(*raised, "traceback", kLongestMessage),
                            is_true(*raised, "communication"),
                            is_true(*raised, "after_a_kill"),
                            text_of(*raised, "where", kLongestDoing)};
  return one;
}

}  // namespace

bool RankPicture::operator==(const RankPicture& other) const {
  return fields_of(*this) == fields_of(other) && status == other.status &&
         raised.has_value() == other.raised.has_value() &&
         (!raised || raised->message == other.raised->message);
}

std::vector<RankPicture> picture_of(const std::map<Rank, watch::RankState>& ranks, TimePoint now) {
  std::vector<RankPicture> picture;
  for (const auto& [rank, state] : ranks) {
    if (!state.known() || !state.process()->is_here()) continue;
    // One that ended too soon for a look at it has no start, but an end.
    if (state.process()->start_ticks != 0 || state.ended())
      picture.push_back(picture_of(rank, state, now));
  }
  return picture;
}

std::string to_text(const NodePicture& picture) {
  RanksJson list = RanksJson::array();
  for (const RankPicture& one : picture.ranks) list.push_back(json_of(one));
  return RanksJson{{"attempt", picture.attempt}, {"ranks", std::move(list)}}.dump(
      -1, ' ', false, RanksJson::error_handler_t::replace);
}

Result<NodePicture> picture_from(std::string_view text) {
  const RanksJson json = parse_json<RanksJson>(text);
  const RanksJson* list = array_if(json, "ranks");
  const auto attempt = number_of(json, "attempt", 0, 1'000'000);
  if (!attempt || list == nullptr || list->size() > static_cast<std::size_t>(kMostRanksOfANode))
    return Error{Errc::peer_lost, fmt::format("the picture of the ranks lacks its {}",
                                              attempt ? "\"ranks\"" : "\"attempt\"")};
  NodePicture picture{*attempt};
  for (const RanksJson& one : *list) {
    Result<RankPicture> rank = rank_from(one);
    if (!rank) return rank.error();
    picture.ranks.push_back(*std::move(rank));
  }
  return picture;
}

namespace {

std::string on_node(const std::string& doing, const NodeName& node) {
  return doing.empty() ? "on " + node.host : fmt::format("{}, on {}", doing, node.host);
}

// The events of one rank between two pictures of it.
class Differences {
 public:
  Differences(const NodeName& node, const RankPicture* before, const RankPicture& now)
      : now_(now), process_(now.process) {
    process_.node = node.seat;
    // Another process as the same rank begins from nothing, whatever the former one had reached.
    const bool same = before != nullptr && before->process == now.process;
    before_ = same ? *before : RankPicture{.rank = now.rank, .process = now.process};
    is_new_ = !same;
  }

  std::vector<Event> events() {
    const Source source = now_.blind ? Source::proc : Source::hook;
    if (is_new_) add(RankStarted{now_.rank, process_, now_.world, source});
    for (int index = 0; index < kStageCount; ++index) add_stage(static_cast<Stage>(index), source);
    // A rank that had no hook from the beginning has not fallen silent.
    if (now_.blind && !before_.blind && !is_new_) add(RankSilent{now_.rank, process_});
    if (now_.prepares && !before_.prepares) add(RankPrepares{now_.rank, process_});
    if (now_.raised && (!before_.raised || before_.raised->message != now_.raised->message)) {
      RankRaised raised = *now_.raised;
      raised.process = process_;
      add(std::move(raised));
    }
    if (now_.ended && !before_.ended) add(RankExited{now_.rank, process_, now_.status});
    return std::move(events_);
  }

 private:
  void add(Event event) { events_.push_back(std::move(event)); }

  void add_stage(Stage stage, Source source) {
    const auto place = static_cast<std::size_t>(stage);
    // One group may have followed another without a picture between them.
    const bool in_group = stage == Stage::communicator && !now_.group.empty();
    const bool was_in_group = stage == Stage::communicator && !before_.group.empty();
    const bool other_group = in_group && before_.group != now_.group;
    const bool waits_no_longer =
        before_.entered[place] && !now_.entered[place] && !now_.reached[place];
    if (waits_no_longer || (was_in_group && other_group))
      add(StageLeft{now_.rank, process_, stage});
    if ((now_.entered[place] && !before_.entered[place]) || other_group) {
      const std::string detail = stage == Stage::rendezvous ? now_.store
                                 : in_group                 ? now_.group
                                                            : std::string();
      add(StageEntered{now_.rank, process_, stage, detail, now_.world, source,
                       in_group ? now_.awaits : std::vector<Rank>()});
    }
    if (now_.reached[place] && !before_.reached[place])
      add(StageReached{now_.rank, process_, stage, source});
  }

  const RankPicture& now_;
  ProcessId process_;
  RankPicture before_;
  bool is_new_ = false;
  std::vector<Event> events_;
};

}  // namespace

std::vector<Event> events_between(const NodeName& node, const std::vector<RankPicture>& before,
                                  const std::vector<RankPicture>& now) {
  std::vector<Event> events;
  for (const RankPicture& one : now) {
    const auto former = std::ranges::find(before, one.rank, &RankPicture::rank);
    auto news = Differences(node, former == before.end() ? nullptr : &*former, one).events();
    std::ranges::move(news, std::back_inserter(events));
  }
  return events;
}

std::vector<RankActivity> activities_of(const NodeName& node,
                                        const std::vector<RankPicture>& ranks) {
  std::vector<RankActivity> activities;
  for (const RankPicture& one : ranks) {
    // A node that cannot see its rank says nothing of it, and so its earlier activity grows old.
    if (one.ended || one.activity == Activity::unseen) continue;
    ProcessId process = one.process;
    process.node = node.seat;
    activities.push_back({one.rank, process, one.activity, on_node(one.doing, node)});
  }
  return activities;
}

}  // namespace safelaunch::ranks
