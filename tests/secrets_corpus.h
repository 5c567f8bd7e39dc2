#pragma once

#include <cctype>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace safelaunch::testing {

/// A text that holds secrets, and the parts of it that must never be shown.
struct Canary {
  std::string form;
  std::string text;
  std::vector<std::string> secrets;
};

/// tests/data/secrets: canaries.txt tells how it is written. The secrets are made anew each time,
/// from a fixed seed: a host of repositories would take whole ones for a leak.
class SecretsCorpus {
 public:
  explicit SecretsCorpus(const std::string& folder) : folder_(folder) {}

  std::vector<Canary> canaries() {
    std::vector<Canary> result;
    std::string form;
    std::string block;
    bool in_block = false;
    const auto end_block = [&] {
      if (in_block && !block.empty()) result.push_back(filled(form, block));
      block.clear();
    };
    for (const std::string& line : lines("canaries.txt")) {
      const bool header = line.rfind("== ", 0) == 0 || line.rfind("=| ", 0) == 0;
      if (header) {
        end_block();
        in_block = line[1] == '|';
        form = line.substr(3);
      } else if (in_block) {
        block += line + "\n";
      } else if (!line.empty() && line[0] != '#') {
        result.push_back(filled(form, line));
      }
    }
    end_block();
    return result;
  }

  std::vector<std::string> innocent() {
    std::vector<std::string> result;
    for (const std::string& line : lines("innocent.txt"))
      if (!line.empty() && line[0] != '#') result.push_back(line);
    return result;
  }

  /// `size` characters of a kind (canaries.txt).
  std::string made(char kind, std::size_t size) {
    static const std::string kLower = "abcdefghijklmnopqrstuvwxyz";
    static const std::string kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const std::string kDigits = "0123456789";
    if (kind == 'p') return made('w', size - 4) + made('d', 2) + made('A', 1) + "!";
    if (kind == 'a' || kind == 'b') {
      // A random one has all kinds in it; so that each short one has too.
      std::string text = made('d', 1) + made('w', 1);
      const std::string all = kLower + kUpper + kDigits + (kind == 'b' ? "+/" : "");
      while (text.size() < size) text += all[random_() % all.size()];
      return text.substr(0, size);
    }
    const std::string all = kind == 'A'   ? kUpper + kDigits
                            : kind == 'd' ? kDigits
                            : kind == 'h' ? kDigits + "abcdef"
                            : kind == 'H' ? kDigits + "ABCDEF"
                            : kind == 'z' ? kUpper + "234567"
                                          : kLower;
    std::string text;
    while (text.size() < size) text += all[random_() % all.size()];
    return text;
  }

 private:
  std::vector<std::string> lines(const char* name) {
    std::ifstream file(folder_ + "/" + name);
    std::vector<std::string> result;
    for (std::string line; std::getline(file, line);) result.push_back(line);
    return result;
  }

  std::string uuid() {
    return made('h', 8) + "-" + made('h', 4) + "-" + made('h', 4) + "-" + made('h', 4) + "-" +
           made('h', 12);
  }

  // "{a20}", "{u}", "{esc}"; another brace is one.
  std::string in_braces(const std::string& text, std::size_t& at) {
    const std::size_t close = text.find('}', at);
    const std::string inside = text.substr(at + 1, close - at - 1);
    if (inside == "u") return at = close + 1, uuid();
    if (inside == "esc") return at = close + 1, "\x1b";
    const bool number = inside.size() >= 2 && inside.size() <= 4 &&
                        inside.find_first_not_of("0123456789", 1) == std::string::npos;
    if (number && std::isalpha(static_cast<unsigned char>(inside[0])) != 0)
      return at = close + 1, made(inside[0], std::stoul(inside.substr(1)));
    return ++at, "{";
  }

  Canary filled(const std::string& form, const std::string& pattern) {
    Canary canary{form, {}, {}};
    bool secret = false;
    std::string hidden;
    for (std::size_t at = 0; at < pattern.size();) {
      if (pattern.compare(at, 2, "[[") == 0 && !secret) {
        secret = true;
        hidden.clear();
        at += 2;
      } else if (pattern.compare(at, 2, "]]") == 0 && secret) {
        secret = false;
        canary.secrets.push_back(hidden);
        at += 2;
      } else {
        const std::string next =
            pattern[at] == '{' ? in_braces(pattern, at) : std::string(1, pattern[at++]);
        canary.text += next;
        if (secret) hidden += next;
      }
    }
    return canary;
  }

  std::string folder_;
  std::mt19937 random_{20'261'122};
};

/// A part of a secret that stands in a text: 8 bytes of it, or all where it is shorter. Empty:
/// none.
inline std::string leak_of(const std::string& secret, const std::string& text) {
  constexpr std::size_t kPart = 8;
  for (std::size_t at = 0; at == 0 || at + kPart <= secret.size(); ++at) {
    const std::string part = secret.substr(at, kPart);
    const bool blank = part.find_first_of(" \n\\-") != std::string::npos;  // our own marks
    if (!blank && text.find(part) != std::string::npos) return part;
  }
  return {};
}

}  // namespace safelaunch::testing
