#pragma once

#include <span>

#include "safelaunch/gpu/visible.h"
#include "safelaunch/probe/survey.h"
#include "safelaunch/probe/tournament.h"

namespace safelaunch::cli {

/// The facts that stand before the table of a probe.
struct ProbeGround {
  std::string nccl_file;
  std::string nccl_origin;  ///< "LD_LIBRARY_PATH"
  probe::NcclSurvey nccl;
  gpu::VisibleGpus driver;
  int ranks = 1;
};

/// "NCCL 2.28.9 (…): ranks meet over eth0 (192.0.2.2)", or why they cannot.
[[nodiscard]] std::string render_nccl(const ProbeGround& ground);
/// "2 GPUs (…), CUDA 13.0; …"
[[nodiscard]] std::string render_driver(const ProbeGround& ground);

/// The table's lines; `width` is that of the longest profile's name.
[[nodiscard]] std::string render_probe_header(std::size_t width);
[[nodiscard]] std::string render_probe_row(const probe::ProbedProfile& probed, int ranks,
                                           std::size_t width);

/// A profile's row as a JSON object.
[[nodiscard]] std::string profile_json(const probe::ProbedProfile& probed);

[[nodiscard]] std::string probe_json(const ProbeGround& ground,
                                     std::span<const probe::ProbedProfile> probed,
                                     const probe::Conclusion& conclusion);

/// The last lines of a probe on one node: what its rows mean, and the line to type.
[[nodiscard]] std::string render_conclusion(const probe::Conclusion& conclusion);

/// "2.28.9", or that it is not known.
[[nodiscard]] std::string version_text(const probe::NcclSurvey& nccl);

}  // namespace safelaunch::cli
