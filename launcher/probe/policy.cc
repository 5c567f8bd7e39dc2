#include "safelaunch/probe/policy.h"

#include <algorithm>

#include "safelaunch/base/format.h"

// The reasons not to probe are asked in the order in which a person would name them. A campaign and
// a selection keep what was probed, and their next step follows from that alone.
namespace safelaunch::probe {
namespace {

const ProbedProfile* find(std::span<const ProbedProfile> probed, const std::string& profile) {
  const auto found = std::find_if(probed.begin(), probed.end(),
                                  [&](const auto& one) { return one.profile == profile; });
  return found == probed.end() ? nullptr : &*found;
}

}  // namespace

Choice choose_to_probe(const Situation& situation) {
  const auto no = [](std::string why) { return Choice{false, std::move(why)}; };
  if (situation.wish == settings::WhenToProbe::never) return no("--probe never");
  const bool forced = situation.wish == settings::WhenToProbe::always;
  if (situation.ranks == 0) return no("how many ranks come is not known");
  if (situation.gpus == 0 && !forced) return no("there is no GPU");
  if (!situation.missing.empty()) return no(situation.missing);
  if (!situation.profile_uses_nccl) return no("the profile does without NCCL");
  if (situation.gpus.value_or(0) > 0 && situation.ranks > *situation.gpus)
    return no("there are more ranks than GPUs");
  const bool beside = situation.moment == Moment::beside_the_first;
  if (beside && !forced) return no("nothing has failed yet");
  if (forced) return {true, "--probe always"};
  if (situation.nodes > 1) return no("the ranks are on several nodes");
  if (situation.ranks < 2) return no("one rank meets nobody");
  return {true, "an attempt failed in NCCL"};
}

std::vector<CampaignAction> Campaign::on(const CampaignEvent& event) {
  if (state_ == State::over) return {};
  return std::visit([this](const auto& one) { return take(one); }, event);
}

Campaign::Actions Campaign::take(const CampaignProbed& event) {
  probed_.push_back({probing_, event.verdict, ""});
  const bool works = std::holds_alternative<Works>(event.verdict);
  const bool fails = stopped_at(event.verdict).has_value();
  if (state_ == State::seeking && works) {
    state_ = State::over;
    return {SwitchProfile{probing_, fmt::format("a probe showed that {} fails here and {} works",
                                                probed_.front().profile, probing_)}};
  }
  if (!fails || event.next.empty() || find(probed_, event.next) != nullptr) {
    state_ = State::over;
    return {};
  }
  state_ = State::seeking;
  probing_ = event.next;
  return {StartProbe{probing_}};
}

Campaign::Actions Campaign::take(const CampaignRanksEntered&) {
  return state_ == State::proving ? give_up() : Actions{};
}

Campaign::Actions Campaign::take(const CampaignAttemptEnded&) {
  return give_up();
}

Campaign::Actions Campaign::give_up() {
  state_ = State::over;
  return {StopProbe{}};
}

std::string Selection::chosen() const {
  const auto best = winner(probed_);
  return best ? probed_[*best].profile : std::string();
}

std::vector<std::string> refuted(std::span<const ProbedProfile> probed) {
  std::vector<std::string> names;
  for (const ProbedProfile& one : probed)
    if (stopped_at(one.verdict)) names.push_back(one.profile);
  return names;
}

}  // namespace safelaunch::probe
