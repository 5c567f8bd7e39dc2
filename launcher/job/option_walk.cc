#include "option_walk.h"

#include <algorithm>
#include <utility>

// The words are read from the left, one option at a time, until the first that is none. A name is
// looked up whole, then as the beginning of one name alone. Where a word might be the value of an
// option that we do not know, the walk stops: a guess would put an option of ours into the user's
// script.
namespace safelaunch::job {
namespace {

bool same_letter(char in_word, char in_name, Spelling spelling) {
  return in_word == in_name ||
         (spelling == Spelling::dashes_too && in_word == '-' && in_name == '_');
}

bool begins_with(std::string_view name, std::string_view word, Spelling spelling) {
  return word.size() <= name.size() &&
         std::equal(word.begin(), word.end(), name.begin(),
                    [=](char a, char b) { return same_letter(a, b, spelling); });
}

bool begins_with(const OptionSpec& spec, std::string_view word, Spelling spelling) {
  return begins_with(spec.name, word, spelling) || begins_with(spec.alias, word, spelling);
}

bool is_named(const OptionSpec& spec, std::string_view word, Spelling spelling) {
  return (word.size() == spec.name.size() && begins_with(spec.name, word, spelling)) ||
         (word.size() == spec.alias.size() && begins_with(spec.alias, word, spelling));
}

const OptionSpec* find_long(const OptionTable& table, std::string_view word) {
  const auto exact = [&](const OptionSpec& spec) { return is_named(spec, word, table.spelling); };
  const auto prefix = [&](const OptionSpec& spec) {
    return begins_with(spec, word, table.spelling);
  };
  if (word.empty()) return nullptr;
  if (const auto it = std::ranges::find_if(table.options, exact); it != table.options.end())
    return &*it;
  if (table.abbreviations == Abbreviations::none) return nullptr;
  const auto it = std::ranges::find_if(table.options, prefix);
  if (it == table.options.end() || std::any_of(it + 1, table.options.end(), prefix)) return nullptr;
  return &*it;
}

/// An option that the table does not list, but whose name says that it takes a value.
const OptionSpec* find_relative(const OptionTable& table, std::string_view word) {
  static constexpr OptionSpec kRelative{};
  const std::size_t length = table.family.size();
  const bool is_one = length > 0 && word.size() > length &&
                      begins_with(table.family, word.substr(0, length), table.spelling);
  return is_one ? &kRelative : nullptr;
}

const OptionSpec* find_letter(const OptionTable& table, char letter) {
  const auto it = std::ranges::find(table.options, letter, &OptionSpec::letter);
  return it == table.options.end() ? nullptr : &*it;
}

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-';
}

class Walker {
 public:
  Walker(std::span<const std::string> words, std::size_t first, const OptionTable& table)
      : words_(words), table_(table) {
    walk_.end = first;
  }

  OptionWalk walk() && {
    while (!ended_ && walk_.end < words_.size() && looks_like_option(words_[walk_.end])) {
      const std::string_view word = words_[walk_.end];
      if (word == "--") {
        ++walk_.end;
        break;
      }
      word.starts_with("--") ? long_option(word) : letters(word);
    }
    return std::move(walk_);
  }

 private:
  void long_option(std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(2, equals - 2);
    const OptionSpec* spec = find_long(table_, name);
    if (spec == nullptr) spec = find_relative(table_, name);
    if (spec == nullptr) return unknown(equals != word.size());
    const bool attached = equals != word.size();
    found(*spec, attached ? std::optional(equals + 1) : std::nullopt);
  }

  void letters(std::string_view word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      const OptionSpec* spec = find_letter(table_, word[at]);
      if (spec == nullptr && table_.grammar == Grammar::argparse) return unknown(false);
      if (spec == nullptr) continue;
      if (spec->takes != Takes::nothing) return found(*spec, attached_value(word, at + 1));
      walk_.found.push_back({spec, std::nullopt});
    }
    ++walk_.end;
  }

  /// The begin of a value that is written into the same word: argparse takes `-r3` and `-r=3`.
  std::optional<std::size_t> attached_value(std::string_view word, std::size_t at) const {
    if (at == word.size()) return std::nullopt;
    return table_.grammar == Grammar::argparse && word[at] == '=' ? at + 1 : at;
  }

  void found(const OptionSpec& spec, std::optional<std::size_t> attached) {
    const std::size_t word = walk_.end++;
    ended_ = spec.takes == Takes::rest;
    if (spec.takes == Takes::nothing) {
      walk_.found.push_back({&spec, std::nullopt});
    } else if (attached) {
      walk_.found.push_back({&spec, InWord{word, *attached, words_[word].size() - *attached}});
    } else if (walk_.end < words_.size()) {
      walk_.found.push_back({&spec, InWord{walk_.end, 0, words_[walk_.end].size()}});
      ++walk_.end;
    }
  }

  void unknown(bool holds_its_value) {
    const std::size_t next = walk_.end + 1;
    const bool argparse = table_.grammar == Grammar::argparse;
    if (argparse && words_[walk_.end].find(' ') != std::string::npos) {
      ended_ = true;  // for argparse this is no option, but an operand
    } else if (argparse && !holds_its_value && next < words_.size() &&
               !looks_like_option(words_[next])) {
      walk_.unclear = walk_.end;
      ended_ = true;
    } else {
      walk_.end = next;
    }
  }

  std::span<const std::string> words_;
  const OptionTable& table_;
  OptionWalk walk_;
  bool ended_ = false;
};

}  // namespace

const FoundOption* OptionWalk::last(std::string_view name) const {
  const auto it = std::find_if(found.rbegin(), found.rend(), [&](const FoundOption& option) {
    return option.spec->name == name;
  });
  return it == found.rend() ? nullptr : &*it;
}

OptionWalk walk_options(std::span<const std::string> words, std::size_t first,
                        const OptionTable& table) {
  return Walker(words, first, table).walk();
}

std::string_view text_at(std::span<const std::string> words, const InWord& piece) {
  return std::string_view(words[piece.word]).substr(piece.offset, piece.length);
}

}  // namespace safelaunch::job
