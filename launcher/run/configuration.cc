#include "safelaunch/run/configuration.h"

#include "safelaunch/host/identity.h"
#include "safelaunch/host/network.h"

namespace safelaunch::run {

Result<Configuration> read_configuration(const std::string& file, const std::string& cluster,
                                         const Environment& environment) {
  Configuration result;
  Result<profile::FoundConfig> found = profile::find_config(file, environment);
  if (!found) return found.error();
  result.warnings = std::move(found->warnings);
  for (std::string& warning : settings::misspelt_settings(environment))
    result.warnings.push_back(std::move(warning));
  const profile::Config& config = found->config;
  // Facts of the host are read only where a rule asks for them: most people have none.
  profile::ClusterHost host;
  host.environment = environment;
  if (!config.clusters.empty()) {
    host.hostname = host::read_identity().hostname;
    host.addresses = host::local_addresses();
    if (profile::asks_for_gpus(config)) host.gpus = host::gpu_models();
  }
  const Result<const profile::ClusterRule*> rule = profile::choose_cluster(config, cluster, host);
  if (!rule) return rule.error();
  result.rules = profile::rules_for(config, *rule);
  if (*rule != nullptr) result.cluster = (*rule)->name;
  const Result<settings::Settings> variables = settings::settings_from(environment);
  if (!variables) return variables.error();
  result.settings = settings::overlay(result.rules.options, *variables);
  return result;
}

}  // namespace safelaunch::run
