#include "catch.h"
#include "safelaunch/base/language.h"
#include "safelaunch/diagnose/explain.h"

using namespace safelaunch;
using namespace safelaunch::diagnose;

namespace {

std::string named(const std::string& words) {
  const Cause* cause = cause_named_by(words, Catalogue::builtin());
  return cause == nullptr ? "none" : cause->id;
}

bool fits(const std::string& words, const std::string& id) {
  for (const Cause* cause : causes_in_chinese(words, Catalogue::builtin()))
    if (cause->id == id) return true;
  return false;
}

}  // namespace

TEST_CASE("Chinese words name the cause that people mean by them", "[chinese]") {
  CHECK(named("主节点少一个进程") == "rank-missing");
  CHECK(named("少了 1 个 rank") == "rank-missing");
  CHECK(named("卡住") == "collective-stuck");
  for (const char* taken : {"端口被占用", "端口已被占用", "地址已被占用", "地址已在使用"})
    CHECK(named(taken) == "port-taken");
  for (const char* cut_off : {"拒绝连接", "连接被拒绝", "网络不通", "网络不可达"})
    CHECK(named(cut_off) == "connect-failed");
  CHECK(named("显存不足") == "gpu-oom");
  CHECK(named("爆显存了") == "gpu-oom");
  CHECK(named("共享内存不够") == "shm-small");
  CHECK(named("内存不够") == "host-oom");
}

TEST_CASE("Chinese words that no table has are found in the titles", "[chinese]") {
  CHECK(named("NCCL 超时") == "watchdog-timeout");
  CHECK(named("驱动版本太旧") == "driver-old");
  CHECK(named("掉卡") == "gpu-ill");
  CHECK(named("网卡选错了") == "wrong-interface");
  CHECK(named("等人输入") == "waiting-for-human");
  CHECK(named("磁盘满") == "disk-full");
}

TEST_CASE("several words for a hang find the same causes, and all of them", "[chinese]") {
  for (const char* words : {"卡住", "卡死", "hang 住"})
    for (const char* id : {"collective-stuck", "init-stuck", "training-stalled"})
      CHECK(fits(words, id));
}

TEST_CASE("Chinese words of other things name no cause", "[chinese]") {
  CHECK(named("今天天气") == "none");
  CHECK(named("你好，世界") == "none");
  CHECK(causes_in_chinese("disk full", Catalogue::builtin()).empty());
}

TEST_CASE("an error within Chinese words is still the error", "[chinese]") {
  CHECK(named("报错 torch.OutOfMemoryError: CUDA out of memory") == "gpu-oom");
  CHECK(named("一直 EADDRINUSE 怎么办") == "port-taken");
}

TEST_CASE("every title and remedy has its Chinese, in which a cause is explained", "[chinese]") {
  for (const Cause& cause : Catalogue::builtin().causes())
    for (const std::string& text : {cause.title, cause.remedy}) {
      const std::string* chinese = chinese_phrases().find(text);
      REQUIRE(chinese != nullptr);
      CHECK(has_chinese(*chinese));
    }
  speak(Language::chinese);
  const std::string text = explain(Catalogue::builtin().at("shm-small"));
  speak(Language::english);
  CHECK(text.starts_with("shm-small  F04\n共享内存不够：/dev/shm 太小或已满\n"));
  CHECK(text.find("换下一个 profile 重试") != std::string::npos);
}
