#include "safelaunch/profile/yaml_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <streambuf>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A YAML file becomes a plain tree whose scalars are texts. The limits hold while it is read, so a
// hostile file is refused before it takes memory or time. Anchors, tags and keys given twice are
// refused with their place.
namespace safelaunch::profile {
namespace {

// Thrown inside this file only, to leave yaml-cpp's parser at the first excess.
struct Refused {
  Error error;
};

// Line ends and tabs are text; the other controls, those from U+0080 to U+009F among them, act on a
// terminal.
bool is_text(const CodePoint& point) {
  if (point.kind != CodePoint::Kind::valid) return false;
  if (point.value == '\n' || point.value == '\r' || point.value == '\t') return true;
  return point.value >= 0x20 && (point.value < 0x7f || point.value >= 0xa0);
}

// The offset of the first character that is no text; nullopt where all is well. A file's text
// reaches the terminal, where an escape sequence would act.
std::optional<std::size_t> find_unprintable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    if (!is_text(point)) return at;
    at += point.length;
  }
  return std::nullopt;
}

std::string_view line_of(std::string_view text, int line) {
  for (; line > 0; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

// A text in quotes, of which these are the first characters, and perhaps what stands behind it.
bool is_closed(std::string_view quoted) {
  const char quote = quoted.front();
  for (std::size_t at = 1; at < quoted.size(); ++at) {
    const bool twice = quote == '\'' && quoted.substr(at).starts_with("''");
    if (twice || (quote == '"' && quoted[at] == '\\'))
      ++at;
    else if (quoted[at] == quote)
      return true;
  }
  return false;
}

// Lets yaml-cpp read from memory that is ours, without a copy.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // the get area is never written to
    setg(begin, begin, begin + text.size());
  }
};

// Builds the tree from yaml-cpp's events. A node that is not complete yet stands on the stack by
// value and moves into its parent when it ends, so no pointer can dangle.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, const YamlLimits& limits) : file_(file), limits_(limits) {
    root_.place = {file, 1, 1};
  }

  [[nodiscard]] YamlNode take() { return std::move(root_); }

  // yaml-cpp takes the end of a file for the end of a quoted text.
  void refuse_open_quote(std::string_view text) const {
    if (last_scalar_.is_null()) return;
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const std::string_view line = line_of(text, last_scalar_.line);
    const std::string_view scalar =
        text.substr(std::min(text.size(), static_cast<std::size_t>(line.data() - text.data()) +
                                              static_cast<std::size_t>(last_scalar_.column)));
    if (!scalar.empty() && (scalar.front() == '"' || scalar.front() == '\'') && !is_closed(scalar))
      refuse(last_scalar_, "the quote that begins here does not end");
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, {}, anchor);
    add(node(YamlNode::Kind::null, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "an alias (*name) is not allowed; write the value again");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    if (find_unprintable(value)) refuse(mark, "the text has a control character in it");
    last_scalar_ = mark;
    YamlNode scalar = node(YamlNode::Kind::scalar, mark);
    scalar.text = value;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Unfinished {
    YamlNode node;
    std::optional<YamlEntry> entry;  // the entry of a map whose key is read and whose value is not
  };

  [[nodiscard]] Place place(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }
  [[noreturn]] void refuse(const YAML::Mark& mark, std::string_view message) const {
    throw Refused{error_at(place(mark), message)};
  }
  [[nodiscard]] YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) const {
    YamlNode result;
    result.kind = kind;
    result.place = place(mark);
    return result;
  }

  void check(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor)
      refuse(mark, "an anchor (&name) is not allowed; write the value where it is needed");
    // yaml-cpp says "?" for a plain value and "!" for a quoted one.
    if (!tag.empty() && tag != "?" && tag != "!")
      refuse(mark, fmt::format("the tag '{}' is not allowed; write the value alone", tag));
    if (++nodes_ > limits_.nodes)
      refuse(mark, fmt::format("the file has more than {} values", limits_.nodes));
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, std::string_view tag,
            YAML::anchor_t anchor) {
    check(mark, tag, anchor);
    if (stack_.size() >= limits_.depth)
      refuse(mark, fmt::format("lists and maps are nested deeper than {}", limits_.depth));
    stack_.push_back({node(kind, mark), std::nullopt});
  }

  void close() {
    YamlNode finished = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(finished));
  }

  void add(YamlNode value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Unfinished& parent = stack_.back();
    if (parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(std::move(value));
    } else if (!parent.entry) {
      parent.entry = key_of(parent.node, value);
    } else {
      // What is not there has no place; yaml-cpp names that of the next line's word.
      if (value.kind == YamlNode::Kind::null && value.place.line > parent.entry->place.line)
        value.place = parent.entry->place;
      parent.entry->value = std::move(value);
      parent.node.entries.push_back(std::move(*parent.entry));
      parent.entry.reset();
    }
  }

  // A map's entries are few: the whole file has at most limits_.nodes of them, and a long map is
  // refused before a search in it could take long.
  [[nodiscard]] YamlEntry key_of(const YamlNode& map, const YamlNode& key) const {
    constexpr std::size_t kLongestMap = 500;
    if (key.kind != YamlNode::Kind::scalar || key.text.empty())
      throw Refused{error_at(key.place, "a key must be a word")};
    if (key.text == "<<")
      throw Refused{error_at(key.place, "a merge key (<<) is not allowed; use extends")};
    if (map.entries.size() >= kLongestMap)
      throw Refused{error_at(key.place, fmt::format("the map has more than {} keys", kLongestMap))};
    for (const YamlEntry& entry : map.entries) {
      if (entry.key != key.text) continue;
      throw Refused{
          error_at(key.place, fmt::format("the key '{}' occurs twice; the first is in line {}",
                                          key.text, entry.place.line))};
    }
    return {key.text, key.place, {}};
  }

  const std::string& file_;
  const YamlLimits& limits_;
  std::size_t nodes_ = 0;
  std::vector<Unfinished> stack_;
  YamlNode root_;
  YAML::Mark last_scalar_ = YAML::Mark::null_mark();
};

