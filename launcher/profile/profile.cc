#include "safelaunch/profile/profile.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/event.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/yaml_file.h"

// A profile is read over the one that it extends: it inherits everything but name, description and
// heals, and each key that it has replaces or extends what it inherited. The mistakes of one file
// are told together, each with its place.
namespace safelaunch::profile {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kKeys{"name"sv,      "description"sv, "extends"sv,  "heals"sv,
                           "worsens"sv,   "cost"sv,        "nodes"sv,    "env"sv,
                           "unset"sv,     "force"sv,       "backend"sv,  "verify"sv,
                           "ras"sv,       "args"sv,        "timeouts"sv, "on_stall"sv,
                           "processes"sv, "python"sv,      "options"sv,  "process_group_timeout"sv,
                           "resume"sv,    "restarts"sv,    "retry"sv};
constexpr std::array kTimeoutKeys{"init"sv, "collective"sv, "quiet"sv,
                                  "work"sv, "start"sv,      "stall"sv};
constexpr std::array kArgumentKeys{"append"sv, "replace"sv};
constexpr std::array kResumeKeys{"newer"sv, "marker"sv, "append"sv};
constexpr std::array kRetryKeys{"times"sv, "backoff"sv, "factor"sv};
constexpr std::array kPythonKeys{"faulthandler"sv};

constexpr std::array kCosts{Choice<Cost>{"none", Cost::none}, Choice<Cost>{"small", Cost::small},
                            Choice<Cost>{"medium", Cost::medium},
                            Choice<Cost>{"large", Cost::large}};
constexpr std::array kBackends{Choice<Backend>{"keep", Backend::keep},
                               Choice<Backend>{"gloo", Backend::gloo}};
constexpr std::array kVerifies{Choice<Verify>{"observe", Verify::observe},
                               Choice<Verify>{"inject", Verify::inject}};
constexpr std::array kRases{Choice<Ras>{"off", Ras::off}, Choice<Ras>{"ask", Ras::ask}};
constexpr std::array kOnStalls{Choice<OnStall>{"report", OnStall::report},
                               Choice<OnStall>{"kill", OnStall::kill},
                               Choice<OnStall>{"restart", OnStall::restart}};
constexpr std::array kNodes{Choice<Nodes>{"any", Nodes::any}, Choice<Nodes>{"one", Nodes::one}};

template <class T, std::size_t N>
std::string_view word_for(const std::array<Choice<T>, N>& choices, T value) {
  for (const Choice<T>& choice : choices)
    if (choice.value == value) return choice.word;
  return {};
}

bool is_kebab(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// Keeps the places of the ids that stand under a key, instead of those that were inherited.
void keep_places(const YamlNode& causes, std::string_view key, Profile& profile) {
  std::erase_if(profile.causes, [&](const CauseAt& cause) { return cause.key == key; });
  const bool list = causes.kind == YamlNode::Kind::list;
  for (const YamlNode& cause : list ? std::span(causes.items) : std::span(&causes, 1))
    profile.causes.push_back({std::string(key), cause.text, cause.place});
}

void read_causes(YamlReader& reader, const YamlNode& root, std::string_view key, Profile& profile,
                 std::vector<std::string>& causes) {
  reader.read(key, causes);
  if (const YamlNode* written = root.find(key)) keep_places(*written, key, profile);
  for (const std::string& cause : causes)
    if (!is_kebab(cause) && root.find(key) != nullptr)
      reader.fail(
          root.find(key)->place,
          fmt::format("{}: '{}' is not a cause's id (small letters, digits and -)", key, cause));
}

Mistakes read_stall(const YamlNode& node, StallTimeout& timeout) {
  if (node.kind != YamlNode::Kind::scalar) return Mistake{node.place, "stall must be one value"};
  const Result<StallTimeout> parsed = parse_stall_timeout(node.text);
  if (!parsed) return Mistake{node.place, "stall: " + parsed.error().message};
  timeout = *parsed;
  return {};
}

Mistakes read_timeouts(const YamlNode& node, Timeouts& timeouts) {
  YamlReader reader(node, "timeouts", kTimeoutKeys);
  reader.read("init", timeouts.init);
  reader.read("collective", timeouts.collective);
  reader.read("quiet", timeouts.quiet);
  reader.read("work", timeouts.work);
  reader.read("start", timeouts.start);
  reader.read_with("stall",
                   [&](const YamlNode& value) { return read_stall(value, timeouts.stall); });
  return reader.mistakes();
}

// Why no argument of a script can be the option that a key names, or nothing: a script's `--lr=3`
// is the option --lr.
std::string refuse_option(std::string_view key) {
  if (key.front() != '-')
    return fmt::format("'{}' is not an option of a script: it begins with no '-'", key);
  const std::string_view option = key.substr(0, key.find('='));
  if (option.find_first_not_of('-') == std::string_view::npos)
    return fmt::format("'{}' is not an option of a script: write its name, such as --lr", key);
  if (option.size() == key.size()) return {};
  return fmt::format(
      "'{}' is not an option of a script: write {} alone; it is meant whatever its "
      "value is",
      key, option);
}

Mistakes read_replacements(const YamlNode& node, ArgumentChanges& args) {
  if (node.kind != YamlNode::Kind::map)
    return Mistake{node.place, "replace must be a map of options to their new values"};
  Mistakes mistakes;
  for (const YamlEntry& entry : node.entries) {
    if (const std::string why = refuse_option(entry.key); !why.empty())
      mistakes.add({entry.place, why});
    else if (entry.value.kind == YamlNode::Kind::null)
      args.replace[entry.key] = std::nullopt;
    else if (entry.value.kind == YamlNode::Kind::scalar)
      args.replace[entry.key] = entry.value.text;
    else
      mistakes.add({entry.value.place, fmt::format("{} must be one value", entry.key)});
  }
  return mistakes;
}

Mistakes read_args(const YamlNode& node, ArgumentChanges& args) {
  YamlReader reader(node, "args", kArgumentKeys);
  reader.read("append", args.append);
  reader.read_with("replace",
                   [&](const YamlNode& value) { return read_replacements(value, args); });
  return reader.mistakes();
}

Mistakes read_resume(const YamlNode& node, std::optional<Resume>& resume) {
  resume.reset();
  if (node.kind == YamlNode::Kind::scalar && node.text == "off") return {};
  Resume wanted;
  YamlReader reader(node, "resume", kResumeKeys);
  reader.read("newer", wanted.newer);
  reader.read("marker", wanted.marker);
  reader.read("append", wanted.append);
  if (wanted.newer.empty() == wanted.marker.empty() && reader.well_so_far())
    reader.fail(node.place,
                "resume needs either `newer: 'ckpt/*.pt'`, the checkpoints, or `marker: "
                "ckpt/latest`, a file that is written once one is whole");
  resume = std::move(wanted);
  return reader.mistakes();
}

void read_number(YamlReader& reader, std::string_view key, int& number) {
  constexpr int kMost = 1000;
  reader.read_with(key, [&](const YamlNode& node) -> Mistakes {
    const auto read = to_number(node.text);
    if (node.kind != YamlNode::Kind::scalar || !read || *read < 1 || *read > kMost)
      return Mistake{node.place,
                     fmt::format("{}: '{}' is not a number from 1 to {}", key, node.text, kMost)};
    number = *read;
    return {};
  });
}

Mistakes read_retry(const YamlNode& node, std::optional<Retry>& retry) {
  retry.reset();
  if (node.kind == YamlNode::Kind::scalar && node.text == "off") return {};
  YamlReader reader(node, "retry", kRetryKeys);
  Retry& wanted = retry.emplace();
  read_number(reader, "times", wanted.times);
  reader.read("backoff", wanted.backoff);
  read_number(reader, "factor", wanted.factor);
  return reader.mistakes();
}

Mistakes read_python(const YamlNode& node, bool& faulthandler) {
  YamlReader reader(node, "python", kPythonKeys);
  reader.read("faulthandler", faulthandler);
  return reader.mistakes();
}

Mistakes read_group_timeout(const YamlNode& node, std::optional<Duration>& timeout) {
  timeout.reset();
  if (node.kind == YamlNode::Kind::scalar && node.text == "keep") return {};
  const Result<Duration> parsed = parse_duration(node.text);
  if (node.kind != YamlNode::Kind::scalar || parsed.has_error() || *parsed == Duration::zero())
    return Mistake{
        node.place,
        fmt::format("process_group_timeout: '{}' is neither keep nor a duration such as 30min",
                    node.text)};
  timeout = *parsed;
  return {};
}

std::optional<int> number_of_processes(const YamlNode& node) {
  const auto number = to_number(node.text);
  if (node.kind != YamlNode::Kind::scalar || !number || *number < 1 || *number > kMostRanksOfANode)
    return std::nullopt;
  return number;
}

Mistakes read_processes(const YamlNode& node, Profile& profile) {
  profile.processes.reset();
  profile.ladder.clear();
  if (node.kind == YamlNode::Kind::scalar && node.text == "keep") return {};
  const bool several = node.kind == YamlNode::Kind::list && !node.items.empty();
  for (const YamlNode& item : several ? std::span(node.items) : std::span(&node, 1)) {
    const std::optional<int> number = number_of_processes(item);
    if (!number)
      return Mistake{item.place,
                     fmt::format("processes: '{}' is neither keep nor a number from 1 to {}",
                                 item.text, kMostRanksOfANode)};
    if (std::ranges::find(profile.ladder, *number) != profile.ladder.end())
      return Mistake{item.place, fmt::format("processes: {} is there twice", *number)};
    profile.ladder.push_back(*number);
  }
  profile.processes = profile.ladder.front();
  if (profile.ladder.size() == 1) profile.ladder.clear();
  return {};
}

Mistakes read_force(const YamlNode& node, Profile& profile) {
  profile.force.clear();
  profile.force_all = node.kind == YamlNode::Kind::scalar && node.text == "true";
  if (profile.force_all || (node.kind == YamlNode::Kind::scalar && node.text == "false")) return {};
  if (node.kind != YamlNode::Kind::list)
    return Mistake{node.place, "force must be true, false or a list of variables"};
  Mistakes mistakes;
  for (const YamlNode& item : node.items) {
    const auto& unset = profile.unset;
    const bool known = profile.env.contains(item.text) ||
                       std::find(unset.begin(), unset.end(), item.text) != unset.end();
    if (!known)
      mistakes.add(
          {item.place, fmt::format("force: the profile neither sets nor unsets '{}'", item.text)});
    profile.force.push_back(item.text);
  }
  return mistakes;
}

void read_identity(YamlReader& reader, const YamlNode& root, Profile& profile) {
  reader.read("name", profile.name);
  if (!is_profile_name(profile.name) && root.find("name") != nullptr)
    reader.fail(
        root.find("name")->place,
        fmt::format("'{}' cannot be a profile's name (letters, digits, - and _)", profile.name));
  reader.read("description", profile.description);
  read_causes(reader, root, "heals", profile, profile.heals);
  read_causes(reader, root, "worsens", profile, profile.worsens);
  reader.read<Cost>("cost", profile.cost, kCosts);
  reader.read<Nodes>("nodes", profile.nodes, kNodes);
}

void read_variables(YamlReader& reader, Profile& profile) {
  reader.read_with(
      "env", [&](const YamlNode& node) { return read_env(node, profile.env, profile.unset); });
  reader.read_with(
      "unset", [&](const YamlNode& node) { return read_unset(node, profile.env, profile.unset); });
  if (reader.well_so_far())
    reader.read_with("force", [&](const YamlNode& node) { return read_force(node, profile); });
}

void read_behaviour(YamlReader& reader, Profile& profile) {
  reader.read<Backend>("backend", profile.backend, kBackends);
  reader.read<Verify>("verify", profile.verify, kVerifies);
  reader.read<Ras>("ras", profile.ras, kRases);
  reader.read<OnStall>("on_stall", profile.on_stall, kOnStalls);
  reader.read_with("resume",
                   [&](const YamlNode& node) { return read_resume(node, profile.resume); });
  read_number(reader, "restarts", profile.restarts);
  reader.read_with("retry", [&](const YamlNode& node) { return read_retry(node, profile.retry); });
  reader.read_with("process_group_timeout", [&](const YamlNode& node) {
    return read_group_timeout(node, profile.process_group_timeout);
  });
  reader.read_with("timeouts",
                   [&](const YamlNode& node) { return read_timeouts(node, profile.timeouts); });
  reader.read_with("processes",
                   [&](const YamlNode& node) { return read_processes(node, profile); });
  reader.read_with("args", [&](const YamlNode& node) { return read_args(node, profile.args); });
  reader.read_with("python",
                   [&](const YamlNode& node) { return read_python(node, profile.faulthandler); });
  reader.read_with("options", [&](const YamlNode& node) {
    return read_settings(node, settings::OptionScope::profile, profile.options);
  });
}

// A profile over what it inherits; `extends` is what is wrong with that key.
Result<Profile> read_over(Profile profile, const YamlNode& root, const Mistakes& extends) {
  YamlReader reader(root, "a profile", kKeys);
  reader.read_with("extends", [&](const YamlNode&) { return extends; });
  read_identity(reader, root, profile);
  read_variables(reader, profile);
  read_behaviour(reader, profile);
  const YamlNode* on_stall = root.find("on_stall");
  if (on_stall != nullptr && profile.on_stall == OnStall::restart && !profile.resume &&
      !profile.retry)
    reader.fail(on_stall->place,
                "on_stall: restart needs `resume: {newer: 'ckpt/*', append: […]}`, or `retry: {}`");
  if (profile.resume && profile.retry)
    reader.fail(root.find("retry") != nullptr ? root.find("retry")->place : root.place,
                "retry starts the job as it was started first, and resume from a checkpoint: "
                "switch one of them off");
  if (!reader.mistakes().empty()) return error_of(reader.mistakes());
  return profile;
}

// A profile on the way to the one that is read; its origin tells it from another of the same name.
struct Child {
  std::string name;
  std::string origin;
};
using Children = std::vector<Child>;

// Nobody inherits over so many, and each takes some of the stack.
constexpr std::size_t kMostGenerations = 100;

std::string in_a_circle(const Children& children, const std::string& name) {
  std::string circle;
  for (const Child& each : children) circle += each.name + " → ";
  return fmt::format("extends goes in a circle: {}{}", circle, name);
}

Result<Profile> read_with_parents(const ProfileText& text, const ProfileSource& find,
                                  Children children);

// The profile that `extends` names; nothing, and why, where the key itself is wrong. A mistake in
// that profile's own file is the error.
Result<std::optional<Profile>> parent_of(const YamlNode& extends, const ProfileSource& find,
                                         const Children& children, Mistakes& mistakes) {
  const auto wrong = [&](std::string why) {
    mistakes.add({extends.place, std::move(why)});
    return std::optional<Profile>();
  };
  if (extends.kind != YamlNode::Kind::scalar)
    return wrong("extends must be the name of one profile");
  const Result<ProfileText> parent = find(extends.text);
  if (parent.has_error()) return wrong("extends: " + parent.error().message);
  if (std::ranges::find(children, parent->origin, &Child::origin) != children.end())
    return wrong(in_a_circle(children, extends.text));
  if (children.size() >= kMostGenerations)
    return wrong(fmt::format("extends goes on over more than {} profiles", kMostGenerations));
  Result<Profile> profile = read_with_parents(*parent, find, children);
  if (profile.has_error()) return profile.error();
  return std::optional(std::move(*profile));
}

// What a profile passes on to those that extend it.
Profile inherited(Profile parent, const std::string& name) {
  parent.extends = name;
  parent.heals.clear();
  std::erase_if(parent.causes, [](const CauseAt& cause) { return cause.key == "heals"; });
  parent.description.clear();
  return parent;
}

Result<Profile> read_with_parents(const ProfileText& text, const ProfileSource& find,
                                  Children children) {
  const Result<YamlNode> root =
      text.tree.empty() ? parse_yaml(text.text, text.origin) : tree_of(text.tree, text.origin);
  if (root.has_error()) return root.error();
  children.push_back({text.name, text.origin});
  Profile profile;
  Mistakes mistakes;
  if (const YamlNode* extends = root->find("extends")) {
    Result<std::optional<Profile>> parent = parent_of(*extends, find, children, mistakes);
    if (parent.has_error()) return parent.error();
    if (*parent) profile = inherited(std::move(**parent), extends->text);
  }
  profile.name = text.name;
  profile.origin = text.origin;
  return read_over(std::move(profile), *root, mistakes);
}

}  // namespace

bool is_key(std::string_view word) {
  return std::ranges::find(kKeys, word) != kKeys.end();
}

std::string_view name(Cost cost) {
  return word_for(kCosts, cost);
}
std::string_view name(Backend backend) {
  return word_for(kBackends, backend);
}
std::string_view name(Verify verify) {
  return word_for(kVerifies, verify);
}
std::string_view name(Ras ras) {
  return word_for(kRases, ras);
}
std::string_view name(OnStall on_stall) {
  return word_for(kOnStalls, on_stall);
}
std::string_view name(Nodes nodes) {
  return word_for(kNodes, nodes);
}

bool Profile::forces(std::string_view variable) const {
  return force_all || std::find(force.begin(), force.end(), variable) != force.end();
}

bool is_profile_name(std::string_view word) {
  return !word.empty() && word.front() != '.' && word.front() != '-' &&
         std::all_of(word.begin(), word.end(), is_name_character);
}

std::optional<Error> unknown_causes(const Profile& profile,
                                    std::span<const std::string_view> known) {
  Mistakes mistakes;
  for (const CauseAt& cause : profile.causes) {
    if (std::ranges::find(known, cause.id) != known.end()) continue;
    const std::string hint = did_you_mean(cause.id, known);
    mistakes.add(
        {cause.place, fmt::format("{}: there is no cause '{}'{}", cause.key, cause.id,
                                  hint.empty() ? "; docs/causes.md tells how to add one" : hint)});
  }
  if (mistakes.empty()) return std::nullopt;
  return error_of(mistakes);
}

Result<Profile> read_profile(const ProfileText& text, const ProfileSource& find) {
  return read_with_parents(text, find, {});
}

}  // namespace safelaunch::profile
