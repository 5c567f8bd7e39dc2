#pragma once

#include <optional>
#include <string>

namespace safelaunch::job {

/// What we need of accelerate's YAML (or JSON) configuration file.
struct AccelerateConfig {
  std::string distributed_type = "NO";  ///< "MULTI_GPU", "DEEPSPEED", "FSDP", "MULTI_CPU", …
  std::optional<int> num_processes;
  std::optional<int> num_machines;
  std::optional<int> main_process_port;
  bool sagemaker = false;  ///< the job runs in Amazon's cloud
  bool tpu_cluster = false;
  std::string rendezvous;          ///< rdzv_backend
  std::string deepspeed_launcher;  ///< "standard", "pdsh", "nossh", …
  bool mpirun = false;
};

/// nullopt where the text is no such file.
[[nodiscard]] std::optional<AccelerateConfig> parse_accelerate_config(const std::string& text);

}  // namespace safelaunch::job
