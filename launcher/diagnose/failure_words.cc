#include "safelaunch/diagnose/failure_words.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>

#include "log_line.h"
#include "safelaunch/job/launcher_report.h"

// The traceback of the first rank that is no victim: of the rank that is known or reported to have
// failed first, else of any rank. A text without tracebacks is shown by its last lines, up to the
// place where the launcher begins to sum up.
namespace safelaunch::diagnose {
namespace {

/// The most lines of one message; the C++ backtraces in messages of torch are longer.
constexpr int kMessageLines = 20;

bool is_chained(std::string_view line) {
  return line.starts_with("During handling of the above exception") ||
         line.starts_with("The above exception was the direct cause");
}

/// Whether the line cannot belong to a message above it.
bool begins_anew(std::string_view line) {
  return line.starts_with('[') || line.starts_with("===") || line.starts_with("terminate called") ||
         line.starts_with("-- Process ") || line.starts_with("-----") ||
         line.starts_with("Fatal Python error: ") || has_glog_head(line) || has_date(line);
}

/// Reads the lines of one rank (or of all that are untagged), one after another.
class Reader {
 public:
  explicit Reader(std::optional<Rank> rank) : rank_(rank) {}

  void read(const LogLine& line, bool after_gap) {
    if (line.text.starts_with("-- Process ")) rank_of_next_ = process_in(line.text);
    if (after_gap && state_ == State::message && rank_ == std::nullopt) state_ = State::ended;
    switch (state_) {
      case State::outside: return look_for_begin(line);
      case State::frames: return read_frame(line);
      case State::message: return read_message(line);
      case State::ended: return look_for_chain(line);
    }
  }

  std::vector<Traceback> take() {
    finish();
    return std::move(found_);
  }

 private:
  enum class State { outside, frames, message, ended };

  static std::optional<Rank> process_in(std::string_view line) {
    const auto number = number_after(line, "-- Process ");
    return number ? std::optional(Rank{*number}) : std::nullopt;
  }

  void keep(std::string_view line) { (now_.text += line) += '\n'; }

  void look_for_begin(const LogLine& line) {
    if (line.text.find(kTracebackBegins) == std::string_view::npos) return;
    now_ = {};
    now_.rank = rank_ ? rank_ : std::exchange(rank_of_next_, std::nullopt);
    now_.line = line.number;
    keep(line.text.substr(line.text.find(kTracebackBegins)));
    place_ = line.place;
    state_ = State::frames;
  }

  /// In torch's log each line of a traceback has the head of the first.
  static std::string_view without_head(std::string_view line) {
    const std::size_t end = has_glog_head(line) ? line.find("] ") : std::string_view::npos;
    return end == std::string_view::npos ? line : line.substr(end + 2);
  }

  void read_frame(const LogLine& line) {
    if (line.place != place_) return;  // of another process
    const std::string_view text = without_head(line.text);
    if (begins_anew(text)) return;  // of somebody who writes in between
    keep(text);
    if (text.starts_with(' ') || text.starts_with('\t')) return;
    const std::size_t colon = std::min(text.find(':'), text.size());
    now_.type = text.substr(0, colon);
    const std::string_view rest = text.substr(std::min(colon + 1, text.size()));
    now_.message = rest.starts_with(' ') ? rest.substr(1) : rest;
    message_lines_ = 0;
    state_ = State::message;
  }

  void read_message(const LogLine& line) {
    if (is_chained(line.text)) return look_for_chain(line);
    if (line.text.starts_with("Original Traceback")) {  // a DataLoader worker's, within ours
      keep(line.text);
      state_ = State::frames;
      return;
    }
    const bool another = line.text.find(kTracebackBegins) != std::string_view::npos;
    if (another || line.place != place_ || begins_anew(line.text) ||
        ++message_lines_ > kMessageLines) {
      finish();
      return look_for_begin(line);
    }
    (now_.message += '\n') += line.text;
    keep(line.text);
  }

  /// Goes on with a chained traceback: only blank lines and the linking phrase may stand between.
  void look_for_chain(const LogLine& line) {
    const bool begins = line.text.find(kTracebackBegins) != std::string_view::npos;
    if (is_chained(line.text)) {
      (now_.text += '\n') += line.text;
      now_.text += "\n\n";
      chained_ = true;
      state_ = State::ended;
    } else if (begins && std::exchange(chained_, false)) {
      keep(line.text);
      state_ = State::frames;
    } else {
      finish();
      look_for_begin(line);
    }
  }

  void finish() {
    if (state_ == State::message || state_ == State::ended) found_.push_back(std::move(now_));
    now_ = {};
    chained_ = false;
    state_ = State::outside;
  }

