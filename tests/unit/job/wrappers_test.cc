#include "launcher/job/wrappers.h"

#include "catch.h"
#include "commands.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

namespace {

// The words from the real command on, behind "python: " where the wrapper brings its own Python, or
// "module: " where the first word is a module.
std::string unwrapped(const std::string& text) {
  const std::vector<std::string> argv = words(text);
  Variables variables{Environment{}};
  const Unwrapped result = unwrap(argv, variables);
  std::vector<std::string> rest(argv.begin() + static_cast<std::ptrdiff_t>(result.program),
                                argv.end());
  const char* mark = result.runs_module ? "module: " : result.other_python ? "python: " : "";
  return mark + line(rest);
}

// The interpreter that a script of this text names; "" for none.
std::string interpreter(const std::string& text) {
  const FileReader read = [&](const std::string&) { return FileAt{true, text}; };
  return interpreter_of("/bin/script", Variables{Environment{}}, read).value_or("");
}

std::string after_words(const Environment& outer, const std::string& text, const char* name) {
  const std::vector<std::string> argv = words(text);
  Variables variables{outer};
  (void)unwrap(argv, variables);
  const auto found = variables.find(name);
  return found ? found->value : "(not set)";
}

}  // namespace

TEST_CASE("a wrapper's options are stepped over in each spelling", "[wrappers]") {
  for (const char* wrapper :
       {"nice -n 5",
        "nice -n5",
        "nice --adjustment 5",
        "nice --adjustment=5",
        "nice -5",
        "ionice -c 2",
        "ionice -c2 -n 7",
        "ionice --class best-effort --classdata=7",
        "ionice -t",
        "numactl -N 0 -m 0",
        "numactl -N0,1 -l",
        "numactl --cpunodebind 0 --membind 0",
        "numactl --cpunodebind=0 --membind=0",
        "numactl -C 0-7",
        "numactl --physcpubind=0-7",
        "numactl -i all",
        "numactl --interleave=all -a",
        "numactl -p 1",
        "numactl --preferred 1",
        "numactl --preferred-many 0,1",
        "numactl --weighted-interleave=0",
        "numactl -c 0",
        "nohup",
        "timeout 5",
        "timeout -s INT 5",
        "timeout --signal INT --kill-after=3 1h",
        "timeout -k 3 --foreground --preserve-status -v 5",
        "stdbuf -oL",
        "stdbuf -o L -e0 -i 0",
        "stdbuf --output=L --error 0 --input=0",
        "setsid -c -w",
        "setsid --wait",
        "taskset -c 0-3",
        "taskset --cpu-list 0-3",
        "taskset -ac 0-3",
        "taskset 0xff",
        "chrt -f 10",
        "chrt --fifo 10",
        "chrt -d -T 1 -P 2 -D 3 0",
        "chrt --deadline --sched-runtime=1 --sched-period 2 --sched-deadline 3 0",
        "/usr/bin/time -v",
        "time -f %e -o log",
        "time --format=%e --output log --append",
        "tini --",
        "tini -s -g -p TERM -e 143 --",
        "/sbin/tini",
        "dumb-init",
        "dumb-init -c -v",
        "dumb-init --rewrite 15:0 --",
        "dumb-init -r 15:0",
        "env",
        "env -i",
        "env -",
        "env A=1",
        "env -u A -C /tmp B=2",
        "env --unset=A --chdir=/tmp",
        "env --unset A --chdir /tmp",
        "env -v --ignore-environment A=",
        "env -a name",
        "env --argv0=name A=1",
        "env -- A=1"}) {
    INFO(wrapper);
    CHECK(unwrapped(std::string(wrapper) + " torchrun -n t.py") == "torchrun -n t.py");
  }
}

