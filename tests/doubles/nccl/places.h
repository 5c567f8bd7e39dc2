#pragma once

#include <string_view>

#include "nccl/declarations.h"

namespace safelaunch::testing {

/// Where in its source NCCL's own lines come from, for the release that is played (or the newest
/// one before it that we have read). A trail is what it prints when an error goes up through its
/// functions: "init.cc:1582 init.cc:2028"; places after `@` are printed by the proxy thread.
struct Places {
  int since;  ///< NCCL's version code

  const char* no_interface;
  const char* no_interface_trail;
  const char* root_mismatch;
  const char* root_duplicate;
  const char* refused;
  const char* refused_trail;
  const char* closed;
  const char* no_network;
  const char* no_network_trail;
  const char* duplicate_gpu;
  const char* other_version;
  const char* init_trail;  ///< from the middle of init upwards: the end of all trails but that of
                           ///< no_network
  const char* shm_extend;
  const char* shm_create;
  const char* shm_trail;
  const char* pool_trail;
  const char* connect_trail;  ///< between a transport and init
  const char* nvls;
  const char* out_of_memory;
  const char* no_block;
  const char* verbs;
  const char* config;
};

[[nodiscard]] const Places& places();

/// NCCL's "init.cc:1582 -> 5" lines.
void log_trail(int device, std::string_view trail, ncclResult_t result);

}  // namespace safelaunch::testing
