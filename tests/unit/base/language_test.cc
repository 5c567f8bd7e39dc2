#include "safelaunch/base/language.h"

#include <sstream>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("the first locale variable that is set decides the language", "[language]") {
  CHECK(language_of({}) == Language::english);
  CHECK(language_of({{"LANG", "zh_CN.UTF-8"}}) == Language::chinese);
  CHECK(language_of({{"LANG", "zh_CN.UTF-8"}, {"LC_ALL", "C"}}) == Language::english);
  CHECK(language_of({{"LANG", "zh_CN.UTF-8"}, {"LC_MESSAGES", "en_US.UTF-8"}}) ==
        Language::english);
  CHECK(language_of({{"LANG", "en_US.UTF-8"}, {"LC_MESSAGES", "zh_CN.utf8"}}) == Language::chinese);
  CHECK(language_of({{"LANG", "zh_CN.UTF-8"}, {"LC_ALL", ""}}) == Language::chinese);
}

TEST_CASE("every Chinese locale has the one translation", "[language]") {
  for (const char* locale : {"zh", "zh_CN", "zh_TW.UTF-8", "zh_HK.utf8", "zh_CN.UTF-8@pinyin"})
    CHECK(language_of({{"LANG", locale}}) == Language::chinese);
  for (const char* locale : {"C", "C.UTF-8", "POSIX", "en_US.UTF-8", "de_DE.UTF-8"})
    CHECK(language_of({{"LANG", locale}}) == Language::english);
}

TEST_CASE("a Chinese locale that is not UTF-8 gets English, which it can show", "[language]") {
  for (const char* locale : {"zh_CN.GBK", "zh_CN.GB18030", "zh_TW.BIG5"})
    CHECK(language_of({{"LANG", locale}}) == Language::english);
}

TEST_CASE("SAFELAUNCH_LANG counts more than the locale", "[language]") {
  CHECK(language_of({{"SAFELAUNCH_LANG", "zh"}, {"LC_ALL", "C"}}) == Language::chinese);
  CHECK(language_of({{"SAFELAUNCH_LANG", "en"}, {"LANG", "zh_CN.UTF-8"}}) == Language::english);
  CHECK(language_of({{"SAFELAUNCH_LANG", "fr"}, {"LANG", "zh_CN.UTF-8"}}) == Language::chinese);
}

TEST_CASE("phrases are read by twos, with their escapes and without comments", "[language]") {
  const Phrases phrases("# \"no phrase\"\n\"a \\\"b\\\"\":\n  \"甲\"\n\"c\\\\\": \"乙\"\n\"d\"\n");
  REQUIRE(phrases.find("a \"b\"") != nullptr);
  CHECK(*phrases.find("a \"b\"") == "甲");
  CHECK(*phrases.find("c\\") == "乙");
  CHECK(phrases.find("d") == nullptr);
  CHECK(phrases.find("no phrase") == nullptr);
}

TEST_CASE("a finished text is told again by the phrase whose words it has", "[language]") {
  const Phrases phrases(R"(
"rank {} waited {} for it to {}": "rank {} 等它{2}，已等 {1}"
"join": "加入"
"it was {} in {}": "它当时{}，位于 {}"
"idling": "空等"
"nobody was missing": "没有 rank 缺席"
)");
  CHECK(phrases.retold("rank 3 waited 5s for it to join") == "rank 3 等它加入，已等 5s");
  CHECK(phrases.retold(
            "Rank 3 waited 5s for it to join; nobody was missing. It was idling in a.py:1 f.") ==
        "rank 3 等它加入，已等 5s；没有 rank 缺席。它当时空等，位于 a.py:1 f。");
}

TEST_CASE("what no phrase has stays English, mark and all", "[language]") {
  const Phrases phrases("\"idling\": \"空等\"\n\"{} ({})\": \"{}（{}）\"\n");
  CHECK(phrases.retold("Another thing; idling. And more.") == "Another thing; 空等。And more.");
  CHECK(phrases.retold("unknown (here)") == "unknown (here)");
  CHECK(phrases.retold("").empty());
  CHECK(phrases.retold("idling · x 1/2 · idling") == "空等 · x 1/2 · 空等");
}