// yaml-cpp never sees what is no text: it takes a 0x04 byte for the end of the file, for one.
std::optional<Error> refuse_raw(std::string_view text, const std::string& file,
                                const YamlLimits& limits) {
  if (text.size() > limits.bytes)
    return error_at({file}, fmt::format("the file has {} bytes; at most {} are read", text.size(),
                                        limits.bytes));
  const std::optional<std::size_t> bad = find_unprintable(text);
  if (!bad) return std::nullopt;
  const std::string_view before = text.substr(0, *bad);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0, the first line
  return error_at({file, static_cast<int>(lines) + 1, static_cast<int>(*bad - line_start) + 1},
                  fmt::format("the byte 0x{:02x} is no text (UTF-8 without control characters)",
                              static_cast<unsigned char>(text[*bad])));
}

Result<YamlNode> build_tree(std::string_view text, const std::string& file,
                            const YamlLimits& limits) {
  ViewBuffer buffer(text);
  std::istream input(&buffer);
  YAML::Parser parser(input);
  TreeBuilder builder(file, limits);
  if (!parser.HandleNextDocument(builder)) return builder.take();
  builder.refuse_open_quote(text);
  YamlNode root = builder.take();
  TreeBuilder second(file, limits);
  if (parser.HandleNextDocument(second))
    return error_at({file, second.take().place.line, 1},
                    text.find("\n---") == std::string_view::npos
                        ? "the line is indented less than the first one"
                        : "only one document is allowed in a file");
  return root;
}

YamlNode take_node(std::span<const EmbeddedNode>& nodes, const std::string& file) {
  const EmbeddedNode& from = nodes.front();
  nodes = nodes.subspan(1);
  YamlNode node{from.kind, {file, from.line, from.column}, std::string(from.text), {}, {}};
  for (std::size_t i = 0; i < from.children; ++i) {
    const EmbeddedNode& child = nodes.front();
    YamlNode value = take_node(nodes, file);
    if (node.kind == YamlNode::Kind::list)
      node.items.push_back(std::move(value));
    else
      node.entries.push_back(
          {std::string(child.key), {file, child.key_line, child.key_column}, std::move(value)});
  }
  return node;
}

std::string_view kind_name(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::null: return "nothing";
    case YamlNode::Kind::scalar: return "one value";
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::map: return "a map";
  }
  return {};
}

}  // namespace

