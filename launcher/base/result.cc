#include "safelaunch/base/result.h"

#include <stdexcept>

namespace safelaunch {

void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw std::runtime_error(error.message);
}

int exit_code_of(Errc code) {
  switch (code) {
    case Errc::usage: return 64;
    case Errc::bad_config: return 78;
    case Errc::not_found: return 127;
    case Errc::not_executable: return 126;
    case Errc::blocked: return 75;
    case Errc::peer_lost: return 69;
    case Errc::not_written: return 74;
    case Errc::os: return 125;
  }
  return 125;
}

}  // namespace safelaunch
