#include "host_account.h"

#include <sys/utsname.h>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/base/version.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/nodes/node_facts.h"

namespace safelaunch::run {
namespace {

constexpr std::size_t kMostOfFile = 4'096;

// A line "Model: \t\t NVIDIA H100 80GB HBM3".
std::string model_in(const std::string& information) {
  constexpr std::string_view kModel = "Model:";
  const std::size_t at = information.find(kModel);
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(information).substr(at + kModel.size());
  return std::string(trimmed(rest.substr(0, rest.find('\n'))));
}

}  // namespace

std::string gpu_models(const std::filesystem::path& folder) {
  std::map<std::string, int> counts;
  std::error_code none;
  for (const auto& gpu : std::filesystem::directory_iterator(folder, none)) {
    const auto text = user_file_text(gpu.path() / "information", kMostOfFile);
    if (const std::string model = model_in(text.value_or("")); !model.empty()) ++counts[model];
  }
  std::vector<std::string> models;
  for (const auto& [model, count] : counts)
    models.push_back(count == 1 ? model : fmt::format("{} × {}", count, model));
  return join(models, ", ");
}

report::record::Host account_of_host(const plan::RunPlan& plan) {
  report::record::Host account;
  account.host = host::read_hostname();
  utsname kernel{};
  if (::uname(&kernel) == 0)
    account.system = fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine);
  account.safelaunch = version();
  nodes::NodeFacts facts = nodes::facts_of(plan);
  account.torch = facts["torch"];
  account.nccl = facts["NCCL"];
  account.driver = facts["the driver"];
  account.gpus = gpu_models("/proc/driver/nvidia/gpus");
  return account;
}

}  // namespace safelaunch::run
