#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/probe/survey.h"
#include "safelaunch/probe/tournament.h"

namespace safelaunch::cli {

/// The facts that stand before the table of a probe.
struct ProbeGround {
  std::string nccl_file;
  std::string nccl_origin;  ///< "LD_LIBRARY_PATH"
  probe::NcclSurvey nccl;
  probe::DriverSurvey driver;
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

/// The words of `safelaunch probe`.
struct ProbeOptions {
  std::vector<std::string> profiles;  ///< names and files; empty: the chain that `run` would take
  bool all = false;                   ///< every profile there is
  std::string cluster;
  std::string config;
  std::optional<int> ranks;  ///< else one a GPU
  std::string devices;       ///< "0,1"; empty: all that are visible
  std::string nccl;          ///< a libnccl to probe; empty: the command's
  std::optional<Duration> driver_timeout;
  std::optional<Duration> init_timeout;
  std::optional<Duration> collective_timeout;
  std::vector<std::string> set;    ///< NAME=VALUE
  std::vector<std::string> unset;  ///< NAME
  bool json = false;
  std::string html;  ///< the file for the page; several nodes
  std::optional<int> nnodes;
  std::optional<int> node_rank;
  std::string master_addr;
  std::optional<int> master_port;
  std::string rendezvous;
  std::string token_file;
  std::optional<Duration> nodes_timeout;
  std::vector<std::string> command;  ///< its Python tells which NCCL is loaded; empty: python3
};

}  // namespace safelaunch::cli
