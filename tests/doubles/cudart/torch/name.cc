#include "cudart/torch/name.h"

#include <cstdlib>

namespace safelaunch::testing {
namespace {

bool opens(char letter) {
  return letter == '<' || letter == '(' || letter == '{';
}

bool closes(char letter) {
  return letter == '>' || letter == ')' || letter == '}';
}

std::string trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text);
}

/// The parts of a list that ends with the bracket that closes it.
std::vector<std::string> parts(std::string_view text) {
  std::vector<std::string> found;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends = depth == 0 && (closes(text[i]) || text[i] == ',');
    if (ends) {
      if (const std::string part = trimmed(text.substr(begin, i - begin)); !part.empty())
        found.push_back(part);
      begin = i + 1;
      if (closes(text[i])) break;
    }
    depth += opens(text[i]) ? 1 : closes(text[i]) && depth > 0 ? -1 : 0;
  }
  return found;
}

}  // namespace

std::vector<std::string> template_arguments(std::string_view name, std::string_view outer) {
  const std::size_t at = name.find(std::string(outer) + "<");
  if (at == std::string_view::npos) return {};
  return parts(name.substr(at + outer.size() + 1));
}

std::vector<std::string> lambda_parameters(std::string_view name) {
  constexpr std::string_view kLambda = "{lambda(";
  const std::size_t at = name.rfind(kLambda);
  if (at == std::string_view::npos) return {};
  return parts(name.substr(at + kLambda.size()));
}

int dispatch_number(std::string_view name) {
  constexpr std::string_view kDispatch = "{lambda()#";
  const std::size_t at = name.rfind(kDispatch);
  if (at == std::string_view::npos) return 0;
  return std::atoi(std::string(name.substr(at + kDispatch.size(), 2)).c_str());
}

}  // namespace safelaunch::testing
