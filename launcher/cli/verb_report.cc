#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/base/result.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/report/bundle.h"
#include "safelaunch/report/find_run.h"
#include "safelaunch/report/html_report.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/report/run_files.h"
#include "safelaunch/report/run_record.h"
#include "safelaunch/report/text_report.h"
#include "support_facts.h"

namespace safelaunch {
namespace {

using std::string_view_literals::operator""sv;

struct ReportWords {
  std::string run;     ///< empty: the newest
  std::string html;    ///< empty: no page
  std::string bundle;  ///< empty: no bundle
};

constexpr const char* kUsage = " (report [RUN] [--html FILE] [--bundle FILE])";

Result<ReportWords> parse(std::span<const std::string> words) {
  constexpr std::array kKnown{"--html"sv, "--bundle"sv};
  ReportWords result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    if (option == "--html" || option == "--bundle") {
      if (equals == std::string::npos && i + 1 == words.size())
        return Error{Errc::usage, option + " needs a file" + kUsage};
      (option == "--html" ? result.html : result.bundle) =
          equals == std::string::npos ? words[++i] : word.substr(equals + 1);
    } else if (word.starts_with("-") || !result.run.empty()) {
      return Error{Errc::usage,
                   "report does not take '" + word + "'" + did_you_mean(option, kKnown) + kUsage};
    } else {
      result.run = word;
    }
  }
  return result;
}

Result<std::filesystem::path> directory_of(const std::string& named) {
  const Environment environment = current_environment();
  const std::array places{runs_directory(environment), temporary_runs_directory(environment)};
  const Result<std::filesystem::path> found = find_run(named, places);
  if (!found) return found.error();
  std::error_code none;
  const std::filesystem::path absolute = std::filesystem::absolute(*found, none).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

RunRecord record_of(const RunFiles& files) {
  RunRecord run = parse_run(files);
  const bool runs = run.boot_id == read_boot_id() && is_running(run.process);
  if (run.state == RunRecord::State::cut_off && runs) run.state = RunRecord::State::running;
  return run;
}

Result<void> write_page(const std::filesystem::path& directory, const std::string& file) {
  const RunRecord run = record_of(cleaned(read_run_files(directory), current_environment()));
  if (!write_atomically(file, html_report(run)))
    return Error{Errc::os, "--html " + file + ": cannot be written: " + std::strerror(errno)};
  std::printf("run %s as a page: %s\n", run.id.c_str(), file.c_str());
  return {};
}

Result<void> write_bundle(const std::filesystem::path& directory, const std::string& file) {
  std::error_code none;
  if (std::filesystem::exists(file, none))  // known before the host is asked about everything
    return Error{Errc::usage, "--bundle " + file + ": is there already, and is not overwritten"};
  RunFiles files = read_run_files(directory, kBundleLimits);
  for (RecordedFile& fact : support_facts(parse_run(files).summary.command))
    files.files.push_back(std::move(fact));
  files = cleaned(std::move(files), current_environment());
  const RunRecord run = record_of(files);
  const Result<void> written = write_new_file(file, bundle(files, run));
  if (!written) return Error{Errc::os, "--bundle " + written.error().message};
  std::printf("run %s as a bundle: %s (its README.txt says what is inside)\n", run.id.c_str(),
              file.c_str());
  return {};
}

void print_text(const std::filesystem::path& directory) {
  const Environment environment = current_environment();
  const bool coloured = isatty(STDOUT_FILENO) != 0 && !environment.contains("NO_COLOR");
  const RunRecord run = record_of(cleaned(read_run_files(directory), environment));
  const std::string text = text_report(run, coloured ? Colour::on : Colour::off);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<void> report(std::span<const std::string> words) {
  const Result<ReportWords> parsed = parse(words);
  if (!parsed) return parsed.error();
  const Result<std::filesystem::path> directory = directory_of(parsed->run);
  if (!directory) return directory.error();
  if (!parsed->html.empty())
    if (const Result<void> written = write_page(*directory, parsed->html); !written) return written;
  if (!parsed->bundle.empty()) return write_bundle(*directory, parsed->bundle);
  if (parsed->html.empty()) print_text(*directory);
  return {};
}

}  // namespace

int verb_report(std::span<const std::string> words) {
  const Result<void> done = report(words);
  if (done) return 0;
  std::fprintf(stderr, "safelaunch: %s\n", done.error().message.c_str());
  return exit_code_of(done.error().code);
}

}  // namespace safelaunch
