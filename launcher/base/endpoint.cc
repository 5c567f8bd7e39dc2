#include "safelaunch/base/endpoint.h"

namespace safelaunch {

std::string endpoint_host(std::string_view endpoint) {
  if (endpoint.starts_with('[')) return std::string(endpoint.substr(1, endpoint.find(']') - 1));
  return std::string(endpoint.substr(0, endpoint.rfind(':')));
}

}  // namespace safelaunch
