#include <algorithm>
#include <array>
#include <cstdint>

#include "makers.h"
#include "safelaunch/agree/board.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// An address is read from left to right, and the first part that is wrong ends the reading. The
// error then offers the whole address with that one part mended, where it is clear what was
// meant.
namespace safelaunch::agree {
namespace {

constexpr std::string_view kForms =
    "tcp://HOST:PORT, etcd://HOST:PORT[,HOST:PORT…] and file:///FOLDER";
constexpr std::array<std::string_view, 3> kSchemes{"tcp", "etcd", "file"};

/// A wrong address; `meant` is the right form that is nearest, or empty.
Error wrong(std::string_view text, std::string_view why, const std::string& meant) {
  if (meant.empty())
    return Error{Errc::usage,
                 fmt::format("--rendezvous '{}': {}; there are {}", text, why, kForms)};
  return Error{Errc::usage,
               fmt::format("--rendezvous '{}': {}; did you mean '{}'?", text, why, meant)};
}

bool is_port(std::string_view text) {
  return to_number<std::uint16_t>(text).value_or(0) > 0;
}

/// Why "HOST:PORT" is none; nullopt: it is one.
std::optional<Error> refuse_host(std::string_view text, std::string_view scheme,
                                 std::string_view server) {
  const std::string_view port = scheme == "etcd" ? "2379" : "29400";
  const std::size_t colon = server.rfind(':');
  const std::string_view host = server.substr(0, colon);
  if (host.empty()) return wrong(text, "a host is missing", {});
  if (server.find(':') != colon && !server.starts_with('['))
    return wrong(text, "an IPv6 address stands in brackets",
                 fmt::format("{}://[{}]:{}", scheme, server, port));
  if (colon == std::string_view::npos || server.ends_with(']'))
    return wrong(text, "the port is missing", fmt::format("{}://{}:{}", scheme, server, port));
  if (!may_be_host(host)) return wrong(text, fmt::format("'{}' is no host", host), {});
  if (!is_port(server.substr(colon + 1)))
    return wrong(text, fmt::format("'{}' is no port", server.substr(colon + 1)),
                 fmt::format("{}://{}:{}", scheme, host, port));
  return std::nullopt;
}

Result<Address> servers_from(std::string_view text, std::string_view scheme,
                             std::string_view rest) {
  Address address;
  address.backend = scheme == "tcp" ? Address::Backend::tcp : Address::Backend::etcd;
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty()) return wrong(text, "the host is missing", {});
  if (scheme == "tcp" && rest.find(',') != std::string_view::npos)
    return wrong(text, "tcp has one host, that of node 0",
                 fmt::format("tcp://{}", rest.substr(0, rest.find(','))));
  while (!rest.empty()) {
    const std::string_view server = take_word(rest, ',');
    if (auto why = refuse_host(text, scheme, server)) return std::move(*why);
    address.hosts.emplace_back(server);
  }
  return address;
}

Result<Address> folder_from(std::string_view text, std::string_view rest) {
  if (!rest.starts_with('/'))
    return wrong(text, "a folder begins with /", fmt::format("file:///{}", rest));
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  if (rest == "/") return wrong(text, "the folder is missing", {});
  Address address;
  address.backend = Address::Backend::file;
  address.folder = rest;
  return address;
}

/// The part behind the scheme and the signs that separate it.
std::string_view behind(std::string_view text, std::string_view scheme) {
  return text.substr(std::min(text.find_first_not_of(":/", scheme.size()), text.size()));
}

/// The right form of a text without "://".
std::string completed(std::string_view text) {
  if (text.starts_with('/')) return fmt::format("file://{}", text);
  const std::string_view first = text.substr(0, text.find_first_of(":/"));
  if (first == "file") return fmt::format("file:///{}", behind(text, first));
  if (first == "tcp" || first == "etcd") return fmt::format("{}://{}", first, behind(text, first));
  return text.find(':') == std::string_view::npos ? std::string() : fmt::format("tcp://{}", text);
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return wrong(text, "it names no way to meet", completed(text));
  const std::string_view scheme = text.substr(0, end);
  const std::string_view rest = text.substr(end + 3);
  if (scheme == "tcp" || scheme == "etcd") return servers_from(text, scheme, rest);
  if (scheme == "file") return folder_from(text, rest);
  const std::string_view meant = scheme.starts_with("http") ? "etcd" : nearest(scheme, kSchemes);
  return wrong(text, fmt::format("there is no '{}://'", scheme),
               meant.empty() ? std::string() : fmt::format("{}://{}", meant, rest));
}

std::string to_string(const Address& address) {
  switch (address.backend) {
    case Address::Backend::tcp: return "tcp://" + join(address.hosts, ",");
    case Address::Backend::etcd: return "etcd://" + join(address.hosts, ",");
    case Address::Backend::file: return "file://" + address.folder;
  }
  return {};
}

Result<std::unique_ptr<Board>> open_board(boost::asio::io_context& io, const BoardConfig& config,
                                          Board::Listener& listener) {
  switch (config.address.backend) {
    case Address::Backend::etcd: return make_etcd_board(io, config, listener);
    case Address::Backend::file: return make_file_board(io, config, listener);
    case Address::Backend::tcp: break;
  }
  return make_tcp_board(io, config, listener);
}
}  // namespace safelaunch::agree