  std::optional<Rank> rank_;
  std::optional<Rank> rank_of_next_;
  State state_ = State::outside;
  bool chained_ = false;
  int message_lines_ = 0;
  std::string_view place_;  // in the head of its first line
  Traceback now_;
  std::vector<Traceback> found_;
};

bool is_of_launcher(const Traceback& one) {
  constexpr std::array<std::string_view, 5> kTypes = {
      "ChildFailedError", "SignalException", "ProcessRaisedException", "ProcessExitedException",
      "KeyboardInterrupt"};
  if (std::ranges::any_of(kTypes, [&](std::string_view type) { return one.type.ends_with(type); }))
    return true;
  // Whose command was a launcher, as those of llamafactory-cli and swift.
  constexpr std::array<std::string_view, 4> kCalls = {
      "accelerate/commands/", "deepspeed/launcher/", "Command '['torchrun'", "'torch.distributed."};
  return one.type == "subprocess.CalledProcessError" &&
         std::ranges::any_of(kCalls, [&](std::string_view call) {
           return one.text.find(call) != std::string::npos;
         });
}

/// Enough lines to see the last words of a program; the files hold all of them.
constexpr std::size_t kLastLines = 20;

bool is_victim(const Traceback& one, const Catalogue& catalogue) {
  const std::string error = one.type + ": " + one.message.substr(0, one.message.find('\n'));
  const std::vector<Match> matches = catalogue.match(error);
  return std::ranges::any_of(matches,
                             [](const Match& match) { return match.cause->kind == Kind::victim; });
}

/// Whether the launcher begins to sum up with this line; the lines below are not the ranks' own.
bool is_launchers_summary(std::string_view line) {
  constexpr std::array<std::string_view, 6> kSigns = {
      "Sending process ",    "failed (exitcode: ", "sigkill_handler",
      "Terminating process", kTracebackBegins,     "torch/distributed/run.py"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return line.find(sign) != std::string_view::npos; });
}

std::string last_lines(std::string_view text) {
  std::deque<std::string_view> last;
  bool in_summary = false;
  for_each_line(text, [&](const LogLine& line) {
    if (line.text.find("torch/distributed/run.py") != std::string_view::npos) return;
    in_summary = in_summary || is_launchers_summary(line.text);
    if (in_summary) return;
    last.push_back(line.text);
    if (last.size() > kLastLines) last.pop_front();
  });
  std::string joined;
  for (const std::string_view line : last) (joined += line) += '\n';
  return joined;
}

}  // namespace

// Finds tracebacks in merged output. One reader follows the lines of each tagged rank, and one all
// untagged lines; a reader goes from `outside` over the frames and the message to `ended`, where it
// waits for the phrase that chains a further exception to this one.

std::vector<Traceback> tracebacks(std::string_view text) {
  std::map<std::optional<Rank>, Reader> readers;
  std::size_t last = 0;
  for_each_line(text, [&](const LogLine& line) {
    const bool after_gap = line.number > last + 1;
    last = line.number;
    if (has_bar(line.text)) return;
    const auto [reader, added] = readers.try_emplace(line.rank, line.rank);
    reader->second.read(line, after_gap);
  });
  std::vector<Traceback> all;
  for (auto& [rank, reader] : readers) std::ranges::move(reader.take(), std::back_inserter(all));
  std::erase_if(all, is_of_launcher);
  std::ranges::stable_sort(all, {}, &Traceback::line);
  return all;
}

std::string with_rank_tags(std::string_view text, const std::map<int, Rank>& ranks) {
  std::string tagged;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n') + 1);
    if (line.empty()) line = text;
    text.remove_prefix(line.size());
    std::string_view rest = line;
    const auto pid = take_process(rest);
    const auto rank = pid ? ranks.find(*pid) : ranks.end();
    if (rank != ranks.end()) tagged += fmt::format("[rank{}]: ", rank->second.value);
    tagged += rank != ranks.end() ? rest : line;
  }
  return tagged;
}

std::optional<ReportedExit> reported_exit(std::string_view text) {
  for (const job::Launcher launcher : {job::Launcher::torchrun, job::Launcher::python,
                                       job::Launcher::deepspeed, job::Launcher::accelerate}) {
    const auto failure = job::read_launcher_failure(launcher, text);
    if (failure && failure->status)
      return ReportedExit{rank_of(launcher, *failure), *failure->status};
  }
  return std::nullopt;
}

std::string failure_words(std::string_view text, const Catalogue& catalogue,
                          std::optional<Rank> rank) {
  const std::vector<Traceback> all = tracebacks(text);
  if (all.empty()) return last_lines(text);
  if (!rank)
    if (const auto reported = reported_exit(text)) rank = reported->rank;
  const auto not_victim = [&](const Traceback& one) { return !is_victim(one, catalogue); };
  const auto of_rank = [&](const Traceback& one) { return rank && one.rank == rank; };
  const auto of_anybody = [&](const Traceback& one) { return !rank || !one.rank; };
  const auto culprit = [&](const auto& whose) {
    return std::ranges::find_if(
        all, [&](const Traceback& one) { return whose(one) && not_victim(one); });
  };
  for (const auto& found :
       {culprit(of_rank), culprit(of_anybody), std::ranges::find_if(all, of_rank)})
    if (found != all.end()) return found->text;
  return rank ? last_lines(text) : all.front().text;  // all tracebacks are those of other ranks
}

}  // namespace safelaunch::diagnose
