#include "run_names.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/strings.h"

namespace safelaunch::report {
namespace {

using Parts = std::vector<std::string>;

bool has_number(std::string_view name, std::string_view prefix, std::string_view suffix = "") {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  name.remove_prefix(prefix.size());
  return name.size() > suffix.size() && is_number(name.substr(0, name.size() - suffix.size()));
}

RunName in_run(std::string_view name) {
  if (name == "job.json" || name == "outcome.json") return RunName::small;
  if (name == "events.jsonl") return RunName::record;
  if (name == "segments" || name == "report.html") return RunName::other;
  if (is_installation(name)) return RunName::tree;
  const std::string_view rest = name.starts_with("attempt-") ? name.substr(8) : "";
  const std::size_t dash = rest.find('-');
  const bool attempt = dash != std::string_view::npos && is_number(rest.substr(0, dash));
  return attempt ? RunName::folder : RunName::foreign;
}

RunName in_attempt(std::string_view name) {
  if (name == "env.diff") return RunName::small;
  if (name == "evidence" || name == "launcher") return RunName::folder;
  const bool of_launcher = name == "launcher.out" || name == "launcher.err";
  const bool of_rank = has_number(name, "rank-", ".out") || has_number(name, "rank-", ".err");
  const bool log = of_launcher || of_rank || name.starts_with("nccl.");
  return log ? RunName::log : RunName::foreign;
}

RunName in_evidence(std::string_view name) {
  const bool known =
      name == "collectives" || name == "ras.txt" || has_number(name, "rank-", ".stack");
  return known ? RunName::small : RunName::foreign;
}

/// torchrun's own: launcher/ID_x7k2/attempt_0/3/stderr.log.
RunName in_torchruns(const Parts& parts) {
  const std::string& last = parts.back();
  switch (parts.size()) {
    case 3: return RunName::folder;
    case 4: return has_number(last, "attempt_") ? RunName::folder : RunName::foreign;
    case 5: return is_number(last) ? RunName::folder : RunName::foreign;
    case 6:
      return last.ends_with(".log") || last == "error.json" ? RunName::other : RunName::foreign;
    default: return RunName::foreign;
  }
}

}  // namespace

RunName run_name_of(const std::filesystem::path& relative) {
  const Parts parts(relative.begin(), relative.end());
  if (parts.empty()) return RunName::foreign;
  if (parts.size() == 1) return in_run(parts[0]);
  if (in_run(parts[0]) != RunName::folder) return RunName::foreign;
  if (parts.size() == 2) return in_attempt(parts[1]);
  if (parts[1] == "launcher") return in_torchruns(parts);
  const bool evidence = parts[1] == "evidence" && parts.size() == 3;
  return evidence ? in_evidence(parts[2]) : RunName::foreign;
}

bool is_installation(std::string_view name) {
  const std::size_t dash = name.find('-');
  const std::string_view hash = name.substr(std::min(dash + 1, name.size()));
  return (name.starts_with("hook-") || name.starts_with("plugin-")) && hash.size() == 16 &&
         hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace safelaunch::report
