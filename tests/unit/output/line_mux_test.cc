#include "launcher/output/line_mux.h"

#include <map>
#include <random>
#include <set>

#include "catch.h"
#include "random_splits.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace std::chrono_literals;
using testing::split_randomly;

namespace {

const TimePoint t0 = TimePoint() + 1h;

/// A mux of ranks with prefixes "0:", "1:", …, and all that it has passed on.
struct Muxed {
  Muxed(LineMux::Target target, int ranks) : mux(target) {
    for (int rank = 0; rank < ranks; ++rank) mux.add_source(std::to_string(rank) + ":");
  }
  void feed(std::size_t rank, std::string_view bytes, TimePoint now = t0) {
    mux.feed(rank, bytes, now, lines);
  }
  void close(std::size_t rank, TimePoint now = t0) { mux.close(rank, now, lines); }
  void tick(TimePoint now) { mux.tick(now, lines); }
  std::string take() { return std::exchange(lines, {}); }

  LineMux mux;
  std::string lines;
};

constexpr auto kFile = LineMux::Target::file;
constexpr auto kTerminal = LineMux::Target::terminal;

const std::string kLong(LineMux::kLongestHeld, 'x');

}  // namespace

TEST_CASE("lines of several ranks are passed on whole, with their prefixes", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, "hel");
  out.feed(1, "wor");
  CHECK(out.take().empty());
  out.feed(0, "lo\nnext");
  out.feed(1, "ld\n\n");
  CHECK(out.take() == "0:hello\n1:world\n1:\n");
}

TEST_CASE("without a prefix lines are passed on as they were written", "[line_mux]") {
  LineMux mux(kFile);
  const std::size_t rank = mux.add_source("");
  std::string lines;
  mux.feed(rank, "a\nb\r\nc\0", t0, lines);
  mux.feed(rank, "d\x1b]0;t\x07\n", t0, lines);
  CHECK(lines == "a\nb\r\ncd\x1b]0;t\x07\n");
}

TEST_CASE("the last line of a rank gets a newline if it has none", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, "bye");
  out.close(0);
  out.close(1);
  CHECK(out.take() == "0:bye\n");
  CHECK_FALSE(out.mux.next_tick());
}

TEST_CASE("a line too long to be held is passed on in pieces, and others wait for its end",
          "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, kLong);
  CHECK(out.take() == "0:" + kLong);
  out.feed(1, "wait\n");
  out.feed(0, kLong);
  CHECK(out.take() == kLong);
  out.feed(0, "end\nnext\n");
  CHECK(out.take() == "end\n0:next\n1:wait\n");
}

TEST_CASE("a rank that waits for another is read no further than what is held", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, kLong);
  out.feed(1, kLong);
  CHECK(out.mux.accepts(0));
  CHECK_FALSE(out.mux.accepts(1));
  out.feed(0, "\n");
  CHECK(out.mux.accepts(1));
  CHECK(out.take() == "0:" + kLong + "\n1:" + kLong);
}

TEST_CASE("a long line whose writer pauses is broken for the sake of the others", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, kLong);
  CHECK_FALSE(out.mux.next_tick());
  out.feed(1, "hello\n", t0 + 10ms);
  out.take();
  REQUIRE(out.mux.next_tick() == t0 + 10ms + LineMux::kPatience);
  out.tick(t0 + 1000ms);
  CHECK(out.take().empty());
  out.tick(t0 + 1010ms);
  CHECK(out.take() == "\n1:hello\n");
  out.feed(0, "rest\n", t0 + 2s);
  CHECK(out.take() == "0:rest\n");
}

TEST_CASE("a long line whose writer goes on is given more time", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, kLong);
  out.feed(1, "hello\n");
  for (auto now = t0; now < t0 + 9900ms; now += 50ms) {
    out.feed(0, ".", now);
    out.take();
    out.tick(now);
    REQUIRE(out.take().empty());
  }
  out.feed(0, ".", t0 + 10s - 1ms);
  out.take();
  out.tick(t0 + LineMux::kPatienceWithWriter);
  CHECK(out.take() == "\n1:hello\n");
}

TEST_CASE("time in which the terminal took nothing is held against nobody", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, kLong);
  out.feed(1, "hello\n");
  out.take();
  out.mux.resume(t0 + 1h);
  out.tick(t0 + 1h);
  CHECK(out.take().empty());
}

TEST_CASE("a rank that ends while it waits has its turn all the same", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, kLong);
  out.feed(1, "last words");
  out.close(1);
  out.take();
  out.close(0);
  CHECK(out.take() == "\n1:last words\n");
}

