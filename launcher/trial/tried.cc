#include "safelaunch/trial/tried.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"

// A step is done when every rank has written it down in the last attempt. Where one says an error,
// the run has ended the others however far they had come, so those that failed tell. The run's own
// outcome tells the rest: whether it hung, which rank was missing, the cause and the remedy.
namespace safelaunch::trial {
namespace {

struct WrittenStep {
  int attempt = 0;
  std::string step;
  Duration took{};
  std::string trouble;
  std::string device;
};

std::vector<WrittenStep> steps_in(std::string_view text) {
  std::vector<WrittenStep> steps;
  while (!text.empty()) {
    const auto line = parse_json<nlohmann::json>(take_word(text, '\n'));
    const int attempt = number_of(line, "attempt").value_or(0);
    steps.push_back({attempt, text_of(line, "step"), duration_of(line, "seconds"),
                     text_of(line, "trouble"), text_of(line, "device")});
  }
  return steps;
}

using Ranks = std::vector<std::vector<WrittenStep>>;

// Earlier attempts do not count: they were under other profiles.
Ranks last_attempt_of(const Traces& traces) {
  Ranks ranks;
  int last = 0;
  for (const std::string& text : traces.ranks) {
    ranks.push_back(steps_in(text));
    for (const WrittenStep& step : ranks.back()) last = std::max(last, step.attempt);
  }
  for (auto& steps : ranks)
    std::erase_if(steps, [&](const WrittenStep& step) { return step.attempt != last; });
  return ranks;
}

const WrittenStep* find_step(const std::vector<WrittenStep>& steps, std::string_view name) {
  const auto found = std::ranges::find(steps, name, &WrittenStep::step);
  return found == steps.end() ? nullptr : &*found;
}

// The step as all ranks did it; nullopt where one did not.
std::optional<DoneStep> done_by_all(const Ranks& ranks, std::string_view name) {
  DoneStep done{name, {}};
  for (const auto& steps : ranks) {
    const WrittenStep* step = find_step(steps, name);
    if (step == nullptr || !step->trouble.empty()) return std::nullopt;
    done.took = std::max(done.took, step->took);
  }
  return ranks.empty() ? std::nullopt : std::optional(done);
}

bool has_failed(const std::vector<WrittenStep>& steps) {
  return std::ranges::any_of(steps, [](const auto& step) { return !step.trouble.empty(); });
}

Ranks that_tell(Ranks ranks) {
  if (std::ranges::any_of(ranks, has_failed)) std::erase_if(ranks, std::not_fn(has_failed));
  return ranks;
}

std::string first_trouble(const Ranks& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const WrittenStep& step : ranks[rank])
      if (!step.trouble.empty()) return fmt::format("rank {}: {}", rank, step.trouble);
  return {};
}

// A run without an attempt has started nothing: its own words tell why.
void take_as_not_started(const Traces& traces, Tried& tried) {
  tried.stopped_at = "start";
  tried.trouble = traces.outcome ? traces.outcome->stopped_because : traces.last_words;
  tried.run = traces.outcome ? traces.outcome->run_id : "";
  tried.blocked = traces.outcome && traces.outcome->exit_code == exit_code_of(Errc::blocked);
}

void take_steps(const Traces& traces, Tried& tried) {
  const Ranks ranks = last_attempt_of(traces);
  const Ranks telling = that_tell(ranks);
  for (const std::string_view name : steps_of(tried.scene.backend)) {
    const auto done = done_by_all(telling, name);
    if (!done) {
      tried.stopped_at = name;
      break;
    }
    tried.done.push_back(*done);
  }
  for (const auto& steps : ranks)
    if (const WrittenStep* step = find_step(steps, "device"); step && tried.device.empty())
      tried.device = step->device;
  tried.trouble = first_trouble(ranks);
}

void take_outcome(const report::RunSummary& outcome, Tried& tried) {
  tried.run = outcome.run_id;
  tried.attempts = static_cast<int>(outcome.attempts.size());
  tried.works = outcome.exit_code == 0 && tried.stopped_at.empty();
  tried.profile = outcome.attempts.back().profile;
  tried.failure = outcome.attempts.back().failure;
  tried.hung = tried.failure && is_hang(tried.failure->kind);
}

// ---- the conclusion -----------------------------------------------------------------------------

using Names = std::vector<std::string_view>;

Names names_where(std::span<const Tried> tried, bool works) {
  Names names;
  for (const Tried& one : tried)
    if (one.scene.absent.empty() && one.works == works) names.push_back(name_of(one.scene.backend));
  return names;
}

const Tried* find_tried(std::span<const Tried> tried, Backend backend) {
  const auto is_it = [&](const Tried& one) {
    return one.scene.backend == backend && one.scene.absent.empty();
  };
  const auto found = std::ranges::find_if(tried, is_it);
  return found == tried.end() ? nullptr : &*found;
}

std::string sentence_of(std::span<const Tried> tried) {
  const Names works = names_where(tried, true);
  const Names fails = names_where(tried, false);
  const auto verb = [](const Names& names, const char* one, const char* many) {
    return fmt::format("{} {}", list_in_words(names), names.size() == 1 ? one : many);
  };
  if (works.empty() && fails.empty()) return "nothing could be tried but the host itself";
  if (fails.empty()) return verb(works, "works on this host", "work on this host");
  if (works.empty()) return verb(fails, "does not work on this host", "do not work on this host");
  return fmt::format("{}; {}", verb(works, "works", "work"), verb(fails, "does not", "do not"));
}

// Backends that found no way to the GPUs that are here; the device tells it.
Names names_on_cpu_alone(std::span<const Tried> tried) {
  Names names;
  for (const Tried& one : tried)
    if (one.works && one.scene.on_gpus && one.device == "cpu")
      names.push_back(name_of(one.scene.backend));
  return names;
}

std::string reservations_of(std::span<const Tried> tried, bool blocked) {
  std::string text;
  if (const Names cpu = names_on_cpu_alone(tried); !cpu.empty())
    text += fmt::format("; {} {} the CPU alone, though GPUs are here", list_in_words(cpu),
                        cpu.size() == 1 ? "uses" : "use");
  if (blocked) text += "; a finding above would stop a run";
  return text;
}

// The profile that made it work, where the first of the chain did not.
std::string profile_for(const Tried& tried) {
  return tried.attempts > 1 ? fmt::format("--profile {} ", tried.profile) : "";
}

std::string use_of(std::span<const Tried> tried) {
  const Tried* nccl = find_tried(tried, Backend::nccl);
  const Tried* gloo = find_tried(tried, Backend::gloo);
  const Tried* best = nccl != nullptr && nccl->works ? nccl : gloo;
  if (best != nullptr && best->works) {
    const bool nccl_fails = nccl != nullptr && !nccl->works;
    return fmt::format("safelaunch {}torchrun --nproc_per_node={} train.py",
                       nccl_fails ? "--profile gloo-fallback " : profile_for(*best),
                       best->scene.ranks);
  }
  if (best != nullptr && !best->fewer.empty() && best->fewer.back().works &&
      best->fewer.back().scene.ranks > 1)
    return use_of(std::span(best->fewer).last(1));
  for (const Tried& one : tried) {
    if (!one.works) continue;
    if (one.scene.backend == Backend::deepspeed)
      return fmt::format("safelaunch {}deepspeed train.py", profile_for(one));
    return fmt::format("safelaunch {}--nproc-per-node {} train.py", profile_for(one),
                       one.scene.ranks);
  }
  const bool wrong_python =
      std::ranges::all_of(tried, [](const Tried& one) { return one.scene.lacks_package; });
  return wrong_python ? "safelaunch test -- PYTHON, with the Python of your training" : "";
}

// Scenes that failed decide first; where all of them hung or were blocked, the status says so.
int status_of(std::span<const Tried> tried, bool blocked) {
  bool any = false;
  bool lacks_one = false;
  bool failed = false;
  bool hung = false;
  for (const Tried& one : tried) {
    const bool is_tried = one.scene.absent.empty();
    any = any || is_tried;
    lacks_one = lacks_one || (!is_tried && one.scene.is_asked_for);
    failed = failed || (is_tried && !one.works && !one.hung && !one.blocked);
    hung = hung || one.hung;
    blocked = blocked || one.blocked;
  }
  if (failed) return 1;
  if (hung) return kHungStatus;
  if (blocked) return exit_code_of(Errc::blocked);
  return any && !lacks_one ? 0 : exit_code_of(Errc::peer_lost);
}

}  // namespace

Tried judge(const Scene& scene, const Traces& traces) {
  Tried tried;
  tried.scene = scene;
  if (!traces.outcome || traces.outcome->attempts.empty()) {
    take_as_not_started(traces, tried);
  } else {
    take_steps(traces, tried);
    take_outcome(*traces.outcome, tried);
    tried.notices = traces.notices;
  }
  return tried;
}

std::vector<Scene> with_fewer_ranks(const Tried& tried, std::span<const int> numbers) {
  std::vector<Scene> scenes;
  const bool met = tried.stopped_at != "start" && tried.stopped_at != "import";
  if (tried.works || tried.blocked || !met) return scenes;
  for (const int ranks : numbers)
    if (ranks < tried.scene.ranks) scenes.emplace_back(tried.scene).ranks = ranks;
  return scenes;
}

Conclusion conclude(std::span<const Tried> tried, bool blocked) {
  return {sentence_of(tried) + reservations_of(tried, blocked), use_of(tried),
          status_of(tried, blocked)};
}

}  // namespace safelaunch::trial