TEST_CASE("names stay as they are: what is in quotes, and the file and the key at the front",
          "[language]") {
  const Phrases& phrases = chinese_phrases();
  CHECK(phrases.retold("there is no profile 'start'; did you mean 'stopped'?") ==
        "没有名为 'start' 的 profile；是不是想写 'stopped'？");
  CHECK(phrases.retold("p.yaml:3:10: start must be one value, not a list") ==
        "p.yaml:3:10：start 只能写一个值，不能是列表");
  CHECK(phrases.retold("p.yaml:4:8: start: 'x' is not true or false") ==
        "p.yaml:4:8: start：'x' 不是 true 或 false");
  CHECK(phrases.retold("it sets the option port") == "它设置了选项 port");
}

TEST_CASE("the mistakes of a file are told line by line", "[language]") {
  CHECK(chinese_phrases().retold("p.yaml:2:1: a profile has no key 'env2'; did you mean 'env'?\n"
                                 "p.yaml:3:8: cost must be one value, not a map\nand 2 more") ==
        "p.yaml:2:1：profile 里没有 'env2' 这个键；是不是想写 'env'？\n"
        "p.yaml:3:8：cost 只能写一个值，不能是键值表\n另有 2 个");
}

TEST_CASE("a warning is told like the sentence that it is about", "[language]") {
  CHECK(chinese_phrases().retold("warning: the file system of safelaunch's folders does not "
                                 "answer; the job goes on without it") ==
        "警告：safelaunch 的目录所在的文件系统没有响应；作业照常运行，不用它");
}

TEST_CASE("what stands in brackets is told as a part of its sentence", "[language]") {
  const Phrases phrases(R"_(
"{} failed first ({}); cost: {}": "no clause has a semicolon"
"cost: {}": "代价：{}"
"large ({})": "大（{}）"
"gloo; no GPU": "用 gloo；没有 GPU"
"rank {}": "rank {}"
"{} failed first": "{} 最先失败"
)_");
  CHECK(phrases.retold("cost: large (gloo; no GPU)") == "代价：大（用 gloo；没有 GPU）");
  CHECK(phrases.retold("nccl-x: rank 2 failed first") == "nccl-x：rank 2 最先失败");
  CHECK(phrases.retold("Rank 0 failed first; cost: none") == "rank 0 最先失败；代价：none");
}

TEST_CASE("what a rank of another node does is told in Chinese, with its node", "[language]") {
  const Phrases& chinese = chinese_phrases();
  CHECK(chinese.retold("It was idling, on gpu-3.") == "它当时的状态：空等，在 gpu-3 上。");
  CHECK(chinese.retold("idling: sleeping, on gpu-3") == "空等：睡眠中，在 gpu-3 上");
  CHECK(chinese.retold("missing, on gpu-3") == "未到，在 gpu-3 上");
  CHECK(chinese.retold("on gpu-3") == "在 gpu-3 上");
  CHECK(chinese.retold("safelaunch stopped it together with the attempts of the other nodes: "
                       "gpu-2: hung in group: rank 1 is missing (idling: sleeping, on gpu-3) "
                       "while rank 0 has waited for 9s") ==
        "safelaunch 把它和其他节点的尝试一起停止了：gpu-2：卡在 group：rank 1 "
        "没到（空等：睡眠中，在 gpu-3 上），rank 0 已等 9s");
}

