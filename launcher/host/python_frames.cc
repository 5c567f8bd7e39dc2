#include "safelaunch/host/python_frames.h"

#include <elf.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/locale/encoding_utf.hpp>
#include <cstdint>
#include <cstring>
#include <optional>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/proc.h"

// CPython's runtime is found by its exported symbol _PyRuntime. From there the way leads over the
// first interpreter, its oldest thread and that thread's frames to the code that each executes. The
// memory is another process's: every address and length may be garbage, and what does not look as
// it must ends the way.
namespace safelaunch::host {
namespace {

using Address = std::uint64_t;

// Where the members stand, in bytes from the begin of their structs. The structs of a minor version
// do not change. From the headers of CPython: Include/cpython/{code,pystate,unicodeobject}.h and
// Include/internal/pycore_{runtime,interp,frame}.h.
struct Layout {
  int minor;
  Address interpreters, threads;   // the head of each list
  Address frame, frame_in_cframe;  // of a thread; of what lies between, 0 or more
  bool has_cframe;
  Address code, previous, instruction, owner;  // of a frame
  Address filename, name, first_line, line_table, bytecode;
  Address ascii, other_text;  // the characters of a string
};

constexpr std::array kLayouts{
    Layout{10, 32, 8, 24, 0, false, 32, 24, 96, 0, 104, 112, 40, 120, 0, 48, 72},
    Layout{11, 40, 16, 56, 8, true, 32, 48, 56, 69, 112, 120, 72, 136, 184, 48, 72},
    Layout{12, 40, 72, 56, 0, true, 0, 8, 56, 70, 112, 120, 68, 136, 192, 40, 56},
    Layout{13, 632, 7344, 72, 0, false, 0, 8, 56, 70, 112, 120, 68, 136, 200, 40, 56},
};
constexpr Address kNextThread = 8;
constexpr Address kLength = 16;  // of bytes and of strings
constexpr Address kTextState = 32, kBytesText = 32;
constexpr unsigned char kOwnedByC = 3;  // a frame without code, from 3.12 on

constexpr std::size_t kMostThreads = 4'096;
constexpr std::size_t kMostFrames = 1'000;
constexpr std::size_t kMostSegments = 128;
constexpr std::size_t kLongestText = 4'096;
constexpr std::size_t kLongestTable = 1U << 20U;
constexpr std::size_t kMostSymbolBytes = 1U << 23U;

class Memory {
 public:
  explicit Memory(int pid) : pid_(pid) {}

