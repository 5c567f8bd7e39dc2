#include "safelaunch/profile/told_settings.h"

#include <cstdint>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/trust.h"

// A healthy run says nothing of a ./safelaunch.yaml that the user knows. What a user has been told
// of is remembered by a sum of its text, so that a changed file is told again and a copy is not.
namespace safelaunch::profile {
namespace {

constexpr std::size_t kMostTexts = 1'000;
constexpr std::size_t kMostOfMemory = 100'000;

// FNV-1a. The file decides nothing that does harm, so nobody gains by another text of the same sum.
std::string sum_of(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", sum);
}

}  // namespace

std::optional<std::string> memory_with(std::string_view memory, std::string_view text) {
  const std::string sum = sum_of(text);
  std::vector<std::string_view> lines;
  for (std::string_view rest = memory; !rest.empty();) {
    lines.push_back(take_word(rest, '\n'));
    if (lines.back() == sum) return std::nullopt;
  }
  if (lines.size() >= kMostTexts) lines.erase(lines.begin());
  lines.push_back(sum);
  std::string content;
  for (const std::string_view line : lines) content += fmt::format("{}\n", line);
  return content;
}

std::optional<Telling> first_telling(const Environment& environment, std::string_view text) {
  const std::string file = state_file(environment, "told-settings");
  if (file.empty()) return Telling{};
  const Result<std::optional<std::string>> memory = read_trusted_file(file, kMostOfMemory);
  auto content = memory_with(memory ? memory->value_or("") : "", text);
  if (!content) return std::nullopt;
  return Telling{file, *std::move(content)};
}

}  // namespace safelaunch::profile
