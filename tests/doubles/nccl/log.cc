#include "nccl/log.h"

#include <strings.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <mutex>
#include <sstream>

#include "nccl/settings.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

enum class Level { none, version, warn, info };

Level level() {
  const std::string word = setting("NCCL_DEBUG").value_or("");
  const auto is = [&](const char* name) { return ::strcasecmp(word.c_str(), name) == 0; };
  if (is("INFO") || is("TRACE") || is("ABORT")) return Level::info;
  return is("WARN") ? Level::warn : is("VERSION") ? Level::version : Level::none;
}

struct Named {
  const char* name;
  Subsystem subsystem;
};

constexpr Named kNamed[] = {
    {"INIT", Subsystem::init},
    {"COLL", Subsystem::coll},
    {"P2P", Subsystem::p2p},
    {"SHM", Subsystem::shm},
    {"NET", Subsystem::net},
    {"GRAPH", Subsystem::graph},
    {"TUNING", Subsystem::tuning},
    {"ENV", Subsystem::env},
    {"ALLOC", Subsystem::alloc},
    {"CALL", Subsystem::call},
    {"PROXY", Subsystem::proxy},
    {"NVLS", Subsystem::nvls},
    {"BOOTSTRAP", Subsystem::bootstrap},
    {"REG", Subsystem::reg},
    {"PROFILE", Subsystem::profile},
    {"RAS", Subsystem::ras},
    {"ALL", Subsystem::all},
};

unsigned mask() {
  constexpr unsigned by_default =
      unsigned(Subsystem::init) | unsigned(Subsystem::bootstrap) | unsigned(Subsystem::env);
  std::string list = setting("NCCL_DEBUG_SUBSYS").value_or("");
  if (list.empty()) return by_default;
  const bool inverted = list.front() == '^';
  if (inverted) list.erase(0, 1);
  unsigned bits = 0;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');)
    for (const Named& named : kNamed)
      if (::strcasecmp(word.c_str(), named.name) == 0) bits |= unsigned(named.subsystem);
  return inverted ? ~bits : bits;
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  const std::string full(name);
  return full.substr(0, full.find('.'));
}

/// NCCL_DEBUG_FILE with %h and %p filled in; stdout if there is none or it cannot be opened.
FILE* open_file() {
  const std::string pattern = setting("NCCL_DEBUG_FILE").value_or("");
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'h': path += host_name(); break;
      case 'p': path += std::to_string(::getpid()); break;
      default: path += pattern[i];
    }
  }
  FILE* file = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
  if (file) ::setlinebuf(file);
  return file ? file : stdout;
}

FILE* file() {
  static FILE* const opened = open_file();
  return opened;
}

/// `format` of strftime; %Nf is N digits of the second's fraction.
std::string time_stamp(std::string format) {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  if (const auto at = format.find("%6f"); at != std::string::npos) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06ld", static_cast<long>(now.tv_usec));
    format.replace(at, 3, digits);
  }
  char text[128];
  tm parts{};
  std::strftime(text, sizeof text, format.c_str(), ::localtime_r(&now.tv_sec, &parts));
  return text;
}

/// The text before the host: from 2.26 on a time, for the levels that NCCL_DEBUG_TIMESTAMP_LEVELS
/// names.
std::string time_prefix(const char* for_level) {
  if (played() < NcclVersion{2, 26}) return "";
  const std::string levels = setting("NCCL_DEBUG_TIMESTAMP_LEVELS").value_or("WARN");
  if (levels != "ALL" && levels.find(for_level) == std::string::npos) return "";
  return time_stamp(setting("NCCL_DEBUG_TIMESTAMP_FORMAT").value_or("[%F %T] "));
}

/// host:pid:tid [device]
std::string speaker(int device, Voice voice) {
  const int offset = voice == Voice::caller ? 0 : 2 + static_cast<int>(voice);
  const int thread = voice == Voice::caller ? ::gettid() : ::getpid() + offset;
  return host_name() + ":" + std::to_string(::getpid()) + ":" + std::to_string(thread) + " [" +
         std::to_string(device) + "]";
}

std::mutex& error_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

std::string& error_text() {
  static auto& text = *new std::string;
  return text;
}

}  // namespace

void log_info(Subsystem subsystem, int device, std::string_view text, Voice voice) {
  if (level() < Level::info || !(mask() & unsigned(subsystem))) return;
  const std::string line =
      time_prefix("INFO") + speaker(device, voice) + " NCCL INFO " + std::string(text) + "\n";
  std::fputs(line.c_str(), file());
}

void log_warn(int device, std::string_view place, std::string_view text, Voice voice) {
  {
    const std::lock_guard lock(error_mutex());
    error_text() = text;
  }
  if (level() < Level::warn) return;
  const std::string line = "\n" + time_prefix("WARN") + speaker(device, voice) + " " +
                           std::string(place) + " NCCL WARN " + std::string(text) + "\n";
  std::fputs(line.c_str(), file());
}

const char* last_error() {
  thread_local std::string copy;
  const std::lock_guard lock(error_mutex());
  copy = error_text();
  return copy.c_str();
}

}  // namespace safelaunch::testing
