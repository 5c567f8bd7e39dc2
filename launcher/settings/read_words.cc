#include "safelaunch/settings/read_words.h"

#include <algorithm>

#include "safelaunch/base/format.h"

// Words are taken from left to right: an option with its value, `--`, or the command, which takes
// all that follows it. An option given twice, or beside one that excludes it, is a mistake. An
// unknown one is answered with the nearest that there is.
namespace safelaunch::settings {
namespace {

bool is_option(std::string_view word) {
  return word.starts_with('-') && word != "-";
}

// Goes over a verb's words once, from the left.
class Walk {
 public:
  Walk(const Grammar& grammar, std::span<const std::string> words, void* target)
      : grammar_(grammar), words_(words), target_(target) {}

  Result<ReadWords> take_all();

 private:
  Result<void> take_option(std::string_view word);
  Result<void> put(const Option& option, std::string_view value);
  void take_rest();

  [[nodiscard]] const Option* find(std::string_view word) const;
  [[nodiscard]] bool is_common(const Option& option) const;
  [[nodiscard]] Error unknown(std::string_view word) const;
  [[nodiscard]] Result<void> check_exclusions() const;

  const Grammar& grammar_;
  std::span<const std::string> words_;
  void* target_;
  ReadWords read_;
};

Error wrong(std::string message) {
  return Error{Errc::usage, std::move(message)};
}

// "nproc_per_node" → "nproc-per-node": torchrun and accelerate take both spellings.
std::string with_dashes(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  return dashed;
}

// The option that "--name" or "-n" means.
const Option* Walk::find(std::string_view word) const {
  if (word.starts_with("--")) {
    const std::string name = with_dashes(word.substr(2));
    const Option* own = find_option(grammar_.options, name);
    return own != nullptr ? own : find_option(grammar_.common, name);
  }
  if (word.size() != 2) return nullptr;
  const auto found = std::ranges::find(grammar_.options, word[1], &Option::letter);
  return found == grammar_.options.end() ? nullptr : &*found;
}

bool Walk::is_common(const Option& option) const {
  return &option >= grammar_.common.data() &&
         &option < grammar_.common.data() + grammar_.common.size();
}

Error Walk::unknown(std::string_view word) const {
  const std::string_view name = word.substr(0, word.find('='));
  std::string hint = did_you_mean_option(grammar_.options, name);
  if (hint.empty() && grammar_.elsewhere != nullptr && name.starts_with("--"))
    hint = grammar_.elsewhere(name.substr(2));
  // A run's verb is mostly left out, so its name would puzzle the user.
  if (grammar_.verb == "run") return wrong(fmt::format("unknown option {}{}", word, hint));
  return wrong(fmt::format("{} does not take '{}'{}", grammar_.verb, word, hint));
}

Result<void> Walk::put(const Option& option, std::string_view value) {
  if (const auto why = refuse_value(option, value))
    return wrong(fmt::format("--{}: {}", option.name, *why));
  const auto [said, is_new] = read_.given.try_emplace(std::string(option.name), value);
  const bool may_repeat = option.kind == OptionKind::list || option.kind == OptionKind::texts ||
                          option.kind == OptionKind::flag || grammar_.again == Again::overrides;
  if (!is_new && !may_repeat) return wrong(fmt::format("--{} is given twice", option.name));
  const bool adds = option.kind == OptionKind::list || option.kind == OptionKind::texts;
  if (!is_new) said->second = adds ? fmt::format("{},{}", said->second, value) : value;
  if (!option.rival.empty() && option_value::flag(value))
    read_.given.erase(std::string(option.rival));  // the one that is said last holds
  option.put.write(option, is_common(option) ? grammar_.common_target : target_, value);
  return {};
}

Result<void> Walk::take_option(std::string_view word) {
  const std::size_t equals = word.find('=');
  const Option* option = find(word.substr(0, equals));
  if (option == nullptr) return unknown(word);
  if (equals != std::string_view::npos) return put(*option, word.substr(equals + 1));
  if (option->kind == OptionKind::flag) return put(*option, "true");
  if (words_.empty())
    return wrong(fmt::format("--{} needs a value: {}", option->name, placeholder(*option)));
  const std::string& value = words_.front();
  words_ = words_.subspan(1);
  return put(*option, value);
}

void Walk::take_rest() {
  read_.rest.insert(read_.rest.end(), words_.begin(), words_.end());
  words_ = {};
}

Result<void> Walk::check_exclusions() const {
  for (const Option& option : grammar_.options)
    if (!option.excludes.empty() && read_.given.contains(option.name) &&
        read_.given.contains(option.excludes))
      return wrong(fmt::format("--{} excludes --{}", option.name, option.excludes));
  return {};
}

Result<ReadWords> Walk::take_all() {
  while (!words_.empty()) {
    const std::string_view word = words_.front();
    if (word != "--" && !is_option(word) && grammar_.rest == Rest::command) {
      take_rest();
      break;
    }
    words_ = words_.subspan(1);
    if (word == "--") {
      take_rest();
    } else if (!is_option(word)) {
      read_.rest.emplace_back(word);
    } else if (find(word) == nullptr && (word == "--help" || word == "-h")) {
      read_.wants_help = true;
      return std::move(read_);
    } else if (const Result<void> taken = take_option(word); !taken) {
      return taken.error();
    }
  }
  if (const Result<void> fit = check_exclusions(); !fit) return fit.error();
  return std::move(read_);
}

}  // namespace

Result<ReadWords> read_words(const Grammar& grammar, std::span<const std::string> words,
                             void* target) {
  return Walk(grammar, words, target).take_all();
}

}  // namespace safelaunch::settings
