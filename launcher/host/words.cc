#include "safelaunch/host/words.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/join.h"
#include "safelaunch/base/redact.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {

namespace {

/// Another user's command line may hold anything: no control byte of it reaches a terminal.
void make_printable(std::string& text) {
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
}

/// Cuts behind a whole UTF-8 character.
void shorten(std::string& text, std::size_t longest) {
  if (text.size() <= longest) return;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (longest > 0 && continues(text[longest])) --longest;
  text.resize(longest);
  text += "…";
}

}  // namespace

std::string short_command_of(int pid, const std::string& otherwise) {
  const std::vector<std::string> words = command_line_of(pid);
  Redactor redactor;
  redactor.learn(words);
  std::string text = join(redactor.redact(words), " ");
  if (text.empty()) text = otherwise;
  make_printable(text);
  shorten(text, 60);
  return text;
}

std::string rough_age(Duration age) {
  using namespace std::chrono;
  if (age >= hours(48)) return fmt::format("{} days", age / hours(24));
  if (age >= hours(1)) return fmt::format("{}h", age / hours(1));
  if (age >= minutes(1)) return fmt::format("{}min", age / minutes(1));
  return fmt::format("{}s", age / seconds(1));
}

std::string rough_size(std::uint64_t bytes) {
  constexpr double kStep = 1024.0;
  const double kibibytes = static_cast<double>(bytes) / kStep;
  if (kibibytes < kStep) return fmt::format("{:.0f} KiB", kibibytes);
  const double mebibytes = kibibytes / kStep;
  if (mebibytes < kStep) return fmt::format("{:.0f} MiB", mebibytes);
  return fmt::format("{:.1f} GiB", mebibytes / kStep);
}

}  // namespace safelaunch::host
