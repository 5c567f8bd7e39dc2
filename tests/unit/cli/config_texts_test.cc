#include "catch.h"
#include "launcher/cli/check_file.h"
#include "launcher/cli/verb_texts.h"
#include "launcher/cli/verb_wishes.h"

using namespace safelaunch;

using namespace safelaunch::cli;
using Words = std::vector<std::string>;
using Whose = profile::ConfigPlace::Whose;

namespace {

std::string refused_words(const Words& words) {
  const auto wish = config_wish(words);
  return wish ? "accepted" : wish.error().message;
}

profile::ConfigLayer layer(Whose whose, const std::string& path, const std::string& text) {
  profile::ConfigLayer made{.place = {whose, path}};
  if (!text.empty()) made.config = profile::read_config(text, path).value();
  return made;
}

profile::FileKind kind(const std::string& text, const std::string& file = "x.yaml",
                       profile::FileKind otherwise = profile::FileKind::profile) {
  return profile::kind_of_file(profile::parse_yaml(text, file).value(), file, otherwise);
}

}  // namespace

TEST_CASE("config shows the settings, unless its first word asks for something else", "[config]") {
  CHECK(config_wish({}).value().show == ConfigWish::Show::settings);
  CHECK(config_wish(Words{"show"}).value().show == ConfigWish::Show::settings);
  CHECK(config_wish(Words{"path"}).value().show == ConfigWish::Show::places);
  CHECK(config_wish(Words{"check", "a", "b"}).value().files == Words{"a", "b"});
  CHECK(refused_words({"chek"}) ==
        "config does not know 'chek'; did you mean 'check'? (show, check [FILE…], path)");
  CHECK(refused_words({"path", "x"}) == "config path takes no 'x'");
}

TEST_CASE("each setting is shown with its source, its lock, and no secret", "[config]") {
  const std::vector<profile::ConfigLayer> layers{
      layer(Whose::host, "h.yaml", "env: {A: b}\nunset: [C]\nlock: [env, options.grace]"),
      layer(Whose::user, "u.yaml", "chain: [x, y]")};
  plan::Configuration configuration;
  configuration.rules = profile::combined(layers).everywhere;
  configuration.locks = profile::combined(layers).locks;
  configuration.settings["grace"] = {"5s", "SAFELAUNCH_GRACE"};
  configuration.rules.variables.env["API_TOKEN"] = {"geheim", {"h.yaml", 9, 1}};
  CHECK(render_settings(settings_shown(configuration, layers, {})) ==
        "chain          x, y          u.yaml:1:8\n"
        "env.A          b             h.yaml:1:10  (locked)\n"
        "env.API_TOKEN  [redacted]    h.yaml:9:1  (locked)\n"
        "env.C          (taken away)  h.yaml  (locked)\n"
        "options.grace  5s            SAFELAUNCH_GRACE  (locked)\n");
  CHECK(render_settings({}) == "no file and no variable sets anything here\n");
}

TEST_CASE("each place is shown with what became of its file", "[config]") {
  std::vector<profile::ConfigLayer> layers{layer(Whose::host, "/etc/h", ""),
                                           layer(Whose::user, "u", "chain: [x]"),
                                           layer(Whose::folder, "f", "")};
  layers[2].passed_over = "it sets PATH";
  CHECK(render_places(layers) ==
        "/etc/h  not there\nu       read\nf       refused: it sets PATH\n");
}

TEST_CASE("a profile and a file of settings are told apart by name and keys", "[config]") {
  using enum profile::FileKind;
  CHECK(kind("chain: [a]") == config);
  CHECK(kind("clusters: []") == config);
  CHECK(kind("lock: [chain]") == config);
  CHECK(kind("env: {A: b}") == profile);
  CHECK(kind("env: {A: b}", "x.yaml", config) == config);
  CHECK(kind("extends: basic", "x.yaml", config) == profile);
  CHECK(kind("extends: basic", "/a/safelaunch.yaml") == config);
}