TEST_CASE("a package manager's options are stepped over, and it brings its own Python",
          "[wrappers]") {
  for (const char* wrapper : {"uv run",
                              "uv run --",
                              "uv -q run",
                              "uv --project /p run",
                              "uv --directory=/p run",
                              "uv run --python 3.12",
                              "uv run -p 3.12 --frozen",
                              "uv run --with a --with-editable .",
                              "uv run --with-requirements r.txt -w b",
                              "uv run --extra cuda --group dev --no-dev",
                              "uv run --only-group g --no-group h --no-extra e",
                              "uv run --env-file .env",
                              "uv run --package p --all-packages",
                              "uv run --index https://x --default-index=https://y",
                              "uv run --cache-dir /c --link-mode copy",
                              "uv run --config-setting a=b",
                              "uv run --config-settings a=b",
                              "uv run -C a=b",
                              "uv run --config-settings-package p:a=b",
                              "uv run --python-preference only-system",
                              "uv run --exclude-newer-package p=2026-01-01",
                              "uv run --refresh",
                              "uv run --refresh-package p",
                              "uv run --reinstall",
                              "uv run --reinstall-package p",
                              "uv run --upgrade",
                              "uv run -U -P p",
                              "uv run --upgrade-package p --upgrade-group g",
                              "uv run --no-build",
                              "uv run --no-build-package p",
                              "uv run --no-build-isolation",
                              "uv run --no-build-isolation-package p",
                              "uv run --no-binary",
                              "uv run --no-binary-package p",
                              "uv run --no-sync --isolated --active --offline",
                              "uv run --no-index -f links",
                              "uv run --no-sources --no-sources-package p",
                              "uv run --preview-features x",
                              "poetry run",
                              "poetry -C dir run",
                              "poetry -P p -q run",
                              "pixi run",
                              "pixi run -e cuda",
                              "pixi run --environment=cuda --frozen",
                              "pixi run -m pixi.toml",
                              "pixi run --manifest-path pixi.toml",
                              "pixi run -w name",
                              "pixi run -p linux-64 -x",
                              "pixi run --concurrent-downloads 4 --color never",
                              "pixi run --auth-file a --tls-root-certs native --no-install",
                              "pipenv run",
                              "rye run",
                              "pdm run",
                              "pdm run -p dir",
                              "pdm -c conf run -s",
                              "hatch run",
                              "hatch -e cuda run",
                              "conda run",
                              "conda run -n env",
                              "conda run -p /env --no-capture-output",
                              "conda run --name=env --live-stream --cwd /w",
                              "conda run -v --prefix /env",
                              "mamba run -n env",
                              "micromamba run -n env -a stdout",
                              "micromamba run -r /root -e A=1",
                              "micromamba run --attach  --clean-env --label l"}) {
    INFO(wrapper);
    CHECK(unwrapped(std::string(wrapper) + " torchrun -n t.py") == "python: torchrun -n t.py");
  }
}

TEST_CASE("uv runs a module by itself, which is no file", "[wrappers]") {
  CHECK(unwrapped("uv run -m torch.distributed.run t.py") == "module: torch.distributed.run t.py");
  CHECK(unwrapped("uv run --module pkg -m x") == "module: pkg -m x");
  CHECK(unwrapped("uv run --with rich -m pkg") == "module: pkg");
  CHECK(unwrapped("uv run -m") == "module: ");
  // The module's name is no wrapper, even where it is called like one.
  CHECK(unwrapped("uv run -m timeout 5 x") == "module: timeout 5 x");
}

TEST_CASE("a package manager that runs nothing is the program itself", "[wrappers]") {
  for (const char* text : {"uv sync", "uv", "uv pip install torch", "poetry install", "conda list",
                           "pixi shell", "uv --directory /p sync", "conda -n run"})
    CHECK(unwrapped(text) == text);
}

TEST_CASE("wrappers may stand behind each other, and a name with a path is the same",
          "[wrappers]") {
  CHECK(unwrapped("nohup nice -n 5 numactl -N 0 env A=1 timeout 5 t") == "t");
  CHECK(unwrapped("/usr/bin/env /usr/bin/nice /opt/uv run /usr/bin/timeout 5 t") == "python: t");
  CHECK(unwrapped("nicer t") == "nicer t");
  CHECK(unwrapped("nice nice nice") == "");
}

