#include "safelaunch/base/finding.h"

namespace safelaunch {

const char* name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::risk: return "risk";
    case Severity::blocks: return "blocks";
  }
  return "";
}

}  // namespace safelaunch
