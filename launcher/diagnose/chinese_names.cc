#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/explain.h"

// Chinese has no blanks between its words, so each two neighbouring characters count as a word. The
// rarer a word is among the titles, the more it says. What people call a thing otherwise than its
// title does stands in a table.
namespace safelaunch::diagnose {
namespace {

using Word = std::string;

/// Words of which the catalogue has nothing, though titles share characters with them.
constexpr const char* kOfNoCause = nullptr;

/// What people say, in small letters and without blanks or 已 (already), and what they mean: first
/// matches first.
constexpr std::array<std::pair<std::string_view, const char*>, 38> kChineseNames{{
    {"共享内存", cause::kShmSmall},
    {"爆显存", cause::kGpuOom},
    {"显存爆", cause::kGpuOom},
    {"显存不", cause::kGpuOom},
    {"显存溢出", cause::kGpuOom},
    {"爆内存", cause::kHostOom},
    {"内存爆", cause::kHostOom},
    {"内存不", cause::kHostOom},
    {"内存溢出", cause::kHostOom},
    {"端口被占", cause::kPortTaken},
    {"端口占用", cause::kPortTaken},
    {"端口冲突", cause::kPortTaken},
    {"少一个节点", cause::kNodesMissing},
    {"少了一个节点", cause::kNodesMissing},
    {"节点没", cause::kNodesMissing},
    {"少一个", cause::kRankMissing},
    {"少了一个", cause::kRankMissing},
    {"缺一个", cause::kRankMissing},
    {"缺了一个", cause::kRankMissing},
    {"少1个", cause::kRankMissing},
    {"少了1个", cause::kRankMissing},
    {"进程没", cause::kRankMissing},
    {"rank没", cause::kRankMissing},
    {"训练卡住", cause::kTrainingStalled},
    {"初始化卡住", cause::kInitStuck},
    {"启动卡住", cause::kStartStuck},
    {"卡住", cause::kCollectiveStuck},
    {"连不上", cause::kConnectFailed},
    {"地址被占", cause::kPortTaken},
    {"地址在使用", cause::kPortTaken},
    {"端口在使用", cause::kPortTaken},
    {"拒绝连接", cause::kConnectFailed},
    {"连接被拒", cause::kConnectFailed},
    {"连接拒绝", cause::kConnectFailed},
    {"网络不通", cause::kConnectFailed},
    {"网络不可达", cause::kConnectFailed},
    {"被杀", cause::kHostOom},
    {"权限", kOfNoCause},
}};

/// The text in small letters, without blanks, and with one word for each thing that has several.
std::string plainly(std::string_view text) {
  std::string plain = lower(text);
  std::erase(plain, ' ');
  constexpr std::string_view kAlready = "已";
  for (auto at = plain.find(kAlready); at != std::string::npos; at = plain.find(kAlready))
    plain.erase(at, kAlready.size());
  constexpr std::array<std::string_view, 5> kHangs{"卡死", "挂起", "挂住", "hang住", "不动了"};
  for (const std::string_view word : kHangs)
    for (auto at = plain.find(word); at != std::string::npos; at = plain.find(word))
      plain.replace(at, word.size(), "卡住");
  return plain;
}

bool is_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// "nccl超时" has "nccl" and "超时"; "被占用" has "被占" and "占用".
std::set<Word> words_of(std::string_view text) {
  std::set<Word> words;
  Word latin;
  Word before;
  const std::string plain = plainly(text);
  for (std::string_view rest = plain; !rest.empty();) {
    const CodePoint point = first_code_point(rest);
    const std::string_view character = rest.substr(0, point.length);
    rest.remove_prefix(character.size());
    if (is_letter(point.value))
      latin += character;
    else if (!latin.empty())
      words.insert(std::exchange(latin, {}));
    const bool is_chinese = point.value >= 0x4e00 && point.value <= 0x9fff;
    if (is_chinese && !before.empty()) words.insert(before + Word(character));
    before = is_chinese ? Word(character) : Word();
  }
  if (!latin.empty()) words.insert(latin);
  return words;
}

struct Titled {
  const Cause* cause;
  std::set<Word> words;
  double share = 0;  ///< how much of what was asked its title says
};

std::vector<Titled> titles_of(const Catalogue& catalogue) {
  std::vector<Titled> all;
  for (const Cause& cause : catalogue.causes()) {
    const std::string* chinese = chinese_phrases().find(cause.title);
    all.push_back({&cause, words_of(chinese != nullptr ? *chinese : cause.title)});
  }
  return all;
}

void weigh(const std::set<Word>& asked, std::vector<Titled>& titles) {
  std::map<Word, double> weights;
  double whole = 0;
  for (const Word& word : asked) {
    const auto having = std::ranges::count_if(
        titles, [&](const Titled& title) { return title.words.contains(word); });
    constexpr double kInNoTitle = 1.5;  // a person's own way to say it
    const double rarity = static_cast<double>(titles.size()) / static_cast<double>(having + 1);
    whole += weights[word] = having == 0 ? kInNoTitle : std::log1p(rarity);
  }
  for (Titled& title : titles)
    for (const auto& [word, weight] : weights)
      if (title.words.contains(word)) title.share += weight / whole;
}

}  // namespace

bool has_chinese(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.value >= 0x4e00 && point.value <= 0x9fff) return true;
    text.remove_prefix(std::min(point.length, text.size()));
  }
  return false;
}

std::vector<const Cause*> causes_in_chinese(std::string_view words, const Catalogue& catalogue) {
  std::vector<const Cause*> causes;
  if (!has_chinese(words)) return causes;
  const std::string plain = plainly(words);
  const auto named = std::ranges::find_if(
      kChineseNames, [&](const auto& name) { return plain.find(name.first) != std::string::npos; });
  if (named != kChineseNames.end() && named->second == kOfNoCause) return causes;
  if (named != kChineseNames.end()) causes.push_back(&catalogue.at(named->second));
  std::vector<Titled> titles = titles_of(catalogue);
  weigh(words_of(words), titles);
  constexpr double kEnough = 0.4;
  std::erase_if(titles, [](const Titled& title) { return title.share < kEnough; });
  std::ranges::stable_sort(titles, [](const Titled& a, const Titled& b) {
    return std::pair(-a.share, a.words.size()) < std::pair(-b.share, b.words.size());
  });
  for (const Titled& title : titles)
    if (std::ranges::find(causes, title.cause) == causes.end()) causes.push_back(title.cause);
  constexpr std::size_t kMost = 8;
  causes.resize(std::min(causes.size(), kMost));
  return causes;
}

}  // namespace safelaunch::diagnose
