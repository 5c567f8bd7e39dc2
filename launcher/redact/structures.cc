#include <algorithm>

#include "assignments.h"
#include "characters.h"
#include "safelaunch/redact/redactor.h"

// A bracket or an indented block below a secret's name is secret value by value, without a parser
// for each notation: a scalar with ':' or '=' behind it is a name, every other scalar is a value.
// Both readers stop at a limit, because a torn text may never close its bracket.
namespace safelaunch::redact {
namespace {

constexpr std::size_t kLongestBracket = 4U << 10;
constexpr std::size_t kMostLines = 200;

bool ends_scalar(char c) {
  return is_space(c) || c == ',' || c == ']' || c == '}' || c == ')' || c == ':' || c == '=';
}

bool is_open(char c) {
  return c == '[' || c == '{' || c == '(';
}

// Reads a bracket scalar by scalar: one with ':' or '=' behind it is a name, all others are values.
class BracketReader {
 public:
  BracketReader(std::string_view text, std::size_t open, NameKind kind, SecretPlaces& places)
      : text_(text.substr(0, std::min(text.size(), open + kLongestBracket))),
        kind_(kind),
        places_(places),
        at_(open) {}

  std::size_t read() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (text_.substr(at_).starts_with(kRedacted)) {
        places_.push_back({at_, at_ + kRedacted.size()});
        at_ += kRedacted.size();
        name_ = {};
      } else if (text_.substr(at_).starts_with("${")) {  // a place for a secret
        at_ = std::min(text_.find('}', at_), text_.size() - 1) + 1;
        name_ = {};
      } else if (is_open(c)) {
        ++depth;
        ++at_;
      } else if (c == ']' || c == '}' || c == ')') {
        ++at_;
        if (--depth == 0) break;
      } else if (is_space(c) || c == ',' || c == ':' || c == '=' || c == '>') {
        ++at_;
      } else {
        scalar();
      }
    }
    return at_;
  }

 private:
  void scalar() {
    const char quote = is_quote(text_[at_]) ? text_[at_] : '\0';
    const std::size_t begin = quote != 0 ? at_ + 1 : at_;
    std::size_t end = begin;
    if (quote != 0) {
      while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
      end = std::min(end, text_.size());
      at_ = std::min(end + 1, text_.size());
    } else {
      while (end < text_.size() && !ends_scalar(text_[end]) && !is_open(text_[end]) &&
             !is_quote(text_[end]))
        ++end;
      at_ = end == begin ? end + 1 : end;
    }
    const std::string_view value = text_.substr(begin, end - begin);
    if (is_name()) {
      name_ = value;
      return;
    }
    const bool code = at_ < text_.size() && (text_[at_] == '(' || is_quote(text_[at_]));
    const NameKind own = name_.empty() ? NameKind::plain : kind_of_name(name_);
    const bool secret = value == kRedacted || is_secret_value(kind_, {}, value) ||
                        is_secret_value(own, name_, value);
    if (!code && !stands_beside_secrets(name_) && secret) places_.push_back({begin, end});
    name_ = {};
  }

  [[nodiscard]] bool is_name() const {
    std::size_t next = at_;
    while (next < text_.size() && is_blank(text_[next])) ++next;
    return next < text_.size() && (text_[next] == ':' || text_[next] == '=');
  }

  std::string_view text_;
  NameKind kind_;
  SecretPlaces& places_;
  std::size_t at_;
  std::string_view name_;
};

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// The value of "name: value", "- value", or the whole line.
std::string_view value_of_line(std::string_view line, std::string_view& name) {
  std::string_view value = trimmed(line);
  if (value.starts_with("- ")) value = trimmed(value.substr(2));
  const std::size_t colon = value.find(": ");
  if (colon != std::string_view::npos && colon < 100) {
    name = trimmed(value.substr(0, colon));
    value = trimmed(value.substr(colon + 2));
  } else if (value.ends_with(":")) {
    value = {};
  }
  if (value.size() >= 3 && is_quote(value.front()) && value.ends_with(',') &&
      value[value.size() - 2] == value.front())
    value.remove_suffix(1);
  if (value.size() >= 2 && is_quote(value.front()) && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  if (value == "|" || value == ">" || value == "|-" || value == ">-") value = {};
  return value;
}

}  // namespace

bool stands_beside_secrets(std::string_view name) {
  static constexpr Words kBeside(
      "user username host hostname port type name region url kind email");
  return kBeside.has(lower(name.substr(0, 16)));
}

std::size_t find_in_brackets(std::string_view text, std::size_t open, NameKind kind,
                             SecretPlaces& places) {
  return BracketReader(text, open, kind, places).read();
}

std::size_t find_in_indented(std::string_view text, std::size_t at, NameKind kind, UserNames beside,
                             SecretPlaces& places) {
  const std::size_t line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  std::size_t end = std::min(text.find('\n', at), text.size());
  std::string_view first = text.substr(line_begin, end - line_begin);
  std::size_t indent = indent_of(first);
  if (first.substr(indent).starts_with("- ")) indent += 2;
  for (std::size_t i = 0; i < kMostLines && end < text.size(); ++i) {
    const std::size_t next = std::min(text.find('\n', end + 1), text.size());
    const std::string_view line = text.substr(end + 1, next - end - 1);
    const bool item = trimmed(line).starts_with("- ") && indent_of(line) == indent;
    if (!trimmed(line).empty() && indent_of(line) <= indent && !item) break;
    std::string_view name;
    const std::string_view value = value_of_line(line, name);
    const bool spared = beside == UserNames::spared && stands_beside_secrets(name);
    if (!spared && is_secret_value(kind, {}, value)) {
      const auto begin = static_cast<std::size_t>(value.data() - text.data());
      places.push_back({begin, begin + value.size()});
    }
    end = next;
  }
  return end;
}

}  // namespace safelaunch::redact
