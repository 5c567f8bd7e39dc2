#include "safelaunch/run/configuration.h"

#include "safelaunch/host/identity.h"
#include "safelaunch/host/network.h"

namespace safelaunch {

Result<Configuration> read_configuration(const std::string& file, const std::string& cluster,
                                         const Environment& environment) {
  Configuration result;
  Result<FoundConfig> found = find_config(file, environment);
  if (!found) return found.error();
  result.warnings = std::move(found->warnings);
  for (std::string& warning : misspelt_settings(environment))
    result.warnings.push_back(std::move(warning));
  const Config& config = found->config;
  // Facts of the host are read only where a rule asks for them: most people have none.
  ClusterHost host;
  host.environment = environment;
  if (!config.clusters.empty()) {
    host.hostname = read_identity().hostname;
    host.addresses = local_addresses();
    if (asks_for_gpus(config)) host.gpus = gpu_models();
  }
  const Result<const ClusterRule*> rule = choose_cluster(config, cluster, host);
  if (!rule) return rule.error();
  result.rules = rules_for(config, *rule);
  if (*rule != nullptr) result.cluster = (*rule)->name;
  const Result<Settings> variables = settings_from(environment);
  if (!variables) return variables.error();
  result.settings = overlay(result.rules.options, *variables);
  return result;
}

}  // namespace safelaunch
