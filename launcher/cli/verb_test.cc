#include <unistd.h>

#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/gpu/devices.h"
#include "safelaunch/plan/typed_command.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/trial/play.h"
#include "safelaunch/trial/tried_text.h"
#include "verb_texts.h"
#include "verb_wishes.h"
#include "verbs.h"

// `test` looks at the host and at the Python, lets ranks meet over each backend in turn and prints
// a line at once. The room trial decides what is tried, what the ranks' steps show and the status.
namespace safelaunch::cli {
namespace {

constexpr std::array kTestOptions{
    settings::Option{.name = "nproc-per-node",
                     .put = settings::put_into<&TestWords::ranks>,
                     .fallback = "one a GPU; 2 without GPUs",
                     .help = "how many ranks; on GPUs at most one each",
                     .range = {1, 1024}},
    settings::Option{.name = "try-processes",
                     .put = settings::put_into<&TestWords::fewer>,
                     .kind = settings::OptionKind::list,
                     .value = "N",
                     .fallback = "1",
                     .help = "how many ranks to try next, one after the other, where a backend "
                             "fails, repeated or with commas"},
    settings::Option{.name = "backend",
                     .put = settings::put_into<&TestWords::backends>,
                     .kind = settings::OptionKind::list,
                     .value = "nccl|gloo|deepspeed|jax",
                     .fallback = "all that are installed",
                     .help = "the backends to try, repeated or with commas"},
    settings::Option{.name = "init-timeout",
                     .put = settings::put_into<&TestWords::init_timeout>,
                     .fallback = "60s",
                     .help = "how long the ranks may take to meet"},
    settings::Option{.name = "collective-timeout",
                     .put = settings::put_into<&TestWords::collective_timeout>,
                     .fallback = "60s",
                     .help = "how long the first all_reduce may take"},
    settings::Option{.name = "start-timeout",
                     .put = settings::put_into<&TestWords::start_timeout>,
                     .fallback = "5min",
                     .help = "how long all ranks may stand still before they meet, as in an import "
                             "or behind the lock of a build"},
    settings::Option{
        .name = "json", .put = settings::put_into<&TestWords::json>, .help = "the result as JSON"},
};

/// All that is known before the first rank starts.
struct Trial {
  trial::Setup setup;
  trial::Folder folder;
  trial::Survey python;
  doctor::HostFacts facts;
  std::vector<doctor::Advice> advices;
  std::vector<int> fewer;  ///< how many ranks are tried next where a backend fails
};

Result<std::vector<int>> numbers_in(const std::vector<std::string>& words) {
  if (words.empty()) return std::vector<int>{1};
  std::vector<int> numbers;
  for (const std::string& word : words) {
    const auto number = to_number(word);
    if (!number || *number < 1)
      return Error{
          Errc::usage,
          fmt::format("--try-processes: '{}' is not a number of ranks, as in 8,4,2,1", word)};
    numbers.push_back(*number);
  }
  return numbers;
}

// The Python of a command, or the one that would run a script here.
Result<std::string> python_to_test(const std::vector<std::string>& command,
                                   const Environment& environment) {
  if (command.empty()) return plan::python_of(environment);
  const auto words = plan::spelled_out({command}, environment);
  if (!words) return words.error();
  if (auto python = job::recognise(*words, environment).python) return *std::move(python);
  return Error{Errc::usage, fmt::format("safelaunch cannot tell which Python {} starts; name it: "
                                        "safelaunch test -- /path/to/python",
                                        command.front())};
}

doctor::HostFacts facts_for(const std::string& python, const Environment& environment) {
  doctor::Subject subject;
  subject.environment = environment;
  subject.runs = report::places_of_runs(environment);
  subject.command = job::recognise({python}, environment);
  return doctor::read_facts(std::move(subject), doctor::Depth::full);
}

// NVML knows which of them can be used. A driver that gives no answer is for the ranks to show.
int gpus_for_ranks(trial::Setup& setup, const doctor::HostFacts& facts) {
  if (!doctor::may_use_gpus(facts)) return 0;
  setup.devices = gpu::usable_devices(facts.nvml, setup.environment);
  return setup.devices.empty() ? facts.gpus.value_or(1) : static_cast<int>(setup.devices.size());
}

std::string host_in_words(const Trial& trial) {
  std::vector<doctor::LookedAt> themes = doctor::looked_at(trial.facts, trial.advices);
  std::erase_if(themes, [](const doctor::LookedAt& theme) { return theme.name == "command"; });
  for (doctor::LookedAt& theme : themes)
    if (theme.name == "python")
      theme.seen = versions_in_words(trial.python, *trial.facts.libraries);
  std::string text = doctor::render_looked_at(themes);
  if (!trial.advices.empty()) text += doctor::render_advices(trial.advices);
  return text;
}

/// Prints without secrets; of what is shown as it happens nothing where JSON is asked for.
class Printer {
 public:
  Printer(const Environment& environment, bool json) : json_(json) { redactor_.learn(environment); }

  void as_it_happens(const std::string& text) const {
    if (!json_) print(text);
  }
  void at_the_end(const Trial& trial, const std::vector<trial::Tried>& tried,
                  const trial::Conclusion& conclusion) const {
    if (!json_) return print(trial::in_words(conclusion));
    const gpu::JobLibraries& libraries = *trial.facts.libraries;
    print(trial::trial_json({libraries.python.interpreter, trial.python,
                             libraries.nccl.empty() ? "" : libraries.nccl.front().version,
                             doctor::advices_json(trial.facts, trial.advices, {})},
                            tried, conclusion));
  }

