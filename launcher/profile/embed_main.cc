// Run when safelaunch is built: writes the profiles as constants, so that no start of safelaunch
// reads YAML for them. Usage: OUTPUT FILE...

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "safelaunch/base/format.h"
#include "safelaunch/profile/yaml_file.h"

namespace safelaunch::profile {
namespace {

// Octal escapes, since a hexadecimal one would go on into the digits behind it.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n')
      result += "\\n";
    else if (c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?')
      result += c;
    else
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return result + "\"";
}

std::string_view kind_in_source(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::null: return "null";
    case YamlNode::Kind::scalar: return "scalar";
    case YamlNode::Kind::list: return "list";
    case YamlNode::Kind::map: return "map";
  }
  return {};
}

void write_node(const YamlEntry& entry, std::string& source) {
  const YamlNode& node = entry.value;
  source +=
      fmt::format("    {{{}, {}, {}, YamlNode::Kind::{}, {}, {}, {}, {}}},\n", literal(entry.key),
                  entry.place.line, entry.place.column, kind_in_source(node.kind), node.place.line,
                  node.place.column, literal(node.text), node.items.size() + node.entries.size());
  for (const YamlNode& item : node.items) write_node({{}, {}, item}, source);
  for (const YamlEntry& child : node.entries) write_node(child, source);
}

struct Source {
  std::string trees;
  std::string table;
};

Result<> add_file(const std::filesystem::path& path, Source& source) {
  std::ifstream input(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(input), {}};
  if (!input) return Error{Errc::bad_config, path.native() + " cannot be read"};
  const Result<YamlNode> root = parse_yaml(text, path.native());
  if (!root) return root.error();
  std::string tree = path.stem().native();
  for (char& c : tree) c = c == '-' ? '_' : c;
  source.trees += fmt::format("constexpr EmbeddedNode k_{}[] = {{\n", tree);
  write_node({{}, {}, *root}, source.trees);
  source.trees += "};\n";
  source.table += fmt::format("    {{\"profiles/{}\", {}, k_{}}},\n", path.filename().native(),
                              literal(text), tree);
  return {};
}

int write_source(const char* output, std::span<char*> files) {
  Source source;
  for (const char* file : files) {
    if (const Result<> added = add_file(file, source); !added) {
      std::fprintf(stderr, "%s\n", added.error().message.c_str());
      return 1;
    }
  }
  std::ofstream out(output);
  out << "// Made by embed_main.cc; do not edit.\n#include \"safelaunch/profile/library.h\"\n\n"
      << "namespace safelaunch::profile {\nnamespace {\n\n"
      << source.trees << "\nconstexpr BuiltInProfile kProfiles[] = {\n"
      << source.table << "};\n\n}  // namespace\n\n"
      << "std::span<const BuiltInProfile> builtin_profiles() {\n  return kProfiles;\n}\n\n"
      << "}  // namespace safelaunch::profile\n";
  return out.flush() ? 0 : 1;
}

}  // namespace
}  // namespace safelaunch::profile

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  return safelaunch::profile::write_source(words[1], words.subspan(2));
}
