#include "safelaunch/trial/play.h"

#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/report/record.h"
#include "safelaunch/report/run_record.h"

// A scene is a run of this same program, so its watch, its deadlines and its diagnosis are those of
// any job. The ranks write their steps to files; the run writes its outcome beside them.
namespace safelaunch::trial {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWorker = "trial_worker.py";
constexpr Duration kPythonAnswersWithin{30'000};

// A killed rank that a driver holds does not end.
constexpr Duration kAllEndWithin{10'000};

Error cannot_make(const std::string& what, int error) {
  return Error{Errc::os, fmt::format("cannot make {}: {}", what, std::strerror(error))};
}

std::vector<std::string> notices_of(const fs::path& run) {
  std::vector<std::string> notices;
  for (report::RecordedLine& line : report::parse_run(report::read_run_files(run)).lines)
    if (line.what == report::record::Notice::kName) notices.push_back(std::move(line.text));
  return notices;
}

Traces traces_in(const fs::path& folder, int ranks, const launch::HelperEnd& end) {
  Traces traces;
  for (int rank = 0; rank < ranks; ++rank)
    traces.ranks.push_back(user_file_text(folder / fmt::format("rank-{}", rank)).value_or(""));
  traces.outcome = report::read_outcome(user_file_text(folder / "outcome.json").value_or(""));
  traces.last_words = launch::describe(end);
  if (traces.outcome) traces.notices = notices_of(traces.outcome->directory);
  return traces;
}

// The half of the run that outlives the other ends all ranks, and comes to us as they do.
void wait_until_childless(boost::asio::io_context& io, launch::Reaper& reaper) {
  bool over = false;
  reaper.when_childless([&] { over = true; });
  boost::asio::steady_timer limit(io, kAllEndWithin);
  limit.async_wait([&](const boost::system::error_code& failed) { over = over || !failed; });
  while (!over) io.run_one();
  reaper.when_childless({});
}

}  // namespace

// ---- the folder ---------------------------------------------------------------------------------

Result<Folder> Folder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return Error{Errc::os, "there is no folder for temporary files: see TMPDIR"};
  std::string name = parent / "safelaunch-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return cannot_make(name, errno);
  Folder folder{fs::path(name)};
  for (const EmbeddedFile& file : worker_files()) {
    std::ofstream out(folder.path() / file.path, std::ios::binary);
    out << file.text;
    if (!out.flush()) return cannot_make(folder.path() / file.path, errno);
  }
  return folder;
}

Folder::~Folder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::string Folder::worker() const {
  return path_ / kWorker;
}

// ---- what is run --------------------------------------------------------------------------------

std::vector<std::string> words_for(const Scene& scene, const Setup& setup,
                                   const fs::path& safelaunch, const fs::path& worker,
                                   const fs::path& traces) {
  std::vector<std::string> words{
      safelaunch, fmt::format("--nproc-per-node={}", scene.ranks), "--nnodes=1", "--node-rank=0",
      "--start-rank=0", fmt::format("--world-size={}", scene.ranks), "--master-addr=127.0.0.1",
      "--fail-on-slow",
      // Settings of the user's that would run nothing, or hide what is looked for.
      "--dry-run=false", "--interactive=false", "--ranks=all",
      fmt::format("--init-timeout={}", format_duration(setup.init_timeout)),
      fmt::format("--collective-timeout={}", format_duration(setup.collective_timeout)),
      fmt::format("--start-timeout={}", format_duration(setup.start_timeout)),
      fmt::format("--json={}", (traces / "outcome.json").string())};
  if (scene.on_gpus && static_cast<std::size_t>(scene.ranks) <= setup.devices.size())
    words.push_back(
        fmt::format("--devices={}", join(std::span(setup.devices).first(scene.ranks), ",")));
  for (const std::string& word :
       {std::string("--"), setup.python, worker.string(), std::string(word_of(scene.backend)),
        std::string(scene.on_gpus ? "gpu" : "cpu"), traces.string()})
    words.push_back(word);
  return words;
}

Result<Survey> survey(const Setup& setup, const Folder& folder) {
  launch::HelperSpec spec{{setup.python, folder.worker(), "survey"}, setup.environment};
  spec.deadline = kPythonAnswersWithin;
  const Result<launch::HelperOutput> said = launch::run_helper(spec);
  if (!said) return said.error();
  if (auto found = said->lines.empty() ? std::nullopt : read_survey(said->lines.back()))
    return *std::move(found);
  return Error{Errc::peer_lost, fmt::format("{} does not say what it has: {}", setup.python,
                                            launch::describe(said->end))};
}

Result<std::variant<Tried, Interrupted>> play(const Scene& scene, const Setup& setup,
                                              const Folder& folder) {
  const fs::path traces = folder.path() / fmt::format("{}-{}", word_of(scene.backend), scene.ranks);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return Error{Errc::os, "cannot find this program in /proc/self/exe"};
  if (!fs::create_directory(traces, error)) return cannot_make(traces, error.value());

  boost::asio::io_context io;
  launch::Reaper reaper(io, [](int, const ExitStatus&) {});
  std::optional<launch::HelperEnd> end;
  std::optional<Interrupted> interrupted;
  const launch::HelperSpec spec{words_for(scene, setup, program, folder.worker(), traces),
                                setup.environment, Duration::zero()};
  auto run = launch::Helper::start(
      io, reaper, spec, [](std::string_view) {},
      [&](const launch::HelperEnd& ended) { end = ended; });
  if (!run) return run.error();
  boost::asio::signal_set signals(io, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([&](const boost::system::error_code& failed, int signal) {
    if (failed) return;
    interrupted = Interrupted{signal};
    run->kill();
  });
  while (!end) io.run_one();
  if (interrupted) {
    wait_until_childless(io, reaper);
    return std::variant<Tried, Interrupted>(*interrupted);
  }
  return std::variant<Tried, Interrupted>(judge(scene, traces_in(traces, scene.ranks, *end)));
}

}  // namespace safelaunch::trial
