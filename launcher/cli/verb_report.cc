#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "recorded_runs.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/base/version.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/report/run_files.h"
#include "safelaunch/report/run_record.h"
#include "verb_texts.h"
#include "verb_wishes.h"
#include "verbs.h"

// A page and a bundle are files beside the answer; the answer is a screen of text where no file was
// asked for, or JSON. A bundle also holds what this host tells of itself now.
namespace safelaunch::cli {
namespace {

std::string lines_of(const char* what, const std::vector<gpu::FoundLibrary>& libraries) {
  std::string text;
  for (const gpu::FoundLibrary& library : libraries)
    text += fmt::format("{} {} {} ({})\n", what, library.version, library.path,
                        describe(library.origin));
  return text;
}

// The driver's answers as our probe program tells them: line by line, up to where it hangs.
std::string gpus(const Environment& environment) {
  const Result<std::string> program = launch::find_probe_program(environment);
  if (!program) return program.error().message + "\n";
  const Result<launch::HelperOutput> told =
      launch::run_helper({{*program, "gpus"}, environment, gpu::kGpuDeadline});
  if (!told) return told.error().message + "\n";
  std::string text;
  for (const std::string& line : told->lines) text += line + "\n";
  return text + describe(told->end) + "\n";
}

// The facts of this host in a support bundle, beside the run: the system's files, the versions that
// `command` uses, the doctor's findings, and the words of the GPUs' driver. Takes up to a few
// seconds; each question has its own deadline.
std::vector<report::RecordedFile> support_facts(std::vector<std::string> command) {
  const Environment environment = current_environment();
  doctor::Subject subject;
  subject.environment = environment;
  subject.runs = report::places_of_runs(environment);
  if (!command.empty()) subject.command = job::recognise(std::move(command), environment);
  const doctor::HostFacts host = doctor::read_facts(std::move(subject), doctor::Depth::full);
  std::vector<report::RecordedFile> facts = report::system_facts(environment);
  const auto add = [&](const char* name, std::string text) {
    const std::size_t size = text.size();
    facts.push_back({name, std::move(text), size, 0});
  };
  add("system/versions", versions_text(host));
  add("system/doctor", laid_out(doctor::render_advices(doctor::examine(host)), {}));
  add("system/gpus", gpus(environment));
  return facts;
}

constexpr std::array kReportOptions{
    settings::Option{.name = "html",
                     .put = settings::put_into<&ReportWords::html>,
                     .value = "FILE",
                     .help = "the same as one page that needs no network"},
    settings::Option{.name = "open",
                     .put = settings::put_into<&ReportWords::open>,
                     .help = "show the page in $BROWSER, or else by xdg-open"},
    settings::Option{.name = "bundle",
                     .put = settings::put_into<&ReportWords::bundle>,
                     .value = "FILE",
                     .help = "an archive (.tar.gz) for support, with secrets removed"},
    settings::Option{.name = "json",
                     .put = settings::put_into<&ReportWords::json>,
                     .help = "as JSON on stdout, as outcome.json has it"},
};

Result<std::filesystem::path> directory_of(const std::vector<std::string>& runs) {
  const Result<std::filesystem::path> found =
      runs.empty() ? report::newest_run(places_of_runs())
                   : report::find_run(runs.front(), places_of_runs());
  if (!found) return found.error();
  std::error_code none;
  const std::filesystem::path absolute = std::filesystem::absolute(*found, none).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

report::RunRecord record_of(const report::RunFiles& files) {
  report::RunRecord run = report::parse_run(files);
  const bool runs = run.boot_id == host::read_boot_id() && host::is_running(run.process);
  if (run.state == report::RunRecord::State::cut_off && runs)
    run.state = report::RunRecord::State::running;
  return run;
}

// Where JSON is asked for, stdout holds nothing else.
void tell_of_file(const ReportWords& words, const std::string& line) {
  if (!words.json) return void(answer_in_prose(line + "\n"));
  std::fputs(harmless(line + "\n").c_str(), stderr);
}

Result<void> write_page(const std::filesystem::path& directory, const ReportWords& words) {
  const std::string& file = words.html;
  std::error_code none;
  if (std::filesystem::exists(file, none) && !report::is_report_page(file)) return no_page(file);
  const report::RunRecord run = record_of(report::files_for_page(directory, current_environment()));
  if (!replace_file(file, report::html_report(run)))
    return Error{Errc::os, "--html " + file + ": cannot be written: " + std::strerror(errno)};
  tell_of_file(words, fmt::format("run {} as a page: {}", run.id, file));
  return {};
}

Result<void> write_bundle(const std::filesystem::path& directory, const ReportWords& words) {
  const std::string& file = words.bundle;
  std::error_code none;
  if (std::filesystem::exists(file, none))  // known before the host is asked about everything
    return Error{Errc::usage, "--bundle " + file + ": exists already; it was left as it is"};
  report::RunFiles files = report::read_run_files(directory, report::kBundleLimits);
  for (report::RecordedFile& fact : support_facts(report::parse_run(files).summary.command))
    files.files.push_back(std::move(fact));
  files = report::cleaned(std::move(files), current_environment());
  const report::RunRecord run = record_of(files);
  const Result<void> written = report::write_new_file(file, report::bundle(files, run));
  if (!written) return Error{Errc::os, "--bundle " + written.error().message};
  tell_of_file(words, fmt::format("run {} as a bundle: {} (its README.txt says what is inside)",
                                  run.id, file));
  return {};
}

void print_json(const std::filesystem::path& directory) {
  const report::RunRecord run =
      record_of(report::cleaned(report::read_run_files(directory), current_environment()));
  answer(report::outcome_json(run.summary));
}

void print_text(const std::filesystem::path& directory) {
  const Environment environment = current_environment();
  const report::RunRecord run =
      record_of(report::cleaned(report::read_run_files(directory), environment));
  answer_in_prose(report::text_report(run));
}

// The words that show a file in a browser; empty where there is none to be found. BROWSER holds
// commands with colons between them, of which the first counts; %s in one stands for the file.
std::vector<std::string> browser_for(const std::string& file, const Environment& environment) {
  std::string_view commands = value_or(environment, "BROWSER");
  const bool has_screen = !value_or(environment, "DISPLAY").empty() ||
                          !value_or(environment, "WAYLAND_DISPLAY").empty();
  if (commands.empty() && has_screen && launch::find_program("xdg-open", environment))
    commands = "xdg-open";
  std::vector<std::string> words;
  for (std::string_view rest = take_word(commands, ':'); !rest.empty();)
    if (const std::string_view word = take_word(rest); !word.empty()) words.emplace_back(word);
  const auto place = std::ranges::find(words, "%s");
  if (place != words.end())
    *place = file;
  else if (!words.empty())
    words.push_back(file);
  return words;
}

// The verb's work is done, so the process becomes the browser. Its path has been told.
void become_browser(const std::string& file) {
  std::error_code none;
  std::vector<std::string> words =
      browser_for(std::filesystem::absolute(file, none).native(), current_environment());
  if (words.empty()) return warn("there is no browser here: copy the page, or set BROWSER");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  warn(fmt::format("cannot start {}: {}", words.front(), std::strerror(errno)));
}

Result<void> report(ReportWords words) {
  const Result<std::filesystem::path> directory = directory_of(words.runs);
  if (!directory) return directory.error();
  if (words.open && words.html.empty()) words.html = *directory / "report.html";
  if (!words.html.empty())
    if (const Result<void> written = write_page(*directory, words); !written)
      return written.error();
  if (!words.bundle.empty())
    if (const Result<void> written = write_bundle(*directory, words); !written)
      return written.error();
  if (words.json)
    print_json(*directory);
  else if (words.html.empty() && words.bundle.empty())
    print_text(*directory);
  if (words.open) become_browser(words.html);
  return {};
}

int report_words(ReportWords& given, std::vector<std::string>& rest) {
  given.runs = std::move(rest);
  const Result<void> done = report(given);
  return done ? 0 : refuse(done.error());
}

}  // namespace

Error no_page(const std::string& file) {
  return {Errc::usage,
          fmt::format("--html {}: exists and is no safelaunch page; it was left as it is", file)};
}

std::string versions_text(const doctor::HostFacts& facts) {
  std::string text = fmt::format("safelaunch {}\n", version());
  for (const doctor::Package& package : facts.packages)
    text += fmt::format("{} {}\n", package.name, package.version);
  if (!facts.libraries) return text;
  const gpu::JobLibraries& libraries = *facts.libraries;
  text += fmt::format("python {}\n", libraries.python.interpreter);
  if (!libraries.torch_version.empty())
    text += fmt::format("torch {} for CUDA {}{}\n", libraries.torch_version, libraries.torch_cuda,
                        libraries.nccl_inside_torch ? ", NCCL inside" : "");
  return text + lines_of("libnccl", libraries.nccl) + lines_of("libcuda", libraries.driver) +
         lines_of("libnvidia-ml", libraries.nvml);
}

const Verb kReportVerb{.name = "report",
                       .function = reads<ReportWords, report_words>,
                       .help = "[RUN] [--open] [--html FILE] [--bundle FILE]: what a run did",
                       .usage = "[RUN] [OPTIONS]",
                       .purpose =
                           "Shows what a run did: attempts, stages, the missing ranks, the cause, "
                           "the evidence. RUN is an id from `safelaunch runs`, a part of one that "
                           "no other id has, or a directory; without RUN it shows the newest.",
                       .example = "safelaunch report\nsafelaunch report a1b2c3 --html run.html",
                       .options = kReportOptions,
                       .takes = "run"};
}  // namespace safelaunch::cli
