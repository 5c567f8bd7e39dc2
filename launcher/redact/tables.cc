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

// "train.py:123:INFO:root:done" is a place in a program.
bool is_file(std::string_view host) {
  constexpr std::string_view kEnds = "py pyx cc cpp cu cuh hpp rs go js ts sh java log txt yaml";
  const std::size_t dot = host.rfind('.');
  return dot != std::string_view::npos && among(kEnds, host.substr(dot + 1));
}

struct PasswordRecord {
  std::string_view host;
  std::string_view port;
  std::size_t password = 0;  ///< where it begins; 0: it is no such record
};

// host:port:database:user:password, as in ~/.pgpass.
PasswordRecord password_record(std::string_view record) {
  PasswordRecord found;
  std::size_t colons = 0;
  std::size_t field = 0;
  // The record begins with an address of the sixth version, as far as it is read.
  bool address = true;
  for (std::size_t i = 0; i < record.size() && colons < 4; ++i) {
    if (is_space(record[i]) || record[i] == '/') return {};
    if (record[i] != ':') continue;
    const std::string_view text = record.substr(field, i - field);
    address = address && std::all_of(text.begin(), text.end(),
                                     [](char c) { return hexadecimal_digit(c) >= 0; });
    if (colons == 0) found.host = text;
    if (colons == 1) found.port = text;
    if (colons == 1 && !(text == "*" || (is_number(text) && text.size() >= 3 && text.size() <= 5)))
      return {};
    if (colons >= 2 && (text.empty() || is_number(text))) return {};
    ++colons;
    field = i + 1;
  }
  const bool whole = colons == 4 && !address && !is_file(found.host) && field < record.size() &&
                     record.find_first_of(" \t", field) == record.npos;
  found.password = whole ? field : 0;
  return found;
}

// Whether it is certain within a sentence too.
bool leads_to_a_database(const PasswordRecord& record) {
  const std::string_view host = record.host;
  if (host.empty()) return false;
  if (record.port == "5432" || host == "localhost" || host == "*") return true;
  const std::size_t dot = host.rfind('.');
  if (dot == std::string_view::npos || !is_number(record.port)) return false;
  const std::string_view last = host.substr(dot + 1);
  const bool name = last.size() >= 2 && std::all_of(last.begin(), last.end(), is_letter);
  return name || (is_number(last) && std::count(host.begin(), host.end(), '.') == 3);
}

bool ends_record(char c) {
  return is_blank(c) || c == '\r' || is_quote(c);
}

void find_password_records(std::string_view line, std::size_t at, SecretPlaces& places) {
  if (const auto whole = password_record(line); whole.password != 0)
    return places.push_back({at + whole.password, at + line.size()});
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin;
    while (end < line.size() && !ends_record(line[end])) ++end;
    while (begin < end && std::string_view("([{<=").find(line[begin]) != std::string_view::npos)
      ++begin;
    const auto record = password_record(line.substr(begin, end - begin));
    if (record.password != 0 && leads_to_a_database(record))
      places.push_back({at + begin + record.password, at + end});
    begin = end + 1;
  }
}

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
    find_password_records(line, at, places);
    table.read(line, at);
    at = end + 1;
  }
}

}  // namespace safelaunch::redact
