#include <algorithm>
#include <array>

#include "characters.h"
#include "names.h"
#include "places.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/redact/redactor.h"

// Here only a field's place in its record says that it is secret: the fifth of a line of ~/.pgpass,
// and the column of a table whose first line names a password. Each line is read once.
namespace safelaunch::redact {
namespace {

using std::string_view_literals::operator""sv;

// A field of a table without its quotes: [begin, end) of the line.
struct Field {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Field> fields_of(std::string_view line, char separator) {
  std::vector<Field> fields;
  if (line.ends_with('\r')) line.remove_suffix(1);
  for (std::size_t at = 0; at <= line.size();) {
    Field field{at, at};
    if (at < line.size() && line[at] == '"') {
      field.begin = ++at;
      while (at < line.size() && (line[at] != '"' || line.substr(at).starts_with("\"\"")))
        at += line[at] == '"' ? 2 : 1;
      field.end = std::min(at, line.size());
      at = std::min(line.find(separator, field.end), line.size());
    } else {
      field.end = at = std::min(line.find(separator, at), line.size());
    }
    fields.push_back(field);
    ++at;
  }
  return fields;
}

// Reads a text line by line: a line of names begins a table, and one with another number of fields
// ends it.
class TableReader {
 public:
  explicit TableReader(SecretPlaces& places) : places_(places) {}

  void read(std::string_view line, std::size_t at) {
    if (!kinds_.empty() && take_row(line, at)) return;
    kinds_.clear();
    for (const char separator : {',', ';', '\t'})
      if (line.find(separator) != line.npos && take_head(line, separator)) return;
  }

 private:
  static constexpr std::size_t kLongestHead = 4'096;

  bool take_head(std::string_view line, char separator) {
    if (line.size() > kLongestHead || !may_name_a_secret(line)) return false;
    std::vector<NameKind> kinds;
    for (const auto& [begin, end] : fields_of(line, separator)) {
      const std::string_view name = line.substr(begin, end - begin);
      const auto in_name = [](char c) { return is_identifier(c) || c == '-' || c == '.'; };
      if (name.empty() || is_digit(name[0]) || !std::all_of(name.begin(), name.end(), in_name))
        return false;
      kinds.push_back(kind_of_name(name));
    }
    const bool secret = std::any_of(kinds.begin(), kinds.end(),
                                    [](NameKind one) { return one != NameKind::plain; });
    if (!secret || kinds.size() < 2) return false;
    kinds_ = std::move(kinds);
    separator_ = separator;
    return true;
  }

  bool take_row(std::string_view line, std::size_t at) {
    const std::vector<Field> fields = fields_of(line, separator_);
    if (fields.size() != kinds_.size()) return false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string_view value = line.substr(fields[i].begin, fields[i].end - fields[i].begin);
      if (is_secret(kinds_[i], value))
        places_.push_back({at + fields[i].begin, at + fields[i].end});
    }
    return true;
  }

  // A column of tokens may be one of words, and one of passes a count.
  static bool is_secret(NameKind kind, std::string_view value) {
    if (value == kRedacted) return true;
    if (kind != NameKind::secret)
      return kind != NameKind::plain && (looks_random(value) || looks_like_password(value));
    return is_secret_value(kind, {}, value) && !(is_number(value) && value.size() < 4);
  }

  SecretPlaces& places_;
  std::vector<NameKind> kinds_;  // of the columns; none: no table is being read
  char separator_ = ',';
};

}  // namespace

void find_in_tables(std::string_view text, SecretPlaces& places) {
  TableReader table(places);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_line(text, at);
    const std::string_view line = text.substr(at, end - at);
    table.read(line, at);
    at = end + 1;
  }
}

}  // namespace safelaunch::redact
