#include "safelaunch/base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <cstdio>

#include "safelaunch/base/language.h"

// A line goes to stderr at first, and to the run's terminal writer as soon as there is one, so that
// our words never cut a line of the job. The level is asked before the logger, because most runs
// log nothing and then never make one.
namespace safelaunch {
namespace {

Verbosity chosen = Verbosity::normal;

LogWriter& writer() {
  static LogWriter instance;
  return instance;
}

void write(std::string_view line) {
  if (writer()) return writer()(line);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

// Hands each finished line to the writer that owns the terminal at that time.
class WriterSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}
};

// Made on the first message: a run that has nothing to say does not pay for it.
spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    auto sink = std::make_shared<WriterSink>();
    // No line end: the writer adds it.
    sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "safelaunch: %v", spdlog::pattern_time_type::local, ""));
    spdlog::logger made("safelaunch", std::move(sink));
    made.set_level(spdlog::level::debug);
    return made;
  }();
  return instance;
}

}  // namespace

void set_verbosity(Verbosity verbosity) {
  chosen = verbosity;
}

void set_log_writer(LogWriter to) {
  writer() = std::move(to);
}

void log_debug(std::string_view message) {
  if (chosen == Verbosity::verbose) logger().debug("debug: {}", message);
}

void log_warning(std::string_view message) {
  if (chosen != Verbosity::quiet) logger().warn("{}", tr("warning: {}", tr(message)));
}

void log_error(std::string_view message) {
  logger().error("{}", tr("error: {}", tr(message)));
}

}  // namespace safelaunch
