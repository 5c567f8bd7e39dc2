#include "safelaunch/nccl/log_file.h"

namespace safelaunch::nccl {
namespace {

bool is_stream(std::string_view path) {
  return path == "stdout" || path == "stderr" || path.starts_with("/dev/");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The part of a name before its first variable, with "%%" read as '%'.
struct Piece {
  std::string text;
  char variable = 0;      ///< 'h' or 'p'; 0 where the name ends here
  std::string_view rest;  ///< the name behind the variable
};

Piece first_piece(std::string_view name) {
  Piece piece;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char next = i + 1 < name.size() ? name[i + 1] : '\0';
    if (name[i] == '%' && (next == 'h' || next == 'p')) {
      piece.variable = next;
      piece.rest = name.substr(i + 2);
      return piece;
    }
    piece.text += name[i];
    if (name[i] == '%' && next == '%') ++i;
  }
  return piece;
}

/// True if the file's name fits the pattern. `hosts` is the number of %h that may still be tried at
/// every length; one is enough, because nobody writes two into a name.
bool fits(std::string_view file, std::string_view name, int hosts) {
  const Piece piece = first_piece(name);
  if (!file.starts_with(piece.text)) return false;
  file.remove_prefix(piece.text.size());
  if (piece.variable == 0) return file.empty();
  if (piece.variable == 'p') {
    std::size_t digits = 0;
    while (digits < file.size() && is_digit(file[digits])) ++digits;
    return digits > 0 && fits(file.substr(digits), piece.rest, hosts);
  }
  if (hosts == 0) return false;
  for (std::size_t length = 1; length <= file.size(); ++length)
    if (fits(file.substr(length), piece.rest, hosts - 1)) return true;
  return false;
}

}  // namespace

std::optional<LogFile> parse_nccl_log_file(std::string_view value) {
  if (value.empty() || is_stream(value)) return std::nullopt;
  const std::size_t slash = value.rfind('/');
  if (slash == std::string_view::npos) return LogFile{".", std::string(value)};
  const Piece folder = first_piece(value.substr(0, slash));
  if (folder.variable != 0 || slash + 1 == value.size()) return std::nullopt;
  return LogFile{folder.text.empty() ? "/" : folder.text, std::string(value.substr(slash + 1))};
}

std::string escape_for_nccl(std::string_view directory) {
  std::string text;
  for (const char c : directory) text.append(c == '%' ? 2 : 1, c);
  return text;
}

bool is_nccl_log(std::string_view file, std::string_view name) {
  return fits(file, name, 1);
}

}  // namespace safelaunch::nccl
