#include "nccl_silence.h"

#include "explanation.h"
#include "log_line.h"
#include "safelaunch/base/format.h"
#include "safelaunch/nccl/job.h"

namespace safelaunch::diagnose {

std::optional<std::string> nccl_silence(std::string_view log) {
  nccl::Job job;
  for_each_line(log, [&](const LogLine& line) { (void)job.read(line.text); });
  if (job.any_complete()) return std::nullopt;
  if (const auto standing = job.unfinished())
    if (const auto missing = standing->missing(); !missing.empty())
      return fmt::format("{} of {} ranks never came to NCCL: {}", missing.size(), standing->ranks,
                         list_of(missing));
  if (job.in_old_bootstrap() == 0) return std::nullopt;
  return fmt::format("{} processes wait in NCCL's bootstrap", job.in_old_bootstrap());
}

}  // namespace safelaunch::diagnose
