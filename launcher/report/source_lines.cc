#include "source_lines.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"

// Only Python files are read: a process of the job chooses the names, and the page may be shown to
// others.
namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSourceLines = 1'000;
constexpr std::size_t kMostSources = 100;
constexpr std::size_t kLongestSource = 200;

// Names of files with the numbers of the lines that are wanted.
using Wanted = std::map<std::string, std::set<int>, std::less<>>;

void take_places(std::string_view stack, Wanted& wanted, std::size_t& places) {
  while (!stack.empty()) {
    const std::string_view place = place_of_frame(take_word(stack, '\n'));
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos || places == kMostSourceLines) continue;
    const std::string file(place.substr(0, colon));
    const auto line = to_number(place.substr(colon + 1));
    const bool room = wanted.size() < kMostSources || wanted.contains(file);
    if (line && *line > 0 && room && wanted[file].insert(*line).second) ++places;
  }
}

// Each is "PLACE<tab>LINE".
std::string lines_of(const std::string& name, const std::set<int>& numbers,
                     const fs::path& directory, fs::file_time_type stood) {
  const fs::path path = fs::path(name).is_absolute() ? fs::path(name) : directory / name;
  std::error_code error;
  if (const auto written = fs::last_write_time(path, error); error || written > stood) return {};
  const std::string source = user_file_text(path).value_or("");
  std::string lines;
  int number = 0;
  for (std::string_view rest = source; !rest.empty();) {
    const std::string_view line = take_word(rest, '\n');
    if (numbers.contains(++number))
      lines += fmt::format("{}:{}\t{}\n", name, number, cut(line, kLongestSource));
  }
  return lines;
}

}  // namespace

SourceLines read_sources(std::string_view text) {
  SourceLines lines;
  while (!text.empty()) {
    std::string_view line = take_word(text, '\n');
    const std::string place(take_word(line, '\t'));
    if (!place.empty() && line.find_first_not_of(" \t\r") != std::string_view::npos)
      lines[place] = line.substr(line.find_first_not_of(" \t\r"));
  }
  return lines;
}

std::string_view place_of_frame(std::string_view line) {
  if (!line.starts_with("  ")) return {};
  line.remove_prefix(2);
  line = line.substr(0, std::min(line.size(), line.rfind(' ')));
  const std::size_t colon = line.rfind(':');
  const bool python = colon != std::string_view::npos && line.substr(0, colon).ends_with(".py");
  return python ? line : std::string_view();
}

void add_sources(RunFiles& files) {
  Wanted wanted;
  std::size_t places = 0;
  fs::file_time_type stood = fs::file_time_type::max();
  for (const RecordedFile& file : files.files) {
    if (!file.name.ends_with(".stack")) continue;
    std::error_code error;
    const auto written = fs::last_write_time(files.directory / file.name, error);
    if (!error) stood = std::min(stood, written);
    take_places(file.text, wanted, places);
  }
  if (wanted.empty()) return;
  const fs::path directory = text_of(parse_json(files.text("job.json")), "directory");
  RecordedFile sources{kSources, {}, 0, 0};
  for (const auto& [name, numbers] : wanted)
    sources.text += lines_of(name, numbers, directory, stood);
  sources.size = sources.text.size();
  files.files.push_back(std::move(sources));
}

}  // namespace safelaunch::report
