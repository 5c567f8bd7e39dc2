#pragma once

#include <string>
#include <vector>

#include "safelaunch/doctor/examine.h"

/// The themes of the doctor's examination. Each function adds what it finds; a healthy host adds
/// nothing. A finding must be true as it stands: where a fact is missing, nothing is said.
namespace safelaunch::doctor {

using Advices = std::vector<Advice>;

void check_shared_memory(const HostFacts& facts, Advices& advices);
void check_limits(const HostFacts& facts, Advices& advices);
void check_world(const HostFacts& facts, Advices& advices);
void check_master(const HostFacts& facts, Advices& advices);
void check_interfaces(const HostFacts& facts, Advices& advices);
void check_infiniband(const HostFacts& facts, Advices& advices);
void check_efa(const HostFacts& facts, Advices& advices);
void check_variables(const HostFacts& facts, Advices& advices);
void check_processes(const HostFacts& facts, Advices& advices);
void check_python(const HostFacts& facts, Advices& advices);
void check_storage(const HostFacts& facts, Advices& advices);
void check_gpus(const HostFacts& facts, Advices& advices);
void check_xids(const HostFacts& facts, Advices& advices);

/// Adds a finding about which we can do nothing by ourselves.
inline void advise(Advices& advices, Severity severity, std::string cause, std::string evidence,
                   std::string remedy) {
  advices.push_back({{std::move(cause), severity, std::move(evidence), std::move(remedy)}, {}, {}});
}

}  // namespace safelaunch::doctor