 private:
  void print(const std::string& text) const {
    const std::string clean = redactor_.redact(std::string_view(text));
    json_ ? answer(clean) : answer_in_prose(clean);
  }

  redact::Redactor redactor_;
  bool json_ = false;
};

/// The result of a scene; nullopt and the status to end with where a signal or an error cuts it
/// short.
std::optional<trial::Tried> play_one(const Trial& trial, const trial::Scene& scene,
                                     const Printer& printer, int& status) {
  auto played = trial::play(scene, trial.setup, trial.folder);
  if (!played) {
    status = refuse(played.error());
    return std::nullopt;
  }
  if (const auto* interrupted = std::get_if<trial::Interrupted>(&*played)) {
    printer.as_it_happens(tr("interrupted; all ranks have ended") + "\n");
    status = 128 + interrupted->signal;
    return std::nullopt;
  }
  return std::get<trial::Tried>(*std::move(played));
}

/// Plays the scenes; gives the status to end with where a signal or an error cuts that short.
std::optional<int> play_into(std::vector<trial::Tried>& tried, const Trial& trial,
                             const std::vector<trial::Scene>& scenes, const Printer& printer) {
  for (const trial::Scene& scene : scenes) {
    printer.as_it_happens(trial::begin_of(scene));
    tried.emplace_back().scene = scene;
    int status = 0;
    if (scene.absent.empty()) {
      auto played = play_one(trial, scene, printer, status);
      if (!played) return status;
      tried.back() = *std::move(played);
    }
    printer.as_it_happens(trial::rest_of(tried.back()));
    if (!scene.absent.empty()) continue;
    for (const trial::Scene& fewer : trial::with_fewer_ranks(tried.back(), trial.fewer)) {
      auto played = play_one(trial, fewer, printer, status);
      if (!played) return status;
      printer.as_it_happens(trial::line_of_fewer(*played));
      tried.back().fewer.push_back(*std::move(played));
      if (tried.back().fewer.back().works) break;
    }
  }
  return std::nullopt;
}

int play_all(const Trial& trial, const std::vector<trial::Scene>& scenes, bool json) {
  const Printer printer(trial.setup.environment, json);
  printer.as_it_happens(host_in_words(trial) + "\n");
  std::vector<trial::Tried> tried;
  if (const auto status = play_into(tried, trial, scenes, printer)) return *status;
  const trial::Conclusion conclusion = trial::conclude(tried, is_blocked(trial.advices));
  printer.at_the_end(trial, tried, conclusion);
  return conclusion.status;
}

/// Settles everything but the ranks, by the options, the Python and the host.
Result<Trial> prepare(const TestWords& given) {
  const auto fewer = numbers_in(given.fewer);
  if (!fewer) return fewer.error();
  trial::Setup setup;
  setup.environment = current_environment();
  auto python = python_to_test(given.command, setup.environment);
  if (!python) return python.error();
  setup.python = *std::move(python);
  setup.init_timeout = given.init_timeout.value_or(setup.init_timeout);
  setup.collective_timeout = given.collective_timeout.value_or(setup.collective_timeout);
  setup.start_timeout = given.start_timeout.value_or(setup.start_timeout);
  auto folder = trial::Folder::make();
  if (!folder) return folder.error();
  auto survey = trial::survey(setup, *folder);
  if (!survey) return survey.error();
  doctor::HostFacts facts = facts_for(setup.python, setup.environment);
  std::vector<doctor::Advice> advices = doctor::examine(facts);
  return Trial{std::move(setup), *std::move(folder), *std::move(survey),
               std::move(facts), std::move(advices), *fewer};
}

int test_host(TestWords& given, std::vector<std::string>& rest) {
  given.command = std::move(rest);
  const auto named = trial::backends_named(given.backends);
  if (!named) return refuse(named.error());
  auto trial = prepare(given);
  if (!trial) return refuse(trial.error());
  const int gpus = gpus_for_ranks(trial->setup, trial->facts);
  return play_all(*trial, trial::scenes_for({trial->python, gpus, given.ranks, *named}),
                  given.json);
}

}  // namespace

std::string versions_in_words(const trial::Survey& python, const gpu::JobLibraries& libraries) {
  std::string text = fmt::format("{} ({})", python.version, libraries.python.interpreter);
  for (const auto& [package, version] : python.packages)
    text += fmt::format(", {} {}", package, version);
  if (!libraries.nccl.empty()) text += fmt::format(", NCCL {}", libraries.nccl.front().version);
  return text;
}

const Verb kTestVerb{
    .name = "test",
    .function = reads<TestWords, test_host>,
    .help = "run ranks here, over every backend that is installed",
    .usage = "[OPTIONS] [--] [PYTHON|COMMAND...]",
    .purpose =
        "Runs ranks of its own on this host, over NCCL, gloo, DeepSpeed and JAX as far as they are "
        "installed, each through its first all_reduce, and says which works and which command line "
        "to use. It does not run COMMAND, but tests its Python.",
    .example = "safelaunch test --nproc-per-node 4\nsafelaunch test -- ~/venv/bin/python",
    .options = kTestOptions,
    .rest = settings::Rest::command};

}  // namespace safelaunch::cli