TEST_CASE("a prompt is shown after a short idle time", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, "Name? ");
  REQUIRE(out.mux.next_tick() == t0 + LineMux::kIdle);
  out.tick(t0 + LineMux::kIdle);
  CHECK(out.take() == "0:Name? ");
  CHECK_FALSE(out.mux.next_tick());
  out.feed(0, "Bob\n", t0 + 1h);
  CHECK(out.take() == "Bob\n");
}

TEST_CASE("a prompt that nobody answers keeps the others waiting for a moment only, and once",
          "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, "Name? ");
  out.tick(t0 + 100ms);
  out.feed(1, "hello\n", t0 + 5s);
  out.take();
  out.tick(*out.mux.next_tick());
  CHECK(out.take() == "\n1:hello\n");
  out.feed(0, "...", t0 + 7s);
  CHECK_FALSE(out.mux.next_tick());
  out.feed(1, "again\n", t0 + 8s);
  CHECK(out.take() == "1:again\n");
  out.feed(0, "\nAge? ", t0 + 9s);
  CHECK(out.take() == "0:...\n");
  CHECK(out.mux.next_tick() == t0 + 9s + LineMux::kIdle);  // another line, another chance
}

TEST_CASE("on a terminal an idle line is a preview that gives way to whole lines", "[line_mux]") {
  Muxed out(kTerminal, 2);
  out.feed(0, "loading ");
  CHECK(out.mux.preview().empty());
  out.tick(*out.mux.next_tick());
  CHECK(out.mux.preview() == "0:loading ");
  CHECK_FALSE(out.mux.next_tick());
  out.feed(1, "hello\n", t0 + 1s);
  CHECK(out.take() == "1:hello\n");
  out.feed(0, "done\n", t0 + 2s);
  CHECK(out.take() == "0:loading done\n");
  CHECK(out.mux.preview().empty());
}

TEST_CASE("a progress bar is seen at once, and of its states only the last is kept", "[line_mux]") {
  Muxed out(kTerminal, 2);
  for (const char* state : {"\r 10%|█", "\r 50%|█████", "\r100%|██████████"}) {
    out.feed(0, state);
    CHECK(out.mux.preview() == "0:" + std::string(state + 1));
  }
  CHECK(out.take().empty());
  out.feed(0, "\n");
  CHECK(out.take() == "0:100%|██████████\n");
}