std::string to_string(const Place& place) {
  if (place.line == 0) return place.file;
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

Error error_at(const Place& place, std::string_view message) {
  return Error{Errc::bad_config, fmt::format("{}: {}", to_string(place), message)};
}

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                            const YamlLimits& limits) {
  if (const std::optional<Error> error = refuse_raw(text, file, limits)) return *error;
  try {
    return build_tree(text, file, limits);
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const YAML::Exception& exception) {
    const std::string_view line = line_of(text, std::max(0, exception.mark.line));
    const std::size_t tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
    if (tab != line.npos)
      return error_at({file, exception.mark.line + 1, static_cast<int>(tab) + 1},
                      "a tab indents here; YAML takes blanks alone");
    return error_at({file, exception.mark.line + 1, exception.mark.column + 1}, exception.msg);
  } catch (const std::exception& exception) {
    return error_at({file}, exception.what());
  }
}

YamlNode tree_of(std::span<const EmbeddedNode> nodes, const std::string& file) {
  return take_node(nodes, file);
}

// A map is read key by key. Mistakes are gathered, so callers read everything and ask for them
// once.

std::string not_a_choice(std::string_view word, std::span<const std::string_view> choices) {
  return fmt::format("'{}' is not one of {}{}", word, join(choices, ", "),
                     did_you_mean(word, choices));
}

void Mistakes::add(Mistakes others) {
  std::ranges::move(others.all_, std::back_inserter(all_));
}

// Keys are read in the order of their meaning, and a file is mended from its top.
Error error_of(const Mistakes& mistakes) {
  constexpr std::size_t kMost = 8;
  std::vector<Mistake> sorted = mistakes.all();
  std::ranges::stable_sort(
      sorted, {}, [](const Mistake& one) { return std::pair(one.place.line, one.place.column); });
  std::vector<std::string> lines;
  for (const Mistake& one : std::span(sorted).first(std::min(kMost, sorted.size())))
    lines.push_back(error_at(one.place, one.message).message);
  if (sorted.size() > kMost) lines.push_back(fmt::format("and {} more", sorted.size() - kMost));
  return Error{Errc::bad_config, join(lines, "\n")};
}

YamlReader::YamlReader(const YamlNode& map, std::string_view what,
                       std::span<const std::string_view> keys)
    : map_(map) {
  if (map.kind != YamlNode::Kind::map)
    fail(map.place,
         fmt::format("{} must be a map of keys to values, not {}", what, kind_name(map.kind)));
  for (const YamlEntry& entry : map.entries) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    const std::string hint = did_you_mean(entry.key, keys);
    fail(entry.place, fmt::format("{} has no key '{}'{}", what, entry.key,
                                  hint.empty() ? "; there are " + join(keys, ", ") : hint));
  }
}

const YamlNode* YamlReader::scalar(std::string_view key) {
  const YamlNode* node = map_.find(key);
  if (node == nullptr || node->kind == YamlNode::Kind::scalar) return node;
  fail(node->place, fmt::format("{} must be one value, not {}", key, kind_name(node->kind)));
  return nullptr;
}

void YamlReader::read(std::string_view key, std::string& text) {
  if (const YamlNode* node = scalar(key)) text = node->text;
}

void YamlReader::read(std::string_view key, bool& flag) {
  static constexpr std::array kFlags{Choice<bool>{"true", true}, Choice<bool>{"false", false}};
  read<bool>(key, flag, kFlags);
}

void YamlReader::read(std::string_view key, Duration& duration) {
  const YamlNode* node = scalar(key);
  if (node == nullptr) return;
  const Result<Duration> parsed = parse_duration(node->text);
  if (parsed.has_error())
    fail(node->place, fmt::format("{}: {}", key, parsed.error().message));
  else
    duration = *parsed;
}

void YamlReader::read(std::string_view key, std::vector<std::string>& words) {
  const YamlNode* node = map_.find(key);
  if (node == nullptr) return;
  words.clear();
  if (node->kind == YamlNode::Kind::scalar) {
    words.push_back(node->text);
    return;
  }
  if (node->kind != YamlNode::Kind::list)
    return fail(node->place,
                fmt::format("{} must be a list of words, not {}", key, kind_name(node->kind)));
  for (const YamlNode& item : node->items) {
    if (item.kind != YamlNode::Kind::scalar)
      return fail(item.place,
                  fmt::format("{} must hold words only, not {}", key, kind_name(item.kind)));
    words.push_back(item.text);
  }
}

void YamlReader::read_with(std::string_view key,
                           const std::function<Mistakes(const YamlNode&)>& read) {
  if (const YamlNode* node = map_.find(key)) mistakes_.add(read(*node));
}

}  // namespace safelaunch::profile
