#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/time.h"

namespace safelaunch::cli {

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
