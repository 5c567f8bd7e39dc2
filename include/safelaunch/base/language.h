#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/installed_files.h"

/// The language in which the program speaks to a person. All texts are English in the sources, in
/// the record and in JSON; what is shown passes through tr(), which looks it up (zh_CN.yaml).
namespace safelaunch {

enum class Language { english, chinese };

/// SAFELAUNCH_LANG (en, zh) decides, else the locale of messages: LC_ALL, LC_MESSAGES or LANG. A
/// locale whose bytes are not UTF-8 (zh_CN.GBK) stays English, since ours would be unreadable
/// there.
[[nodiscard]] Language language_of(const Environment& environment);

/// Sets the language of this process, once, in main(). Before that it is English.
void speak(Language language);
[[nodiscard]] Language language();

/// A table of phrases: the English one, and under it its translation. A phrase with places ({},
/// {0}, {:.1f}) also tells a finished text that has something in each of them.
class Phrases {
 public:
  /// Reads the quoted texts of the file by twos; what is no text in double quotes is not looked at.
  explicit Phrases(std::string_view yaml);

  /// The translation of exactly this phrase; nullptr if there is none.
  [[nodiscard]] const std::string* find(std::string_view english) const;

  /// The translation of a finished text, sentence by sentence and clause by clause. What the table
  /// does not know stays as it is.
  [[nodiscard]] std::string retold(std::string_view english) const;

 private:
  struct Pattern {
    std::vector<std::string> between;  ///< the texts before, between and behind the places
    const std::string* translation;
    std::size_t letters;
  };

  [[nodiscard]] std::optional<std::string> clause(std::string_view english) const;
  [[nodiscard]] std::optional<std::string> state_elsewhere(std::string_view english) const;
  [[nodiscard]] std::optional<std::string> names(std::string_view english) const;
  void add_pattern(std::string_view english, const std::string& translation);

  std::map<std::string, std::string, std::less<>> phrases_;
  std::vector<Pattern> patterns_;  ///< the most specific first
};

/// The file that is compiled in: zh_CN.yaml.
[[nodiscard]] std::span<const EmbeddedFile> embedded_phrases();
/// Its table, read at the first call.
[[nodiscard]] const Phrases& chinese_phrases();

/// A text in the language of this process: a fixed one, or one with facts in it that the record
/// has.
[[nodiscard]] std::string tr(std::string_view english);

/// A line of a stack in the language of this process: the head of a thread is ours, and a frame,
/// which is indented, is the program's.
[[nodiscard]] std::string stack_line(std::string_view line);

/// A format in the language of this process, filled in. A translation may say its arguments in
/// another order ({1} {0}).
template <class First, class... Rest>
[[nodiscard]] std::string tr(fmt::format_string<const First&, const Rest&...> english,
                             const First& first, const Rest&... rest) {
  const fmt::string_view text(english);
  const std::string* translation = language() == Language::english
                                       ? nullptr
                                       : chinese_phrases().find({text.data(), text.size()});
  return fmt::vformat(translation == nullptr ? text : fmt::string_view(*translation),
                      fmt::make_format_args(first, rest...));
}

}  // namespace safelaunch
