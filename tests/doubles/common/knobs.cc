#include "common/knobs.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>

namespace safelaunch::testing {

std::vector<std::string> knob_words(const char* variable) {
  std::vector<std::string> words;
  const char* value = std::getenv(variable);
  std::istringstream text(value ? value : "");
  for (std::string word; std::getline(text, word, ',');) words.push_back(word);
  return words;
}

bool knob_has(const char* variable, std::string_view word) {
  for (const std::string& one : knob_words(variable))
    if (one == word) return true;
  return false;
}

std::optional<std::string> knob_value(const char* variable, std::string_view word) {
  const std::string prefix = std::string(word) + ":";
  for (const std::string& one : knob_words(variable))
    if (one.starts_with(prefix)) return one.substr(prefix.size());
  return std::nullopt;
}

std::optional<long> knob_number(const char* variable, std::string_view word) {
  const auto value = knob_value(variable, word);
  if (!value) return std::nullopt;
  const auto at = value->find('@');
  const char* rank = std::getenv("RANK");
  if (at != std::string::npos && (!rank || value->substr(at + 1) != rank)) return std::nullopt;
  return std::atol(value->c_str());
}

void hang_or_crash(const char* variable) {
  while (knob_has(variable, "hang")) ::pause();
  if (knob_has(variable, "crash")) std::raise(SIGSEGV);
}

}  // namespace safelaunch::testing
