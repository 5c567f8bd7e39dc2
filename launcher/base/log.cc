#include "safelaunch/base/log.h"

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

namespace safelaunch {
namespace {

Verbosity chosen = Verbosity::normal;

// Made on the first message: a run that has nothing to say does not pay for it.
spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("safelaunch", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>());
    made.set_pattern("safelaunch: %^%l%$: %v");
    made.set_level(spdlog::level::debug);
    return made;
  }();
  return instance;
}

}  // namespace

void set_verbosity(Verbosity verbosity) {
  chosen = verbosity;
}

void log_debug(std::string_view message) {
  if (chosen == Verbosity::verbose) logger().debug("{}", message);
}

void log_warning(std::string_view message) {
  if (chosen != Verbosity::quiet) logger().warn("{}", message);
}

void log_error(std::string_view message) {
  logger().error("{}", message);
}

}  // namespace safelaunch
