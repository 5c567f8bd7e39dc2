#pragma once

#include <map>
#include <string>
#include <vector>

#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/host/sockets.h"

namespace safelaunch::run {

/// Who holds the ports on which an attempt failed or hung, as confirmations of the causes
/// port-taken and store-foreign. To be asked once nothing of the attempt lives any more: whoever is
/// there now is not of the job. `knocking` has the stores ("host:port") that ranks could not get
/// into; those on other hosts are left out.
[[nodiscard]] std::vector<diagnose::Confirmation> port_facts(
    const diagnose::Evidence& evidence, const std::map<Rank, std::string>& knocking,
    const diagnose::Catalogue& catalogue, const host::SocketTable& sockets);

}  // namespace safelaunch::run