TEST_CASE("a wrapper that is cut off leaves no program", "[wrappers]") {
  for (const char* text : {"", "env", "env A=1 B=2", "nohup", "timeout", "timeout 5", "nice -n",
                           "taskset", "uv run", "env -u", "tini --", "chrt -f"})
    CHECK(unwrapped(text).empty() == (std::string(text) != "uv run"));
  CHECK(unwrapped("uv run") == "python: ");
}

TEST_CASE("env that splits a string is left alone", "[wrappers]") {
  for (const char* text :
       {"env -S torchrun", "env --split-string=torchrun", "env -vS torchrun", "env -i -S torchrun"})
    CHECK(unwrapped(text) == text);
}

TEST_CASE("env changes the variables as it would for the program", "[wrappers]") {
  const Environment outer{{"A", "outer"}, {"B", "outer"}};
  struct Row {
    const char* words;
    const char* a;
    const char* b;
  };
  const Row rows[] = {
      {"env t", "outer", "outer"},
      {"env A=1 t", "1", "outer"},
      {"env A= t", "", "outer"},
      {"env A=1=2 t", "1=2", "outer"},
      {"env A=1 A=2 t", "2", "outer"},
      {"env -u A t", "(not set)", "outer"},
      {"env --unset=A -u B t", "(not set)", "(not set)"},
      {"env -u A A=1 t", "1", "outer"},
      {"env -i t", "(not set)", "(not set)"},
      {"env - B=1 t", "(not set)", "1"},
      {"env -i A=1 t", "1", "(not set)"},
      {"env A=1 env -u A t", "(not set)", "outer"},
      {"env A=1 nice env A=2 t", "2", "outer"},
      {"t A=1", "outer", "outer"},
      {"env t A=1", "outer", "outer"},
      {"env -S x A=1", "outer", "outer"},
  };
  for (const Row& row : rows) {
    INFO(row.words);
    CHECK(after_words(outer, row.words, "A") == row.a);
    CHECK(after_words(outer, row.words, "B") == row.b);
  }
}

TEST_CASE("a variable knows where its value stands, and whether it is a number", "[wrappers]") {
  Variables variables{Environment{{"PORT", "29500"}, {"X", "8x"}}};
  CHECK(variables.find("PORT")->place == PortPlace{InVariable{"PORT", "29500", 0, 5}});
  CHECK(variables.number("PORT") == 29500);
  CHECK_FALSE(variables.number("X"));
  CHECK_FALSE(variables.number("NONE"));

  variables.assign(3, "PORT=5");
  CHECK(variables.find("PORT")->place == PortPlace{InWord{3, 5, 1}});
  variables.unset("PORT");
  variables.unset("PORT");
  CHECK_FALSE(variables.find("PORT"));
}

TEST_CASE("an interpreter's name may have a version", "[wrappers]") {
  for (const char* word : {"python", "python3", "python3.11", "/opt/env/bin/python", "pypy3",
                           "pypy", "python3.13t", "python3.14d", "./python"})
    CHECK(is_python(word));
  for (const char* word : {"", "pythonista", "ipython", "python-config", "python3-config",
                           "pythont", "/python/run", "torchrun", "python3.11 "})
    CHECK_FALSE(is_python(word));
}

