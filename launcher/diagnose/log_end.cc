#include "log_end.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/strings.h"

// The last line that says anything decides, and the two before it: a launcher may add one of its
// own.
namespace safelaunch::diagnose {
namespace {

struct End {
  std::string_view line;  ///< a part of it
  std::string_view told;
};

constexpr std::array kEnds{
    End{"Setting ds_accelerator to",
        "The log ends while DeepSpeed starts, before its first collective."},
    End{"Initializing TorchBackend in DeepSpeed",
        "The log ends as DeepSpeed makes its process group."},
    End{"torch_extensions", "The log ends while an extension is built, or waited for."},
    End{"Building extension module", "The log ends while an extension is built, or waited for."},
    End{"Loading extension module", "The log ends while an extension is built, or waited for."},
    End{"Setting OMP_NUM_THREADS",
        "The log ends behind the launcher's own words: no rank has said anything."},
};

constexpr int kLines = 3;

}  // namespace

std::string_view at_the_end_of(std::string_view log) {
  for (int line = 0; line < kLines; ++line) {
    log = trimmed(log);
    const std::size_t begin = log.rfind('\n') + 1;  // 0 where there is none
    const std::string_view last = log.substr(begin);
    const auto known = std::ranges::find_if(
        kEnds, [&](const End& end) { return last.find(end.line) != std::string_view::npos; });
    if (known != kEnds.end()) return known->told;
    log = log.substr(0, begin);
  }
  return {};
}

}  // namespace safelaunch::diagnose
