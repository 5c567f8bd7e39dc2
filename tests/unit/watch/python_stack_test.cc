#include "safelaunch/watch/python_stack.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::watch;

TEST_CASE("the user's function is shown, with what of torch it called", "[python_stack]") {
  CHECK(summarize({{"MainThread",
                    {"/home/u/train.py:60 <module>", "/home/u/train.py:40 main",
                     "/v/lib/python3.11/site-packages/torch/distributed/c10d_logger.py:83 wrapper",
                     "/cache/_safelaunch_hook/torch_stages.py:60 init_process_group",
                     "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:1764 "
                     "init_process_group",
                     "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:2169 "
                     "_new_process_group_helper"}}}) == "train.py:40 main → init_process_group");
}

TEST_CASE("where a framework turns in its loop is told, but not to who counts places",
          "[python_stack]") {
  const std::string packages = "/v/lib/python3.11/site-packages/";
  const std::vector<PythonThread> threads{
      {"MainThread",
       {"/home/u/short.py:36 <module>", packages + "mmengine/runner/runner.py:1777 train",
        packages + "mmengine/runner/loops.py:372 run_iter",
        packages + "torch/distributed/distributed_c10d.py:2169 all_reduce"}}};
  CHECK(summarize(threads, Detail::with_package) ==
        "short.py:36 <module> → train → loops.py:372 run_iter");
  CHECK(summarize(threads) == "short.py:36 <module> → train");
}

TEST_CASE("code that is made at run time is no place of the user's", "[python_stack][bug]") {
  const std::string library = "/v/lib/python3.11/site-packages/";
  CHECK(summarize({{"MainThread",
                    {"/home/u/my.py:11 main", library + "transformers/hf_argparser.py:90 parse",
                     "<string>:157 __init__",
                     library + "transformers/training_args.py:1 __post_init__"}}}) ==
        "my.py:11 main → parse");
  CHECK(summarize({{"MainThread",
                    {"/home/u/my.py:12 main", library + "deepspeed/__init__.py:181 initialize",
                     "/usr/lib/python3.11/dataclasses.py:433 _create_fn",
                     "<string>:0 <module>"}}}) == "my.py:12 main → initialize");
  CHECK(summarize({{"MainThread", {"<string>:1 <module>"}}}) == "<string>:1 <module>");
}

TEST_CASE("a rank that sleeps in C shows where the user called", "[python_stack]") {
  CHECK(summarize({{"MainThread",
                    {"/home/u/train.py:60 <module>", "/home/u/train.py:40 never_reaches_init"}}}) ==
        "train.py:40 never_reaches_init");
}

TEST_CASE("a rank that waits for a lock file far below its own code shows which",
          "[python_stack]") {
  CHECK(summarize({{"MainThread",
                    {"/home/a/train.py:12 prepare",
                     "/v/lib/python3.11/site-packages/deepspeed/ops/adam/cpu_adam.py:99 __init__",
                     "/v/lib/python3.11/site-packages/torch/utils/file_baton.py:49 "
                     "wait(lock=/d/a.lock)"}}}) == "train.py:12 prepare → wait(lock=/d/a.lock)");
}

TEST_CASE("a rank that waits for a lock file shows which", "[python_stack]") {
  CHECK(summarize({{"MainThread",
                    {"/home/u/train.py:12 prepare",
                     "/v/lib/python3.11/site-packages/filelock/_api.py:376 __enter__",
                     "/v/lib/python3.11/site-packages/filelock/_api.py:329 acquire(lock=/d/a.lock)",
                     "/v/lib/python3.11/site-packages/filelock/_api.py:400 _poll"}}}) ==
        "train.py:12 prepare → acquire(lock=/d/a.lock)");
}

TEST_CASE("a path with blanks and colons is taken apart at its end", "[python_stack]") {
  CHECK(summarize({{"MainThread", {"/mnt/my data: new/a b.py:7 <lambda>"}}}) ==
        "a b.py:7 <lambda>");
}

TEST_CASE("the name of a file or function cannot forge a line on the terminal", "[python_stack]") {
  const std::vector<PythonThread> threads{
      {"main\n", {"/a\nsafelaunch: fake\x1b[31m.py:3 f\ng", "/lib/python3.11/x.py:1 h\x1b[0m"}}};
  for (const std::string& text : {summarize(threads), all_frames(threads)}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\nsafelaunch") == std::string::npos);
  }
}

TEST_CASE("where the main thread is in libraries alone another thread is asked", "[python_stack]") {
  CHECK(summarize(
            {{"MainThread", {"/usr/lib/python3.11/threading.py:1112 join"}},
             {"worker", {"/usr/lib/python3.11/threading.py:995 run", "/home/u/w.py:3 loop"}}}) ==
        "w.py:3 loop");
}

TEST_CASE("without any code of the user the innermost frame is shown", "[python_stack]") {
  CHECK(summarize({{"MainThread", {"/usr/lib/python3.11/selectors.py:468 select"}}}) ==
        "selectors.py:468 select");
  CHECK(summarize({}).empty());
  CHECK(summarize({{"MainThread", {}}}).empty());
}

TEST_CASE("frames that are no frames do no harm", "[python_stack]") {
  for (const char* frame : {"", " ", ":", ": ", "x", "a:b", " f", "::::", "a.py:3 "}) {
    INFO(frame);
    CHECK_NOTHROW(summarize({{"MainThread", {frame, frame}}}));
  }
}
