#include <sys/stat.h>

#include <filesystem>

#include "catch.h"
#include "safelaunch/agree/token.h"
#include "temporary_folder.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::TemporaryFolder;

const std::string kSecret = "0123456789abcdef0123456789abcdef";

TEST_CASE("the token of the variable goes before that of a file", "[token]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("token", "the token of the file\n");
  const auto token = find_token(file, {{"SAFELAUNCH_TOKEN", kSecret}});
  REQUIRE(token.has_value());
  CHECK(token->secret == kSecret);
  CHECK(token->from == "SAFELAUNCH_TOKEN");
}

TEST_CASE("the token of a file is its text without the line's end", "[token]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("token", kSecret + "\n");
  const auto token = find_token(file, {});
  REQUIRE(token.has_value());
  CHECK(token->secret == kSecret);
  CHECK(token->from == file);
}

TEST_CASE("a token is made at first use, for us alone, and stays", "[token]") {
  const TemporaryFolder folder;
  const Environment environment{{"XDG_CONFIG_HOME", folder / "config"}};
  const auto first = find_token("", environment);
  REQUIRE(first.has_value());
  CHECK(first->secret.size() == 64);
  CHECK(first->from == folder / "config/safelaunch/token");
  struct stat facts {};
  REQUIRE(::stat(first->from.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
  CHECK(facts.st_nlink == 1);
  CHECK(find_token("", environment)->secret == first->secret);
  const TemporaryFolder other;
  CHECK(find_token("", {{"XDG_CONFIG_HOME", other / "config"}})->secret != first->secret);
}

TEST_CASE("without XDG_CONFIG_HOME the token is below the home, and without that nowhere",
          "[token]") {
  const TemporaryFolder folder;
  CHECK(find_token("", {{"HOME", folder / "home"}})->from ==
        folder / "home/.config/safelaunch/token");
  const auto none = find_token("", {});
  REQUIRE(none.has_error());
  CHECK_THAT(none.error().message, ContainsSubstring("--token-file"));
}

TEST_CASE("a token that others can open is refused", "[token]") {
  const TemporaryFolder folder;
  const unsigned mode = GENERATE(0640U, 0604U, 0620U, 0602U, 0644U);
  const std::string file = folder.write("token", kSecret, mode);
  const auto token = find_token(file, {});
  REQUIRE(token.has_error());
  CHECK(token.error().code == Errc::bad_config);
  CHECK_THAT(token.error().message, ContainsSubstring("chmod 600 " + file));
  CHECK_THAT(token.error().message, !ContainsSubstring(kSecret));
}

TEST_CASE("a token of another user is refused", "[token]") {
  if (::geteuid() != 0) return;  // nobody else can give a file away
  const TemporaryFolder folder;
  const std::string file = folder.write("token", kSecret);
  REQUIRE(::chown(file.c_str(), 65534, 65534) == 0);
  const auto token = find_token(file, {});
  REQUIRE(token.has_error());
  CHECK_THAT(token.error().message, ContainsSubstring("belongs to uid 65534"));
}

TEST_CASE("a token that could be guessed is refused", "[token]") {
  const TemporaryFolder folder;
  CHECK(find_token(folder.write("short", "0123456789abcde\n"), {}).has_error());
  CHECK(find_token(folder.write("empty", ""), {}).has_error());
  CHECK(find_token("", {{"SAFELAUNCH_TOKEN", "secret"}}).has_error());
}

TEST_CASE("a token file that is missing or no file is told by its name", "[token]") {
  const TemporaryFolder folder;
  CHECK_THAT(find_token(folder / "none", {}).error().message, ContainsSubstring(folder / "none"));
  CHECK(find_token(folder / "", {}).has_error());
}

TEST_CASE("a folder in which others can exchange the token gets none", "[token]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "open");
  std::filesystem::permissions(folder / "open", std::filesystem::perms(0777));
  const auto token = find_token("", {{"XDG_CONFIG_HOME", folder / "open"}});
  REQUIRE(token.has_error());
  CHECK_THAT(token.error().message, ContainsSubstring("everybody can write"));
}

}  // namespace
}  // namespace safelaunch::agree
