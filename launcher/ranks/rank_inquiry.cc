#include "safelaunch/ranks/rank_inquiry.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/host/python_frames.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/watch/hook_channel.h"

// The questions go through the hook's socket all at once, and the answers are kept as files as they
// come. The round ends with the last answer, or at its limit: a rank that holds the GIL, or has not
// imported torch yet, never answers, and its frames are read from its memory then.
namespace safelaunch::ranks {

void RankInquiry::begin(watch::HookChannel* channel, std::span<const AskedRank> ranks,
                        std::span<const watch::HookQuestion> questions,
                        const std::filesystem::path& directory, Duration limit, const Calls& calls,
                        Done done) {
  done_ = std::move(done);
  questions_ = RankQuestions(calls);
  directory_ = directory;
  silent_.clear();
  if (std::ranges::find(questions, watch::HookQuestion::stack) != questions.end())
    silent_.assign(ranks.begin(), ranks.end());
  for (const AskedRank& rank : ranks)
    for (const watch::HookQuestion question : questions)
      if (channel != nullptr && channel->ask(rank.process, question, 0))
        questions_.open(rank, question);
  finish_after(questions_.all_answered() ? Duration::zero() : limit);
}

void RankInquiry::answered(ProcessId process, const watch::StackAnswer& answer) {
  const auto rank = questions_.answered(process, answer);
  if (!rank) return;
  keep_stack(*rank);
  finish_if_all_have_answered();
}

void RankInquiry::read_the_silent() {
  for (const AskedRank& one : silent_) {
    if (questions_.answers().stacks.contains(one.rank)) continue;
    std::vector<std::string> frames = host::python_frames(one.process.pid);
    if (frames.empty()) continue;
    questions_.was_read(one.rank, {"MainThread", std::move(frames)});
    keep_stack(one.rank);
  }
}

void RankInquiry::keep_stack(Rank rank) const {
  keep(fmt::format("rank-{}.stack", rank.value), questions_.answers().stacks.at(rank).frames);
}

void RankInquiry::answered(ProcessId process, const watch::CountersAnswer& answer) {
  if (questions_.answered(process, answer)) finish_if_all_have_answered();
}

void RankInquiry::answered(ProcessId process, const watch::CollectivesAnswer& answer) {
  if (questions_.answered(process, answer)) finish_if_all_have_answered();
}

void RankInquiry::keep(const std::string& file, std::string text) const {
  if (!directory_.empty())
    report::write_later(disk_, directory_ / "evidence" / file, std::move(text));
}

void RankInquiry::keep_collectives() const {
  const auto& collectives = questions_.answers().collectives;
  if (collectives.empty()) return;
  std::string text;
  for (const auto& [rank, seen] : collectives)
    text += fmt::format("rank {}: {}\n", rank.value, describe(seen));
  keep("collectives", std::move(text));
}

void RankInquiry::finish_if_all_have_answered() {
  if (questions_.all_answered()) finish_after(Duration::zero());
}

void RankInquiry::finish_after(Duration time) {
  timer_.set_after(time, [this] { finish(); });
}

void RankInquiry::finish() {
  if (!done_) return;
  read_the_silent();
  keep_collectives();
  std::exchange(done_, nullptr)(questions_.answers());
}

}  // namespace safelaunch::ranks
