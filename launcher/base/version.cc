#include "safelaunch/base/version.h"

namespace safelaunch {

const char* version() {
  return SAFELAUNCH_VERSION;
}

}  // namespace safelaunch
