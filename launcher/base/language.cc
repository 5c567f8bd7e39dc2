#include "safelaunch/base/language.h"

#include <algorithm>
#include <array>
#include <optional>

#include "safelaunch/base/strings.h"

// A text of the record is translated where it is shown, and only there: it was put together from
// several phrases long before, perhaps by another version. So it is taken apart again, into
// sentences, into clauses, and each of these by the phrase whose own words it has.
namespace safelaunch {
namespace {

Language spoken = Language::english;

/// Takes the next text in double quotes off the file; nullopt at the end.
std::optional<std::string> take_quoted(std::string_view& yaml) {
  while (!yaml.empty() && yaml.front() != '"')
    yaml.remove_prefix(yaml.front() == '#' ? std::min(yaml.find('\n'), yaml.size()) : 1);
  if (yaml.empty()) return std::nullopt;
  std::string text;
  std::size_t at = 1;
  for (; at < yaml.size() && yaml[at] != '"'; ++at) {
    if (yaml[at] == '\\' && at + 1 < yaml.size()) ++at;
    text += yaml[at];
  }
  yaml.remove_prefix(std::min(at + 1, yaml.size()));
  return text;
}

/// The texts around the places of a format: "rank {} of {}" has "rank ", " of " and "".
std::vector<std::string> texts_around_places(std::string_view format) {
  std::vector<std::string> texts;
  for (;;) {
    const std::size_t open = format.find('{');
    const std::size_t close = open == std::string_view::npos ? open : format.find('}', open);
    if (close == std::string_view::npos) break;
    texts.emplace_back(format.substr(0, open));
    format.remove_prefix(close + 1);
  }
  texts.emplace_back(format);
  return texts;
}

/// Whether a place holds a name, which no language changes: it is in quotes or behind "the option",
/// or the text begins with a file, an option or a key ("p.yaml:3: chain must be one value").
bool holds_name(std::span<const std::string> between, std::size_t place) {
  const std::string& behind = between[place + 1];
  if (between[place].ends_with('\'') && behind.starts_with('\'')) return true;
  if (between[place].ends_with("the option ")) return true;
  if (!between.front().empty() || !between[1].starts_with(": ")) return false;
  return place == 0 || (place == 1 && between[1] == ": ");
}

/// What stands in the places of a finished text; empty where it is another text.
std::vector<std::string_view> in_places(std::span<const std::string> between,
                                        std::string_view text) {
  if (!text.starts_with(between.front()) || !text.ends_with(between.back())) return {};
  std::vector<std::string_view> found;
  std::size_t at = between.front().size();
  for (std::size_t i = 1; i < between.size(); ++i) {
    const bool is_last = i + 1 == between.size();
    const std::size_t end =
        is_last ? text.size() - between[i].size() : text.find(between[i], at + 1);
    if (end == std::string_view::npos || end <= at) return {};
    found.push_back(text.substr(at, end - at));
    at = end + between[i].size();
  }
  return found;
}

// The first byte of a Chinese character or of its punctuation, in UTF-8.
bool begins_chinese(std::string_view text) {
  return !text.empty() && static_cast<unsigned char>(text.front()) >= 0xe3;
}

bool ends_in_chinese(std::string_view text) {
  constexpr std::size_t kBytes = 3;
  return text.size() >= kBytes && begins_chinese(text.substr(text.size() - kBytes));
}

/// Puts one part of a text behind the others. A blank parts Chinese from Latin letters, never from
/// Chinese.
void append(std::string& text, std::string_view part) {
  const std::string_view before = std::string_view(text).substr(0, text.size() - 1);
  if (text.ends_with(' ') && ends_in_chinese(before) && begins_chinese(part))
    text.pop_back();
  else if (part.starts_with(' ') && ends_in_chinese(text) && begins_chinese(part.substr(1)))
    part.remove_prefix(1);
  text += part;
}

/// The translation with its places filled in: by number, or one after another.
std::string filled(std::string_view translation, std::span<const std::string> with) {
  std::string text;
  for (std::size_t next = 0; !translation.empty();) {
    const std::size_t open = std::min(translation.find('{'), translation.size());
    append(text, translation.substr(0, open));
    translation.remove_prefix(open);
    if (translation.empty()) break;
    translation.remove_prefix(1);
    const std::size_t place = take_number<std::size_t>(translation).value_or(next++);
    if (place < with.size()) append(text, with[place]);
    translation.remove_prefix(std::min(translation.find('}') + 1, translation.size()));
  }
  return text;
}

/// The part of a text up to the next mark, with the mark's own bytes and what is written for it.
struct Piece {
  std::size_t end;
  std::size_t behind;
  std::string_view mark;
};

/// The mark at the beginning of a text; `end` is 0 where there is none. A full stop is one where a
/// capital follows: "train.py:48 f. It" has one, "train.py" none. The mistakes of a file stand line
/// by line.
Piece mark_at(std::string_view text) {
  constexpr std::string_view kBetweenFacts = " · ";
  if (text.starts_with("; ")) return {2, 2, "；"};
  if (text.starts_with('\n')) return {1, 1, "\n"};
  if (text.starts_with(kBetweenFacts))
    return {kBetweenFacts.size(), kBetweenFacts.size(), kBetweenFacts};
  const bool ends = text == "." ||
                    (text.starts_with(". ") && text.size() > 2 && text[2] >= 'A' && text[2] <= 'Z');
  return ends ? Piece{std::min<std::size_t>(text.size(), 2), std::min<std::size_t>(text.size(), 2),
                      "。"}
              : Piece{0, 0, ""};
}

/// What stands in brackets is no piece of its own.
Piece next_piece(std::string_view text) {
  int open = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(') ++open;
    if (text[at] == ')') --open;
    const Piece mark = open > 0 ? Piece{0, 0, ""} : mark_at(text.substr(at));
    if (mark.end > 0) return {at + mark.end, mark.behind, mark.mark};
  }
  return {text.size(), 0, ""};
}

bool names_chinese(std::string_view locale) {
  const std::size_t dot = locale.find('.');
  const std::string charset =
      dot == std::string_view::npos ? "utf-8" : lower(locale.substr(dot + 1));
  return lower(locale).starts_with("zh") &&
         (charset.starts_with("utf-8") || charset.starts_with("utf8"));
}

}  // namespace

Language language_of(const Environment& environment) {
  const std::string wish = lower(value_or(environment, "SAFELAUNCH_LANG"));
  if (wish.starts_with("en")) return Language::english;
  if (wish.starts_with("zh")) return Language::chinese;
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"})
    if (const auto locale = value_or(environment, name); !locale.empty())
      return names_chinese(locale) ? Language::chinese : Language::english;
  return Language::english;
}

void speak(Language language) {
  spoken = language;
}

Language language() {
  return spoken;
}

Phrases::Phrases(std::string_view yaml) {
  while (auto english = take_quoted(yaml)) {
    const auto translation = take_quoted(yaml);
    if (!translation) break;
    phrases_.emplace(std::move(*english), *translation);
  }
  for (const auto& [english, translation] : phrases_) add_pattern(english, translation);
  std::ranges::stable_sort(patterns_, std::ranges::greater(), [](const Pattern& one) {
    return std::pair(one.letters, one.between.size());
  });
}

// A phrase with hardly a word of its own, such as "{} ({})", would tell any text.
void Phrases::add_pattern(std::string_view english, const std::string& translation) {
  Pattern pattern{texts_around_places(english), &translation, 0};
  for (const std::string& text : pattern.between)
    pattern.letters += static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }));
  constexpr std::size_t kFewest = 3;
  if (pattern.between.size() > 1 && pattern.letters >= kFewest)
    patterns_.push_back(std::move(pattern));
}