TEST_CASE("a script's first lines name its Python", "[wrappers]") {
  struct Row {
    const char* text;
    const char* python;
  };
  const Row rows[] = {
      {"#!/env/bin/python3\nimport sys\n", "/env/bin/python3"},
      {"#!/env/bin/python3", "/env/bin/python3"},
      {"#! /env/bin/python3 -E\n", "/env/bin/python3"},
      {"#!/env/bin/python3\r\n", "/env/bin/python3"},
      {"#!\"/my env/bin/python3\"\n", ""},
      {"#!\"/env/bin/python3\"\n", "/env/bin/python3"},
      {"#!/usr/bin/env python3\n", "python3"},
      {"#!/usr/bin/env -S python3 -E\n", "python3"},
      {"#!/usr/bin/env\tpython3.12\n", "python3.12"},
      {"#!/usr/bin/env -S -i bash\n", ""},
      {"#!/usr/bin/env\n", ""},
      {"#!/bin/sh\n'''exec' /long/bin/python3 \"$0\" \"$@\"\n' '''\n", "/long/bin/python3"},
      {"#!/bin/sh\n\"exec\" \"/long/bin/python3\" \"$0\"\n", "/long/bin/python3"},
      {"#!/bin/sh\nexec /bin/cat\n", ""},
      {"#!/bin/sh\necho /long/bin/python3\n", ""},
      {"#!/bin/sh", ""},
      {"#!/bin/sh\n", ""},
      {"#!/bin/bash\nexec python3\n", ""},
      {"#!\n", ""},
      {"#!", ""},
      {"", ""},
      {" #!/env/bin/python3\n", ""},
      {"import sys\n", ""},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(interpreter(row.text) == row.python);
  }
}

TEST_CASE("a name without a slash is looked up in PATH, and an empty folder is this one",
          "[wrappers]") {
  const FileReader read = [](const std::string& path) -> FileAt {
    if (path == "./here" || path == "/b/there")
      return {true, "#!/" + path.substr(path.size() - 4, 1) + "/python\n"};
    return {};
  };
  const auto found = [&](const char* program, const Environment& environment) {
    return interpreter_of(program, Variables{environment}, read).value_or("");
  };
  CHECK(found("there", {{"PATH", "/a:/b:/c"}}) == "/h/python");
  CHECK(found("here", {{"PATH", "/a::/b"}}) == "/h/python");
  CHECK(found("here", {{"PATH", "/a:/b"}}).empty());
  CHECK(found("there", {{"PATH", ""}}).empty());
  CHECK(found("there", {}).empty());
  CHECK(found("/b/there", {{"PATH", "/a"}}) == "/h/python");
  CHECK(found("/none", {{"PATH", "/a"}}).empty());
}

TEST_CASE("the directory into which a wrapper goes is known", "[wrappers]") {
  const auto directory = [](const std::string& text) {
    const std::vector<std::string> argv = words(text);
    Variables variables{Environment{}};
    return unwrap(argv, variables).directory;
  };
  CHECK(directory("env -C sub torchrun t.py") == "sub");
  CHECK(directory("env --chdir=sub torchrun t.py") == "sub");
  CHECK(directory("uv --directory sub run torchrun t.py") == "sub");
  CHECK(directory("uv run --directory=sub torchrun t.py") == "sub");
  CHECK(directory("poetry -C sub run torchrun t.py") == "sub");
  CHECK(directory("conda run --cwd sub -n e torchrun t.py") == "sub");
  CHECK(directory("env -C a nice env -C b torchrun t.py") == "a/b");
  CHECK(directory("env -C a env -C /b torchrun t.py") == "/b");
  CHECK(directory("uv run --project sub torchrun t.py").empty());
  CHECK(directory("torchrun -C sub t.py").empty());
}

TEST_CASE("a launcher's file is read below the directory into which a wrapper goes", "[wrappers]") {
  const Files files = {{"sub/c.yaml", "num_processes: 16\nnum_machines: 2\n"},
                       {"c.yaml", "num_processes: 2\nnum_machines: 1\n"},
                       {"/c.yaml", "num_processes: 6\nnum_machines: 3\n"},
                       {"sub/hosts", "a slots=2\nb slots=2\n"}};
  const auto nodes = [&](const std::string& text) { return command(text, {}, files).nodes; };
  CHECK(nodes("env -C sub accelerate launch --config_file c.yaml t.py") == NodeRange{2, 2});
  CHECK(nodes("env -C sub accelerate launch --config_file /c.yaml t.py") == NodeRange{3, 3});
  CHECK(nodes("accelerate launch --config_file c.yaml t.py") == NodeRange{1, 1});
  CHECK(nodes("conda run --cwd sub deepspeed -H hosts t.py") == NodeRange{2, 2});
}
