#include "accelerate_config.h"

#include <yaml-cpp/yaml.h>

namespace safelaunch::job {
namespace {

// Such a file has fifty lines; more is no configuration, and nothing that we should parse.
constexpr std::size_t kLargestFile = 256 * 1024;

template <class T>
std::optional<T> value(const YAML::Node& map, const char* key) {
  const YAML::Node node = map[key];
  T result;
  if (!node.IsDefined() || !YAML::convert<T>::decode(node, result)) return std::nullopt;
  return result;
}

std::string text(const YAML::Node& map, const char* key) {
  return value<std::string>(map, key).value_or("");
}

/// The text of a key in a map that stands under another key.
std::string text(const YAML::Node& map, const char* outer, const char* key) {
  const YAML::Node inner = map[outer];  // IsMap() throws where it is not defined
  return inner.IsDefined() && inner.IsMap() ? text(inner, key) : std::string();
}

bool flag(const YAML::Node& map, const char* key) {
  return value<bool>(map, key).value_or(false);
}

AccelerateConfig read(const YAML::Node& root) {
  AccelerateConfig config;
  config.distributed_type = value<std::string>(root, "distributed_type").value_or("NO");
  config.num_processes = value<int>(root, "num_processes");
  config.num_machines = value<int>(root, "num_machines");
  config.main_process_port = value<int>(root, "main_process_port");
  config.sagemaker = text(root, "compute_environment") == "AMAZON_SAGEMAKER";
  config.tpu_cluster = flag(root, "tpu_use_cluster");
  config.rendezvous = text(root, "rdzv_backend");
  config.deepspeed_launcher = text(root, "deepspeed_config", "deepspeed_multinode_launcher");
  config.mpirun = !text(root, "mpirun_config", "mpirun_hostfile").empty();
  return config;
}

}  // namespace

std::optional<AccelerateConfig> parse_accelerate_config(const std::string& text) {
  if (text.size() > kLargestFile) return std::nullopt;
  try {
    const YAML::Node root = YAML::Load(text);
    return root.IsMap() ? std::optional(read(root)) : std::nullopt;
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

}  // namespace safelaunch::job