TEST_CASE("a progress bar that runs for days needs no more memory than its last state",
          "[line_mux]") {
  Muxed out(kTerminal, 2);
  for (int i = 0; i < 10'000; ++i) out.feed(0, "\r step " + std::to_string(i));
  CHECK(out.take().empty());
  CHECK(out.mux.accepts(0));
  CHECK(out.mux.preview() == "0: step 9999");
}

TEST_CASE("the bars of two ranks do not flicker", "[line_mux]") {
  Muxed out(kTerminal, 2);
  for (int i = 0; i < 20; ++i) {
    out.feed(0, "\rzero", t0 + i * 100ms);
    out.feed(1, "\rone", t0 + i * 100ms + 50ms);
    CHECK(out.mux.preview() == "0:zero");
  }
  out.feed(1, "\rone", t0 + 10s);  // the other one has been still for long
  CHECK(out.mux.preview() == "1:one");
  CHECK_FALSE(out.mux.next_tick());
}

TEST_CASE("on a terminal nobody's escapes or colours reach the next line", "[line_mux]") {
  Muxed out(kTerminal, 2);
  out.feed(0, "\x1b[31mred\n\x1b]0;title\x07\n");
  CHECK(out.take() == "0:\x1b[31mred\x1b[0m\n0:^[]0;title^G\n");
}

TEST_CASE("on a terminal a carriage return cannot hide who speaks", "[line_mux]") {
  Muxed out(kTerminal, 2);
  out.feed(0, "abc\r1:I am rank 1\r\n");
  CHECK(out.take() == "0:1:I am rank 1\n");
}

namespace {

/// One rank's output: lines "R.SEQ xxx…\n" of 20 bytes to a few hundred kilobytes.
std::string numbered_lines(int rank, std::mt19937& random, int count) {
  std::uniform_int_distribution<int> shape(0, 99);
  std::string text;
  for (int seq = 0; seq < count; ++seq) {
    const int dice = shape(random);
    const std::size_t size = dice == 0 ? 300'000 : dice < 5 ? 9'000 : dice < 10 ? 0 : 100;
    text += std::to_string(rank) + "." + std::to_string(seq) + " " + std::string(size, 'x') + "\n";
  }
  return text;
}

/// Checks that every line of `got` is one that was written, in its rank's order, and none is
/// missing.
void check_lines(std::string_view got, const std::vector<std::string>& written) {
  std::vector<std::size_t> at(written.size());
  while (!got.empty()) {
    const std::size_t end = got.find('\n');
    REQUIRE(end != got.npos);
    const std::string_view line = got.substr(0, end + 1);
    const auto rank = static_cast<std::size_t>(line[0] - '0');
    REQUIRE(rank < written.size());
    REQUIRE(line == std::string_view(written[rank]).substr(at[rank], line.size()));
    at[rank] += line.size();
    got.remove_prefix(line.size());
  }
  for (std::size_t rank = 0; rank < written.size(); ++rank)
    REQUIRE(at[rank] == written[rank].size());
}

}  // namespace

TEST_CASE("of eight ranks' lines, split at random, none is lost, mixed, doubled or reordered",
          "[line_mux]") {
  for (const auto target : {kFile, kTerminal}) {
    std::mt19937 random(42);
    LineMux mux(target);
    std::vector<std::string> written;
    std::vector<std::vector<std::string_view>> pieces;
    for (int rank = 0; rank < 8; ++rank) {
      mux.add_source("");
      written.push_back(numbered_lines(rank, random, 1000));
    }
    for (unsigned rank = 0; rank < 8; ++rank)
      pieces.push_back(split_randomly(written[rank], rank, rank == 0 ? 7 : 65'536));

    std::string lines;
    std::vector<std::size_t> next(8);
    for (std::size_t left = 8; left > 0;) {
      const std::size_t rank = random() % 8;
      if (next[rank] > pieces[rank].size() || !mux.accepts(rank)) continue;
      if (next[rank] < pieces[rank].size()) {
        mux.feed(rank, pieces[rank][next[rank]++], t0, lines);
      } else {
        mux.close(rank, t0, lines);
        ++next[rank];
        --left;
      }
    }
    std::string plain;
    for (std::size_t at = 0; at < lines.size();) {  // a long line ends with "colours off"
      const std::size_t escape = std::min(lines.find("\x1b[0m", at), lines.size());
      plain.append(lines, at, escape - at);
      at = escape + 4;
    }
    check_lines(plain, written);
  }
}

TEST_CASE("a mux that holds nothing asks for no clock and shows nothing", "[line_mux]") {
  for (const auto target : {kFile, kTerminal}) {
    Muxed out(target, 2);
    CHECK_FALSE(out.mux.next_tick());
    out.feed(0, "whole\n");
    out.tick(t0 + 1h);
    CHECK(out.take() == "0:whole\n");
    CHECK_FALSE(out.mux.next_tick());
    CHECK(out.mux.preview().empty());
    CHECK(out.mux.accepts(0));
  }
}

TEST_CASE("the clock is that of the line which has been idle longest", "[line_mux]") {
  Muxed out(kFile, 3);
  out.feed(1, "b", t0 + 20ms);
  out.feed(0, "a", t0 + 50ms);
  CHECK(out.mux.next_tick() == t0 + 20ms + LineMux::kIdle);
  out.tick(t0 + 119ms);
  CHECK(out.take().empty());
  out.tick(t0 + 120ms);
  CHECK(out.take() == "1:b");
}

TEST_CASE("a rank that ends in the middle of its owned line ends that line", "[line_mux]") {
  Muxed out(kFile, 2);
  out.feed(0, kLong);
  out.feed(1, "next\n");
  out.take();
  out.close(0);
  CHECK(out.take() == "\n1:next\n");
}

TEST_CASE("a rank that ends without an open line writes nothing more", "[line_mux]") {
  Muxed out(kTerminal, 1);
  out.feed(0, "whole\n");
  out.take();
  out.close(0);
  CHECK(out.take().empty());
}

TEST_CASE("bytes that a terminal's filter holds are shown when their rank ends", "[line_mux]") {
  Muxed out(kTerminal, 1);
  out.feed(0, "a\x1b[3");
  out.close(0);
  CHECK(out.take() == "0:a^[[3\n");
}

TEST_CASE("a line that one byte makes too long is passed on with its prefix once", "[line_mux]") {
  Muxed out(kFile, 1);
  out.feed(0, kLong.substr(1));
  CHECK(out.take().empty());
  out.feed(0, "y");
  CHECK(out.take() == "0:" + kLong.substr(1) + "y");
  out.feed(0, "z\nnext\n");
  CHECK(out.take() == "z\n0:next\n");
}

TEST_CASE("on a terminal a line of carriage returns alone is empty", "[line_mux]") {
  Muxed out(kTerminal, 1);
  out.feed(0, "\r\r\n");
  out.feed(0, "a\rb\r\r\n");
  CHECK(out.take() == "0:\n0:b\n");
}
