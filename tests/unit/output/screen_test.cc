#include "launcher/output/screen.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::output;

namespace {

constexpr const char* kErase = "\r\x1b[K";

/// A Screen together with all that it has had written.
struct Session {
  explicit Session(Screen::Kind kind) : screen(kind) {}
  void job(std::string_view bytes) { screen.job(bytes, written); }
  void message(std::string_view text) { screen.message(text, written); }
  void status(std::string_view line) {
    screen.set_status(line);
    screen.refresh(written);
  }
  void preview(std::string_view line) {
    screen.set_preview(line);
    screen.refresh(written);
  }
  std::string take() { return std::exchange(written, {}); }

  Screen screen;
  std::string written;
};

}  // namespace

TEST_CASE("without anything of ours the job's bytes pass unchanged", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  CHECK(terminal.screen.is_plain());
  terminal.job("\x1b[2J\0x");
  terminal.job("half");
  CHECK(terminal.take() == "\x1b[2Jhalf");
}

TEST_CASE("the status line gives way to the job's lines and comes back after them", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("group 3/4");
  CHECK(terminal.take() == "group 3/4");
  terminal.job("loss 1\n");
  CHECK(terminal.take() == std::string(kErase) + "loss 1\ngroup 3/4");
  terminal.status("group 4/4");
  CHECK(terminal.take() == std::string(kErase) + "group 4/4");
  terminal.status("");
  CHECK(terminal.take() == kErase);
  CHECK(terminal.screen.is_plain());
}

TEST_CASE("the status line is never drawn while the job is in the middle of a line", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("waiting");
  terminal.take();
  terminal.job("Password: ");
  CHECK(terminal.take() == std::string(kErase) + "Password: ");
  terminal.status("still waiting");
  CHECK(terminal.take().empty());
  terminal.job("\n");
  CHECK(terminal.take() == "\nstill waiting");
}

TEST_CASE("a status line that says the same again costs nothing", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("waiting");
  terminal.take();
  terminal.status("waiting");
  CHECK(terminal.take().empty());
}

TEST_CASE("a status line is cut so that it cannot wrap", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.screen.set_columns(10);
  terminal.status("0123456789abc");
  CHECK(terminal.take() == "012345678");
}

TEST_CASE("the preview of a job's line stands where the status line stood", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("waiting");
  terminal.preview("[rank 0]  10%");
  CHECK(terminal.take() == "waiting" + std::string(kErase) + "[rank 0]  10%");
  terminal.job("[rank 1] hello\n");
  CHECK(terminal.take() == std::string(kErase) + "[rank 1] hello\n[rank 0]  10%");
  terminal.preview("");
  CHECK(terminal.take() == std::string(kErase) + "waiting");
}

TEST_CASE("a message stands on lines of its own", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("waiting");
  terminal.take();
  terminal.message("rank 3 is stopped");
  CHECK(terminal.take() == std::string(kErase) + "rank 3 is stopped\nwaiting");
}

TEST_CASE("a message waits for the end of the job's line", "[screen]") {
  Session file(Screen::Kind::file);
  file.job("epoch 1: ");
  file.message("rank 3 is stopped");
  file.message("giving up");
  CHECK(file.screen.message_waits());
  CHECK(file.take() == "epoch 1: ");
  file.job("done\n");
  CHECK(file.take() == "done\nrank 3 is stopped\ngiving up\n");
  CHECK_FALSE(file.screen.message_waits());
}

TEST_CASE("a line that stays unfinished is ended for the messages that wait", "[screen]") {
  Session file(Screen::Kind::file);
  file.job("Continue? ");
  file.message("rank 3 is stopped");
  file.take();
  file.screen.break_line(file.written);
  CHECK(file.take() == "\nrank 3 is stopped\n");
}

TEST_CASE("in a file there is no status line and no preview", "[screen]") {
  Session file(Screen::Kind::file);
  file.status("waiting");
  file.preview(" 10%");
  file.job("loss 1\n");
  CHECK(file.take() == "loss 1\n");
  CHECK(file.screen.is_plain());
}

TEST_CASE("a message that quotes the job cannot smuggle an escape onto the terminal", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.message("last line: \x1b]0;pwned\x07");
  CHECK(terminal.take() == "last line: ^[]0;pwned^G\n");
}

TEST_CASE("messages that wait come in their order, each on its line", "[screen]") {
  for (const Screen::Kind kind : {Screen::Kind::terminal, Screen::Kind::file}) {
    Session out(kind);
    out.job("epoch");
    out.message("one");
    out.message("two\nlines");
    CHECK(out.screen.message_waits());
    CHECK(out.take() == "epoch");
    out.job(" 1\nepo");
    CHECK(out.take() == " 1\nepo");
    out.job("ch 2\n");
    CHECK(out.take() == "ch 2\none\ntwo\nlines\n");
    CHECK_FALSE(out.screen.message_waits());
    CHECK(out.screen.is_plain());
  }
}

TEST_CASE("no bytes of the job change nothing", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.job("half");
  terminal.screen.note_job("");
  terminal.job("");
  terminal.message("waits");
  CHECK(terminal.take() == "half");
}

TEST_CASE("a whole line is not broken for anybody", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.job("whole\n");
  terminal.screen.break_line(terminal.written);
  CHECK(terminal.take() == "whole\n");
}

TEST_CASE("a preview that ends leaves its place to the status line again", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("waiting");
  terminal.preview("50%");
  terminal.take();
  terminal.preview("");
  CHECK(terminal.take() == std::string(kErase) + "waiting");
}

TEST_CASE("another width shows the status line anew, cut to it", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("waiting for rank 3");
  terminal.take();
  terminal.screen.set_columns(8);
  terminal.screen.refresh(terminal.written);
  CHECK(terminal.take() == std::string(kErase) + "wait… 3");
}

TEST_CASE("a message under a status line pushes it down", "[screen]") {
  Session terminal(Screen::Kind::terminal);
  terminal.status("waiting");
  terminal.take();
  terminal.message("news");
  CHECK(terminal.take() == std::string(kErase) + "news\nwaiting");
}