TEST_CASE("in what nodes differ, and where, is told in Chinese", "[language]") {
  const Phrases& chinese = chinese_phrases();
  CHECK(chinese.retold("the nodes differ in the script's content: 4da5 on gpu-0, d81d on gpu-1") ==
        "各节点的脚本内容不一致：gpu-0 上是 4da5，gpu-1 上是 d81d");
  CHECK(chinese.retold("the nodes differ in NCCL_DEBUG: (empty) on a, (not set) on b, WARN on c") ==
        "各节点的 NCCL_DEBUG 不一致：a 上是（空），b 上是（未设置），c 上是 WARN");
}

TEST_CASE("options without effect are listed in Chinese", "[language]") {
  const Phrases& chinese = chinese_phrases();
  const std::string why = "safelaunch does not spawn the ranks here";
  CHECK(chinese.retold("--master-port has no effect: " + why) ==
        "--master-port 不起作用：这里的 rank 不是 safelaunch 启动的");
  CHECK(chinese.retold("--devices, --nnodes and --master-port have no effect: " + why) ==
        "--devices、--nnodes 和 --master-port 不起作用：这里的 rank 不是 safelaunch 启动的");
  CHECK(chinese.retold("a strange word and another") == "a strange word and another");
}

TEST_CASE("a stack's head and the collectives of ranks are told in Chinese", "[language]") {
  const Phrases& chinese = chinese_phrases();
  CHECK(chinese.retold("thread MainThread (innermost last)") ==
        "线程 MainThread（最内层的调用在最后）");
  CHECK(chinese.retold("ranks 0-62: no collective yet") == "rank 0-62：还没有集合通信");
  CHECK(chinese.retold("rank 0: waits in TCPStore__wait; waits in c10d.init_process_group") ==
        "rank 0：在 TCPStore__wait 里等待；在 c10d.init_process_group 里等待");
  CHECK(chinese.retold("rank 0: group 0: enqueued 3, started 3, completed 2; all_reduce, "
                       "collective 3 of group 0: started; waits in TCPStore__wait") ==
        "rank 0：group 0：已入队 3，已开始 3，已完成 2；all_reduce（group 0 的第 3 "
        "个集合通信）：已开始；在 TCPStore__wait 里等待");
  speak(Language::chinese);
  CHECK(stack_line("thread 7 python3: state S in futex_wait") ==
        "线程 7 python3：状态 S，位于 futex_wait");
  CHECK(stack_line("  training") == "  training");
  speak(Language::english);
}

TEST_CASE("no blank parts Chinese from Chinese where a phrase is filled in", "[language]") {
  const Phrases& chinese = chinese_phrases();
  CHECK(chinese.retold("no word from node 1 (gpu-1) for too long") ==
        "节点 1（gpu-1）太久没有消息");
  CHECK(chinese.retold("no word from gpu-1 for too long") == "gpu-1 太久没有消息");
  CHECK(chinese.retold("port 29500 is held by a process of user c1u1 that we may not see, "
                       "listening") ==
        "端口 29500 已被用户 c1u1 的某个进程占用（正在监听；没有权限查看详情）");
}

TEST_CASE("the line of a standstill in training is told in Chinese", "[language]") {
  CHECK(
      chinese_phrases().retold(
          "training stands still: no collective finished for 4s; rank 1 is behind (5 of 6 "
          "collectives begun); rank 1 never called all_reduce, collective 6 of group 0; rank 1 is "
          "in train.py:5 evaluates") ==
      "训练停住了：已有 4s 没有完成任何集合通信；rank 1 落后（集合通信已发起 5/6 个）；rank 1 "
      "一直没有调用 "
      "all_reduce（group 0 的第 6 个集合通信）；rank 1 在 train.py:5 evaluates");
  CHECK(chinese_phrases().retold("training goes on, after 15s") == "训练恢复了，共停住 15s");
}

TEST_CASE("a cut way is Chinese but for the command to type", "[language]") {
  CHECK(chinese_phrases().retold("node1 cannot reach node0 on port 29511 (10.77.0.1), where the "
                                 "ranks meet: no answer") ==
        "node1 连不上 node0 的端口 29511（10.77.0.1，rank 在此会合）：没有应答");
  CHECK(chinese_phrases().retold(
            "help: let the firewall of node0 pass port 29511, or take a port that "
            "it passes; there: sudo iptables -I INPUT -j ACCEPT") ==
        "解决办法：让 node0 的防火墙放行端口 29511，或换一个它放行的端口；在那台机器上执行：sudo "
        "iptables -I "
        "INPUT -j ACCEPT");
}