const std::string* Phrases::find(std::string_view english) const {
  const auto found = phrases_.find(english);
  return found == phrases_.end() ? nullptr : &found->second;
}

/// "sleeping, on gpu-3", "on gpu-3": the state of a rank on another node.
std::optional<std::string> Phrases::state_elsewhere(std::string_view english) const {
  constexpr std::string_view kOn = ", on ";
  const bool alone = english.starts_with(kOn.substr(2));
  const std::size_t on = english.rfind(kOn);
  if (!alone && (on == 0 || on == std::string_view::npos)) return std::nullopt;
  const std::string_view host = english.substr(alone ? kOn.size() - 2 : on + kOn.size());
  const std::string* said = find(alone ? "on {}" : "{}, on {}");
  if (said == nullptr || host.empty() || host.find(' ') != std::string_view::npos)
    return std::nullopt;
  std::vector<std::string> told{std::string(host)};
  if (!alone) told.insert(told.begin(), retold(english.substr(0, on)));
  return filled(*said, told);
}

/// "--devices, --nnodes and --master-port", "gpu-0 and gpu-1": nothing but names.
std::optional<std::string> Phrases::names(std::string_view english) const {
  constexpr std::string_view kAnd = " and ";
  const std::string* joint = find(kAnd);
  const std::size_t last = english.rfind(kAnd);
  if (joint == nullptr || last == std::string_view::npos) return std::nullopt;
  std::vector<std::string_view> all;
  for (std::string_view rest = english.substr(0, last); !rest.empty();) {
    all.push_back(take_word(rest, ','));
    if (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  all.push_back(english.substr(last + kAnd.size()));
  const auto is_name = [](std::string_view name) {
    return !name.empty() && name.find(' ') == std::string_view::npos;
  };
  if (!std::ranges::all_of(all, is_name)) return std::nullopt;
  std::string told(all.front());
  for (std::size_t i = 1; i + 1 < all.size(); ++i) told.append("、").append(all[i]);
  return told.append(*joint).append(all.back());
}

std::optional<std::string> Phrases::clause(std::string_view english) const {
  if (const std::string* known = find(english)) return *known;
  if (auto told = state_elsewhere(english)) return told;
  if (auto told = names(english)) return told;
  // "shm-small: /dev/shm has …", "NCCL_IB_TIMEOUT=60: it is …": one word, and what is said of it.
  const std::size_t colon = english.find(": ");
  const bool begins_with_word =
      colon != std::string_view::npos && colon > 0 && colon < english.find(' ');
  // A "warning: " is none of the words of the sentence behind it.
  if (begins_with_word)
    if (const std::string* said = find(fmt::format("{}: {{}}", english.substr(0, colon))))
      return filled(*said, std::array{retold(english.substr(colon + 2))});
  for (const Pattern& pattern : patterns_) {
    const std::vector<std::string_view> found = in_places(pattern.between, english);
    if (found.empty()) continue;
    std::vector<std::string> told;
    for (std::size_t i = 0; i < found.size(); ++i)
      told.push_back(holds_name(pattern.between, i) ? std::string(found[i]) : retold(found[i]));
    return filled(*pattern.translation, told);
  }
  if (begins_with_word)
    if (const auto told = clause(english.substr(colon + 2)))
      return std::string(english.substr(0, colon)) + "：" + *told;
  // The first word of a sentence may be written small in the table.
  if (english.empty() || english.front() < 'A' || english.front() > 'Z') return std::nullopt;
  std::string small(english);
  small.front() = static_cast<char>(small.front() - 'A' + 'a');
  return clause(small);
}

std::string Phrases::retold(std::string_view english) const {
  std::string text;
  while (!english.empty()) {
    if (const std::string* known = find(english)) return text + *known;
    const auto [end, behind, mark] = next_piece(english);
    const std::string_view piece = english.substr(0, end);
    const std::string* whole = find(trimmed(piece));  // with its full stop
    const auto told = whole != nullptr ? *whole : clause(piece.substr(0, end - behind));
    if (told)
      text.append(*told).append(told->ends_with("。") && mark != "\n" ? "" : mark);
    else
      text += piece;
    english.remove_prefix(end);
  }
  return text;
}

const Phrases& chinese_phrases() {
  static const Phrases phrases(embedded_phrases().front().text);
  return phrases;
}

std::string stack_line(std::string_view line) {
  return line.starts_with(' ') ? std::string(line) : tr(line);
}

std::string tr(std::string_view english) {
  return spoken == Language::english ? std::string(english) : chinese_phrases().retold(english);
}

}  // namespace safelaunch