  [[nodiscard]] bool read(Address from, void* to, std::size_t size) const {
    const iovec ours{to, size};
    // An address of the other process, which is no pointer of ours.
    const iovec theirs{reinterpret_cast<void*>(from), size};  // NOLINT(performance-no-int-to-ptr)
    return process_vm_readv(pid_, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(size);
  }
  template <class Value>
  [[nodiscard]] std::optional<Value> value(Address from) const {
    Value value;
    return read(from, &value, sizeof value) ? std::optional(value) : std::nullopt;
  }
  /// 0 where it cannot be read.
  [[nodiscard]] Address pointer(Address from) const { return value<Address>(from).value_or(0); }
  [[nodiscard]] std::string bytes(Address from, std::size_t size) const {
    std::string bytes(size, '\0');
    return read(from, bytes.data(), size) ? bytes : std::string();
  }

 private:
  int pid_;
};

// ---- the symbol ---------------------------------------------------------------------------------

struct Module {
  Address base = 0;
  int minor = 0;  // of Python 3
};

/// "libpython3.11.so.1.0" and "python3.11" -> 11; the library, where there is one, has the runtime.
std::optional<Module> module_in(std::string_view line) {
  const std::string_view file = base_name(line);
  const std::size_t at = file.find("python3.");
  if (file.find(' ') != file.npos || (at != 0 && !file.starts_with("libpython3."))) return {};
  const std::string_view behind = file.substr(at + 8);
  const auto minor = to_number(behind.substr(0, behind.find_first_not_of("0123456789")));
  const auto base = to_number<Address>(line.substr(0, line.find('-')), 16);
  return minor && base ? std::optional(Module{*base, *minor}) : std::nullopt;
}

std::optional<Module> python_of(int pid) {
  const std::string maps = read_whole(ProcPath(pid, "maps").c_str()).value_or("");
  std::optional<Module> found;
  for (std::string_view rest = maps; !rest.empty();) {
    const std::string_view line = take_word(rest, '\n');
    const auto module = module_in(line);
    if (module && base_name(line).starts_with("lib")) return module;
    if (module && !found) found = module;
  }
  return found;
}

struct Symbols {
  Address table = 0, names = 0, size_of_names = 0;
};

Symbols symbols_of(const Memory& memory, Address dynamic, Address bias) {
  Symbols symbols;
  for (std::size_t i = 0; i < kMostSegments; ++i) {
    const auto entry = memory.value<Elf64_Dyn>(dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    // The loader has made addresses of offsets, or has not.
    const Address address = entry->d_un.d_ptr + (entry->d_un.d_ptr < bias ? bias : 0);
    if (entry->d_tag == DT_SYMTAB) symbols.table = address;
    if (entry->d_tag == DT_STRTAB) symbols.names = address;
    if (entry->d_tag == DT_STRSZ) symbols.size_of_names = entry->d_un.d_val;
  }
  return symbols;
}

/// The address of the exported variable; 0 where there is none.
Address find_symbol(const Memory& memory, Address base, std::string_view name) {
  const auto header = memory.value<Elf64_Ehdr>(base);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
  const Address bias = header->e_type == ET_EXEC ? 0 : base;
  Symbols symbols;
  for (std::size_t i = 0; i < std::min<std::size_t>(header->e_phnum, kMostSegments); ++i) {
    const auto segment = memory.value<Elf64_Phdr>(base + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_DYNAMIC)
      symbols = symbols_of(memory, bias + segment->p_vaddr, bias);
  }
  // Every linker puts the names behind the table; nothing else tells how long it is.
  const Address size = symbols.names - symbols.table;
  if (symbols.table == 0 || size > kMostSymbolBytes || symbols.size_of_names > kMostSymbolBytes)
    return 0;
  const std::string table = memory.bytes(symbols.table, size);
  const std::string names = memory.bytes(symbols.names, symbols.size_of_names);
  const std::string wanted = std::string(name) + '\0';
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, table.data() + at, sizeof symbol);
    if (symbol.st_value != 0 && symbol.st_name < names.size() &&
        names.compare(symbol.st_name, wanted.size(), wanted) == 0)
      return bias + symbol.st_value;
  }
  return 0;
}

// ---- a string, and a line -----------------------------------------------------------------------

/// Empty for what is none.
std::string text_at(const Memory& memory, Address from, const Layout& layout) {
  const std::size_t length = memory.pointer(from + kLength);
  const unsigned state = memory.value<std::uint32_t>(from + kTextState).value_or(0);
  const std::size_t width = state >> 2U & 7U;  // bytes a character
  const bool is_compact = (state >> 5U & 1U) != 0, is_ascii = (state >> 6U & 1U) != 0;
  if (!is_compact || length > kLongestText || (width != 1 && width != 2 && width != 4)) return {};
  const std::string raw =
      memory.bytes(from + (is_ascii ? layout.ascii : layout.other_text), length * width);
  if (is_ascii) return raw;
  std::u32string wide(raw.size() / width, U'\0');
  for (std::size_t i = 0; i < wide.size(); ++i)
    std::memcpy(&wide[i], raw.data() + i * width, width);
  return boost::locale::conv::utf_to_utf<char>(wide);
}

std::string bytes_at(const Memory& memory, Address from) {
  const std::size_t length = memory.pointer(from + kLength);
  return length <= kLongestTable ? memory.bytes(from + kBytesText, length) : std::string();
}

/// Python 3.10: pairs of how many bytes of code, and how many lines further.
int line_in_pairs(std::string_view table, int line, std::size_t at) {
  constexpr auto kNoLine = static_cast<signed char>(-128);
  std::size_t end = 0;
  for (std::size_t i = 0; i + 1 < table.size() && end <= at; i += 2) {
    end += static_cast<unsigned char>(table[i]);
    const auto further = static_cast<signed char>(table[i + 1]);
    if (further != kNoLine) line += further;
  }
  return line;
}

/// A number of six bits a byte, the lowest first, whose lowest bit is its sign.
int signed_number(std::string_view bytes) {
  unsigned value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 5; ++i) {
    value |= (static_cast<unsigned>(bytes[i]) & 63U) << 6U * i;
    if ((static_cast<unsigned>(bytes[i]) & 64U) == 0) break;
  }
  const int size = static_cast<int>(value >> 1U);
  return (value & 1U) != 0 ? -size : size;
}

/// From Python 3.11 on: Objects/locations.md in CPython. The first byte of an entry alone has its
/// highest bit set.
int line_in_entries(std::string_view table, int line, std::size_t at) {
  constexpr unsigned kLong = 14, kNoColumns = 13, kOneLine = 10;
  std::size_t end = 0;
  for (std::size_t i = 0; i < table.size() && end <= at;) {
    const auto head = static_cast<unsigned char>(table[i++]);
    const unsigned kind = head >> 3U & 15U;
    if (kind == kLong || kind == kNoColumns)
      line += signed_number(table.substr(i));
    else if (kind >= kOneLine && kind < kNoColumns)
      line += static_cast<int>(kind - kOneLine);
    end += 2 * ((head & 7U) + 1);
    while (i < table.size() && (static_cast<unsigned char>(table[i]) & 128U) == 0) ++i;
  }
  return line;
}

// ---- the frames ---------------------------------------------------------------------------------

/// The offset of the instruction in its code, in bytes.
std::size_t place_in(const Memory& memory, Address frame, Address code, const Layout& layout) {
  if (layout.bytecode == 0)
    return 2 * memory.value<std::uint32_t>(frame + layout.instruction).value_or(0);
  return memory.pointer(frame + layout.instruction) - (code + layout.bytecode);
}

std::string frame_at(const Memory& memory, Address frame, const Layout& layout) {
  const Address code = memory.pointer(frame + layout.code);
  const std::string file = text_at(memory, memory.pointer(code + layout.filename), layout);
  const std::string name = text_at(memory, memory.pointer(code + layout.name), layout);
  const auto first = memory.value<std::int32_t>(code + layout.first_line);
  if (file.empty() || name.empty() || !first) return {};
  const std::string table = bytes_at(memory, memory.pointer(code + layout.line_table));
  const auto line = layout.minor == 10 ? line_in_pairs : line_in_entries;
  return fmt::format("{}:{} {}", file, line(table, *first, place_in(memory, frame, code, layout)),
                     name);
}

/// The list begins with the youngest thread.
Address oldest_thread(const Memory& memory, Address runtime, const Layout& layout) {
  Address thread = memory.pointer(memory.pointer(runtime + layout.interpreters) + layout.threads);
  for (std::size_t i = 0; i < kMostThreads; ++i) {
    const Address next = memory.pointer(thread + kNextThread);
    if (next == 0) return thread;
    thread = next;
  }
  return 0;
}

}  // namespace

std::vector<std::string> python_frames(int pid) {
  const auto python = python_of(pid);
  if (!python) return {};
  const auto layout = std::ranges::find(kLayouts, python->minor, &Layout::minor);
  if (layout == kLayouts.end()) return {};
  const Memory memory(pid);
  const Address runtime = find_symbol(memory, python->base, "_PyRuntime");
  if (runtime == 0) return {};
  Address frame = memory.pointer(oldest_thread(memory, runtime, *layout) + layout->frame);
  if (layout->has_cframe) frame = memory.pointer(frame + layout->frame_in_cframe);
  std::vector<std::string> frames;
  for (std::size_t i = 0; frame != 0 && i < kMostFrames; ++i) {
    const bool has_code =
        layout->owner == 0 ||
        memory.value<unsigned char>(frame + layout->owner) != std::optional(kOwnedByC);
    std::string text = has_code ? frame_at(memory, frame, *layout) : std::string();
    if (has_code && text.empty()) break;
    if (has_code) frames.push_back(std::move(text));
    frame = memory.pointer(frame + layout->previous);
  }
  std::ranges::reverse(frames);
  return frames;
}

}  // namespace safelaunch::host
