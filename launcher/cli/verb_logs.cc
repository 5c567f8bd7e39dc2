#include <array>
#include <list>
#include <thread>

#include "recorded_runs.h"
#include "safelaunch/base/format.h"
#include "safelaunch/report/run_logs.h"
#include "verb_wishes.h"
#include "verbs.h"

// The files of a run are printed one after another, each under its name as tail(1) writes it. With
// -f the files are looked at again and again, new ones too, until the run has ended.
namespace safelaunch::cli {
namespace {

// As soon as people look at what they follow.
constexpr std::chrono::milliseconds kLooksAgain{200};

class LogPrinter {
 public:
  LogPrinter(const report::RunLine& line, std::optional<int> rank) : line_(line), rank_(rank) {}

  // Prints what there is by now, and says whether there was anything.
  void print(bool complete);
  [[nodiscard]] bool has_files() const { return !read_.empty(); }

 private:
  struct Read {
    report::OutputFile file;
    report::OutputReader reader;
  };

  Read& reader_of(const report::OutputFile& file);
  void print(Read& read, bool complete);

  const report::RunLine& line_;
  std::optional<int> rank_;
  std::list<Read> read_;
  std::string shown_;  ///< the name of the file whose text was printed last
};

LogPrinter::Read& LogPrinter::reader_of(const report::OutputFile& file) {
  for (Read& one : read_)
    if (one.file == file) return one;
  return read_.emplace_back(Read{file, report::OutputReader(file.path)});
}

void LogPrinter::print(Read& read, bool complete) {
  while (answers_are_taken()) {
    const std::string text = read.reader.more(complete);
    if (text.empty()) return;
    if (shown_ != read.file.name)
      answer(fmt::format("{}==> {} <==\n", shown_.empty() ? "" : "\n", read.file.name));
    shown_ = read.file.name;
    answer(text);
  }
}

void LogPrinter::print(bool complete) {
  for (const auto& file : report::output_files(line_.run.directory, line_.log_dir, rank_))
    print(reader_of(file), complete);
}

// A job may be silent; a rank that has no file was asked for by mistake.
Result<void> no_output(const report::RunLine& line, std::optional<int> rank) {
  if (rank)
    return Error{Errc::usage,
                 fmt::format("run {} has no file of rank {}; a launcher's ranks share one stream, "
                             "unless --rank-files keeps each by itself",
                             line.run.id, *rank)};
  warn(fmt::format("run {} has recorded no output", line.run.id));
  return {};
}

bool is_running(const report::KnownRun& run) {
  return line_of(run).state == report::RunRecord::State::running;
}

Result<void> show_logs(const report::KnownRun& run, const LogsWords& words) {
  const report::RunLine line = line_of(run);
  LogPrinter printer(line, words.rank);
  while (words.follow && answers_are_taken() && is_running(run)) {
    printer.print(false);
    std::this_thread::sleep_for(kLooksAgain);
  }
  printer.print(true);
  if (!printer.has_files()) return no_output(line, words.rank);
  return {};
}

constexpr std::array kLogsOptions{
    settings::Option{.name = "follow",
                     .letter = 'f',
                     .put = settings::put_into<&LogsWords::follow>,
                     .help = "go on with what is written until the run has ended"},
    settings::Option{.name = "rank",
                     .put = settings::put_into<&LogsWords::rank>,
                     .help = "the files of this rank alone"},
};

int tell_logs(const LogsWords& given, const std::vector<std::string>& rest) {
  const auto directory = rest.empty() ? report::newest_run(places_of_runs())
                                      : report::find_run(rest.front(), places_of_runs());
  if (!directory) return refuse(directory.error());
  const report::KnownRun run{report::recorded_id(*directory), *directory, *directory, {}};
  const Result<void> shown = show_logs(run, given);
  return shown ? 0 : refuse(shown.error());
}

}  // namespace

const Verb kLogsVerb{
    .name = "logs",
    .function = reads<LogsWords, tell_logs>,
    .help = "[RUN] [-f] [--rank N]: the output of a run's job, as it is recorded",
    .usage = "[RUN] [OPTIONS]",
    .purpose =
        "Prints the output of a run's job as it is recorded: attempt after attempt, the launcher's "
        "stream and the file of each rank that has one, each under its name. Of a progress bar the "
        "last state stays. RUN is an id from `safelaunch runs`, or a part of one that no other id "
        "has; without RUN it is the newest.",
    .example = "safelaunch logs -f\nsafelaunch logs a1b2c3 --rank 3",
    .options = kLogsOptions,
    .takes = "run"};

}  // namespace safelaunch::cli
