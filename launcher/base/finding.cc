#include "safelaunch/base/finding.h"

namespace safelaunch {

const char* name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::blocking: return "blocking";
  }
  return "";
}

}  // namespace safelaunch