TEST_CASE("a format is filled in in the language that is spoken", "[language]") {
  const int rank = 1;
  CHECK(tr("rank {} ({})", rank, "x") == "rank 1 (x)");
  speak(Language::chinese);
  CHECK(tr("rank {} ({})", rank, "x") == "rank 1（x）");
  CHECK(tr("rank {} on {}", rank, "gpu-1") == "gpu-1 上的 rank 1");
  CHECK(tr("a rank is missing") == "少了一个 rank（有进程没到）");
  CHECK(tr("no such phrase: {}", rank) == "no such phrase: 1");
  speak(Language::english);
  CHECK(tr("a rank is missing") == "a rank is missing");
}

TEST_CASE("what clean says of a process is told in Chinese, with its holdings and its reason",
          "[language]") {
  const Phrases& chinese = chinese_phrases();
  CHECK(chinese.retold("pid 7 (train.py), user ann, 3s old, holds 2 GiB of memory, holds port "
                       "29500: below pid 3, 0.1s of CPU in the last 2s") ==
        "pid 7（train.py），用户 ann，已运行 3s，占用内存 2 GiB，占用端口 29500：在 pid 3 之下；"
        "最近 2s 用了 0.1s CPU");
  CHECK(chinese.retold("pid 7 (train.py), user ann, 3s old, holds /dev/nvidia0: has the mark of "
                       "safelaunch run r, but runs below 'bash' (pid 8), which has none") ==
        "pid 7（train.py），用户 ann，已运行 3s，占用 /dev/nvidia0：带有 safelaunch 运行 r 的标记，"
        "但它的上级进程 'bash'（pid 8）没有");
}

TEST_CASE("of phrases with as many letters the one with more places is tried first", "[language]") {
  const Phrases phrases(
      "\"{} of it in {}\": \"{1}:{0}\"\n\"{} of it in {}, {}\": \"{1}:{0}/{2}\"\n");
  CHECK(phrases.retold("3s of it in 2s, asleep") == "2s:3s/asleep");
}

namespace {

// The text between the first and the last quote of a line, without its escapes.
std::string unquoted(std::string_view line) {
  const std::size_t open = line.find('"');
  std::string text;
  for (std::size_t at = open + 1; at < line.rfind('"'); ++at)
    text += line[at] == '\\' ? line[++at] : line[at];
  return text;
}

// The phrase with the word in each of its places.
std::string with_word(std::string_view phrase, std::string_view word) {
  std::string text;
  while (!phrase.empty()) {
    const std::size_t open = std::min(phrase.find('{'), phrase.size());
    text += phrase.substr(0, open);
    if (open < phrase.size()) text += word;
    phrase.remove_prefix(std::min(phrase.find('}', open), phrase.size() - 1) + 1);
  }
  return text;
}

}  // namespace

// What is said at once, by tr(), need not be told again: that it stays English is no mistake.
TEST_CASE("no phrase of the table takes the sentence of another", "[language]") {
  std::istringstream table{std::string(embedded_phrases().front().text)};
  std::string phrase;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('"')) phrase = unquoted(line);
    const bool is_one_clause =
        phrase.find("; ") == std::string::npos && phrase.find(". ") == std::string::npos;
    if (!line.starts_with("  \"") || !is_one_clause) continue;
    for (const std::string word : {"7", "gpu-1", "/tmp/a.py"}) {
      const std::string english = with_word(phrase, word);
      const std::string told = chinese_phrases().retold(english);
      INFO(english);
      CHECK((told == english || told == with_word(unquoted(line), word)));
    }
  }
}
