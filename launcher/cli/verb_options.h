#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

namespace safelaunch::cli {

/// What may stand behind a verb's options.
enum class Rest {
  words,    ///< words of the verb; options may stand among them
  command,  ///< a command with options of its own: it begins with the first word that is no option
};

/// The options of a verb other than `run`: declared, read, and listed by --help. What is read goes
/// into the caller's variables, which must outlive this.
class VerbOptions {
 public:
  /// `usage` follows "safelaunch VERB"; `purpose` is told by --help, in lines.
  VerbOptions(std::string verb, std::string usage, std::string purpose, Rest rest = Rest::words);
  VerbOptions(VerbOptions&&) noexcept;
  VerbOptions& operator=(VerbOptions&&) noexcept;
  ~VerbOptions();

  // `names` as in "--profile,-p"; `type` is what --help shows for the value.
  void flag(const char* names, bool& target, const char* help);
  void text(const char* names, std::string& target, const char* type, const char* help);
  /// May be repeated.
  void texts(const char* names, std::vector<std::string>& target, const char* type,
             const char* help);
  /// The same, and one word may hold several, with commas.
  void list(const char* names, std::vector<std::string>& target, const char* type,
            const char* help);
  void duration(const char* names, std::optional<Duration>& target, const char* help);
  void number(const char* names, std::optional<int>& target, int first, int last, const char* help);
  void choice(const char* names, std::string& target, const std::vector<std::string>& words,
              const char* help);
  /// The two cannot both be given.
  void exclude(const char* one, const char* other);

  [[nodiscard]] std::string help() const;

  /// Reads the options and returns the other words. Errors: usage, with the nearest option there
  /// is.
  [[nodiscard]] Result<std::vector<std::string>> parse(std::span<const std::string> words);

  /// For a verb's first line: reads its words, and where that is all there is to do (--help, a
  /// wrong word), prints what is to be said and returns the status to exit with.
  [[nodiscard]] std::optional<int> settle(std::span<const std::string> words,
                                          std::vector<std::string>& rest);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace safelaunch::cli
