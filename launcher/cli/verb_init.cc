#include "verb_init.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/gpu/visible.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/library.h"
#include "verb_wishes.h"
#include "verbs.h"

// `init` asks on the terminal and writes the file.
namespace safelaunch::cli {
namespace {

constexpr std::array<std::string_view, 4> kLaunchers{"torchrun", "deepspeed", "accelerate",
                                                     "safelaunch"};
constexpr int kProcessesWithoutGpus = 2;
constexpr settings::NumberRange kProcesses{1, 1024};

Error wrong(std::string text) {
  return Error{Errc::usage, std::move(text)};
}

Result<void> take_launcher(const std::string& answer, InitAnswers& answers) {
  if (std::ranges::find(kLaunchers, answer) == kLaunchers.end())
    return wrong(fmt::format("'{}' is not one of {}{}", answer, join(kLaunchers, ", "),
                             did_you_mean(answer, kLaunchers)));
  answers.launcher = answer;
  return {};
}

Result<void> take_processes(const std::string& answer, InitAnswers& answers) {
  const auto number = to_number(answer);
  if (!number || *number < kProcesses.first || *number > kProcesses.last)
    return wrong(fmt::format("'{}' is not a number from {} to {}", answer, kProcesses.first,
                             kProcesses.last));
  answers.processes = answer;
  return {};
}

Result<void> take_chain(const std::string& answer, const std::vector<std::string>& profiles,
                        InitAnswers& answers) {
  std::string words = answer;  // "basic, no-shm", as people type a list
  std::erase(words, ' ');
  const auto names = profile::parse_chain(std::array{words});
  if (!names) return names.error();
  const std::vector<std::string_view> known(profiles.begin(), profiles.end());
  for (const std::string& name : *names)
    if (std::ranges::find(known, profile::rung_in(name).profile) == known.end())
      return wrong(fmt::format("there is no profile '{}'{} (safelaunch profiles list shows all)",
                               name, did_you_mean(name, known)));
  answers.chain = join(*names, ", ");
  return {};
}

Result<void> take_yes_or_no(const std::string& answer, bool& yes) {
  const std::string word = lower(answer);
  if (word != "y" && word != "yes" && word != "n" && word != "no")
    return wrong(fmt::format("'{}' is neither yes nor no", answer));
  yes = word.front() == 'y';
  return {};
}

// A value as the option of that name takes it.
Result<void> take_option(std::string_view option, const std::string& answer, std::string& value) {
  if (auto why = settings::refuse_value(*settings::find_run_option(option), answer))
    return wrong(*std::move(why));
  value = answer == "off" ? "0" : answer;  // a bare off is a boolean to many readers of YAML
  return {};
}

std::string_view fallback_of(std::string_view option) {
  return settings::find_run_option(option)->fallback;
}

std::string proposed_launcher(const InitFacts& facts) {
  const auto is_here = [&](std::string_view launcher) {
    return std::ranges::find(facts.launchers, launcher) != facts.launchers.end();
  };
  const auto found = std::ranges::find_if(kLaunchers, is_here);
  return std::string(found == kLaunchers.end() ? kLaunchers.back() : *found);
}

constexpr std::array kInitOptions{
    settings::Option{.name = "yes",
                     .letter = 'y',
                     .put = settings::put_into<&InitWords::yes>,
                     .help = "ask nothing: take what is proposed for this machine"},
    settings::Option{.name = "force",
                     .put = settings::put_into<&InitWords::force>,
                     .help = "overwrite an existing file"},
    settings::Option{.name = "user",
                     .put = settings::put_into<&InitWords::user>,
                     .help = "for all your jobs (~/.config/safelaunch), not for this folder"},
};

InitFacts read_init_facts(const Environment& environment) {
  InitFacts facts;
  facts.gpus = static_cast<int>(gpu::find_visible_gpus(environment).names.size());
  facts.profiles = profile::ProfileLibrary::standard(environment).names();
  for (const char* launcher : {"torchrun", "deepspeed", "accelerate"})
    if (launch::find_program(launcher, environment)) facts.launchers.emplace_back(launcher);
  return facts;
}

InFile what_is_at(const std::string& file) {
  struct stat there {};
  if (::lstat(file.c_str(), &there) != 0) return InFile::nothing;
  return S_ISREG(there.st_mode) ? InFile::text : InFile::something_else;
}

Result<std::string> file_to_write(const InitWords& given, const Environment& environment) {
  const std::string folder = given.user ? profile::user_config_folder(environment) : ".";
  if (folder.empty())
    return Error{Errc::usage, "--user: neither HOME nor XDG_CONFIG_HOME names a folder"};
  std::string file = folder + "/safelaunch.yaml";
  if (const auto may = check_overwriting(file, what_is_at(file), given.force); !may)
    return may.error();
  return file;
}

int write(const std::string& file, const InitAnswers& answers) {
  if (const auto written = replace_lasting_file(file, config_text(answers)); !written)
    return refuse(written.error());
  return answer(tr("wrote {}", file) + "\n" + tr("start a job: {}", start_line(answers)) + "\n");
}

int write_config(const InitWords& given, const std::vector<std::string>& /*rest*/) {
  const Environment environment = current_environment();
  const Result<std::string> file = file_to_write(given, environment);
  if (!file) return refuse(file.error());
  const auto questions = init_questions(read_init_facts(environment));
  if (given.yes) return write(*file, proposed_answers(questions));
  if (!can_ask())
    return refuse({Errc::usage,
                   "init asks on the terminal, and there is none; --yes takes what is "
                   "proposed for this machine"});
  const auto answers = ask_all(questions, ask, [](const std::string& why) { warn(why); });
  if (answers) return write(*file, *answers);
  warn("nothing was written");
  return kInterruptedStatus;
}

// A comment of the file, in lines as wide as people write them.
std::string comment(std::size_t indent, std::string_view words) {
  constexpr std::size_t kWidth = 86;
  const std::string begin = std::string(indent, ' ') + "# ";
  std::string text = begin;
  for (const char c : wrapped(words, 0, kWidth - indent))
    text += c == '\n' ? "\n" + begin : std::string(1, c);
  return text + "\n";
}

}  // namespace

// Each question proposes what fits this machine, and its answer has a place in the file or in the
// line that starts a job.

std::vector<InitQuestion> init_questions(const InitFacts& facts) {
  const int processes = facts.gpus > 0 ? facts.gpus : kProcessesWithoutGpus;
  return {
      {"What starts the ranks of your jobs?", "torchrun, deepspeed, accelerate or safelaunch",
       proposed_launcher(facts), take_launcher},
      {"How many ranks on this machine?", "one a GPU, as a rule", std::to_string(processes),
       take_processes},
      {"Which profiles may a job try, in which order?", "names with commas",
       join(profile::default_chain(), ","),
       [profiles = facts.profiles](const std::string& answer, InitAnswers& answers) {
         return take_chain(answer, profiles, answers);
       }},
      {"May a job fall back to a profile that costs much speed, such as gloo-fallback?",
       "yes or no", "yes",
       [](const std::string& answer, InitAnswers& answers) {
         return take_yes_or_no(answer, answers.slow);
       }},
      {"How long may ranks wait for an idle one before it counts as a hang?",
       "30s, 5min; off: for ever", std::string(fallback_of("init-timeout")),
       [](const std::string& answer, InitAnswers& answers) {
         return take_option("init-timeout", answer, answers.patience);
       }},
      {"After how long is training that stands still reported?",
       "10min; auto: by the job's own pace; off: never", std::string(fallback_of("stall-timeout")),
       [](const std::string& answer, InitAnswers& answers) {
         return take_option("stall-timeout", answer, answers.stall);
       }},
  };
}

InitAnswers proposed_answers(std::span<const InitQuestion> questions) {
  InitAnswers answers;
  for (const InitQuestion& question : questions)
    static_cast<void>(question.take(question.proposal, answers));  // a proposal is always right
  return answers;
}

std::optional<InitAnswers> ask_all(std::span<const InitQuestion> questions, const TypeIn& type_in,
                                   const Complain& complain) {
  InitAnswers answers;
  for (const InitQuestion& question : questions) {
    const std::string text =
        fmt::format("{}\n  ({}) [{}] ", tr(question.text), tr(question.hint), question.proposal);
    for (bool taken = false; !taken;) {
      const std::optional<std::string> line = type_in(text);
      if (!line || trimmed(*line) == "q") return std::nullopt;
      const std::string answer(trimmed(*line));
      const auto took = question.take(answer.empty() ? question.proposal : answer, answers);
      taken = took.has_value();
      if (!taken) complain(took.error().message);
    }
  }
  return answers;
}

Result<void> check_overwriting(const std::string& file, InFile there, bool force) {
  if (there == InFile::nothing) return {};
  if (!force)
    return wrong(fmt::format("{} exists and was left as it is; --force overwrites it", file));
  if (there == InFile::text) return {};
  return wrong(fmt::format("{} is no regular file; it was left as it is", file));
}

std::string start_line(const InitAnswers& answers) {
  if (answers.launcher == "torchrun")
    return fmt::format("safelaunch torchrun --nproc_per_node={} train.py", answers.processes);
  if (answers.launcher == "deepspeed")
    return fmt::format("safelaunch deepspeed --num_gpus={} train.py", answers.processes);
  if (answers.launcher == "accelerate")
    return fmt::format("safelaunch accelerate launch --num_processes {} train.py",
                       answers.processes);
  return "safelaunch train.py";
}

std::string config_text(const InitAnswers& answers) {
  const std::string start = start_line(answers);
  std::string text =
      comment(0, tr("Settings of safelaunch for the jobs that are started here. Change what you "
                    "like: docs/profiles.md tells of every key, `safelaunch help` of every "
                    "option.")) +
      "#\n" + comment(0, tr("Start a job:    {}", start)) +
      comment(0, tr("See its plan:   safelaunch --dry-run{}",
                    start.substr(std::string_view("safelaunch").size()))) +
      "\n" +
      comment(0, tr("What is tried, in this order. The next one is taken only after a hang, or a "
                    "failure in communication, before the first collective. `safelaunch profiles "
                    "list` shows all.")) +
      fmt::format("chain: [{}]\n\noptions:\n", answers.chain);
  if (answers.launcher == "safelaunch")
    text += comment(2, tr("So many ranks are started here. Take this line out before you use "
                          "torchrun, deepspeed or accelerate, which start their own.")) +
            fmt::format("  nproc-per-node: {}\n", answers.processes);
  return text +
         comment(2, tr("How long ranks wait for one that does nothing, before and in their first "
                       "collective. One that works has longer (work-timeout).")) +
         fmt::format("  init-timeout: {0}\n  collective-timeout: {0}\n", answers.patience) +
         comment(2, tr("Training that stands still for so long is reported; auto: for twice its "
                       "longest pause; 0: never.")) +
         fmt::format("  stall-timeout: {}\n", answers.stall) +
         comment(2, tr("true: a profile that costs much speed is never taken; the job ends "
                       "instead.")) +
         fmt::format("  fail-on-slow: {}\n", !answers.slow);
}

const Verb kInitVerb{
    .name = "init",
    .function = reads<InitWords, write_config>,
    .help = "asks a few questions and writes safelaunch.yaml",
    .usage = "[OPTIONS]",
    .purpose =
        "Asks how your jobs are started, what they may try and how long they may wait, proposes "
        "what fits this machine, and writes safelaunch.yaml with comments. It changes an existing "
        "file only with --force. Answer q to stop; it then writes nothing.",
    .example = "safelaunch init\nsafelaunch init --yes --user",
    .options = kInitOptions};
}  // namespace safelaunch::cli
