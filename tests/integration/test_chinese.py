"""What safelaunch says where the locale is Chinese: a hang, its report and page, explain and doctor; JSON stays English."""

import json
import re
import subprocess
import sys

from harness import SAFELAUNCH, SafelaunchTest, free_port, main, torchrun

HANGS = '''
import os
import time

import torch.distributed as dist


def never_reaches_init():
    while True:
        time.sleep(3600)


if os.environ["RANK"] == "1":
    never_reaches_init()
dist.init_process_group("gloo")
'''
CHINESE = re.compile("[\u4e00-\u9fff]")
# glibc has this locale on hardly any server; what counts is its name.
ABSENT = "zh_CN.UTF-8"


class Speaks(SafelaunchTest):
    def say(self, *words, **variables):
        return subprocess.run([SAFELAUNCH, *words], env=self.environment(**variables), cwd=self.folder, capture_output=True,
                              timeout=120, stdin=subprocess.DEVNULL)

    def told(self, *words, **variables):
        answer = self.say(*words, **variables)
        self.assertEqual(answer.returncode, 0, answer.stderr.decode())
        return answer.stdout.decode()


class Explains(Speaks):
    def test_a_cause_is_explained_in_the_language_of_the_locale(self):
        self.assertIn("显存不足", self.told("explain", "gpu-oom", LANG=ABSENT))
        self.assertIn("显存不足", self.told("explain", "gpu-oom", LANG="en_US.UTF-8", LC_ALL="zh_TW.UTF-8"))
        english = self.told("explain", "gpu-oom", LANG="C")
        self.assertIn("a GPU has no memory left", english)
        self.assertIsNone(CHINESE.search(english))
        self.assertEqual(self.told("explain", "gpu-oom"), english)

    def test_a_variable_of_our_own_decides_before_the_locale(self):
        self.assertIsNone(CHINESE.search(self.told("explain", "gpu-oom", LANG=ABSENT, SAFELAUNCH_LANG="en")))
        self.assertIn("显存不足", self.told("explain", "gpu-oom", LANG="C", SAFELAUNCH_LANG="zh"))

    def test_chinese_words_find_a_cause_in_any_locale(self):
        for words, cause in {"主节点少一个进程": "rank-missing", "卡住": "collective-stuck", "端口被占用": "port-taken",
                             "显存不足": "gpu-oom", "共享内存不够": "shm-small"}.items():
            for locale in ("C", ABSENT):
                self.assertTrue(self.told("explain", words, LANG=locale).startswith(f"{cause} "), words)

    def test_words_that_name_nothing_are_answered_in_chinese(self):
        answer = self.say("explain", "今天天气", LANG=ABSENT)
        self.assertEqual((answer.returncode, answer.stdout.decode()), (1, "这些文字里没有发现已知的原因。\n"))

    def test_a_log_is_explained_in_chinese_with_its_own_lines_as_they_are(self):
        log = self.folder / "train.log"
        log.write_text("[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
        text = self.told("explain", str(log), LANG=ABSENT)
        self.assertIn("显存不足（GPU OOM） (gpu-oom", text)
        self.assertIn("CUDA out of memory. Tried to allocate 2.00 GiB", text)


class Refuses(Speaks):
    def test_what_users_get_wrong_first_is_told_in_chinese_with_the_right_word(self):
        (self.folder / "bad.yaml").write_text("name: bad\nenv:\n  A: 1\nchan: b\n")
        (self.folder / "open.yaml").write_text("a: [1\n")
        (self.folder / "two.yaml").write_text("name: two\ntimeouts: {start: 5x}\nheals: [port-takn]\nextends: [a]\n")
        for words, status, answer in [
                (["--init-timeot", "5s", "true"], 64, "没有 --init-timeot 这个选项；是不是想写 '--init-timeout'？（全部选项见 safelaunch --help）"),
                (["report", "--htm", "x"], 64, "report 没有 '--htm' 这个选项；是不是想写 '--html'？（全部选项见 safelaunch report --help）"),
                (["--init-timeout", "5x", "true"], 64, "--init-timeout：'5x' 不是时长"),
                (["repot"], 127, "找不到命令 'repot'（在 PATH 里找过）；是不是想用子命令 'report'？"),
                (["--profile", "basik", "true"], 78, "--profile：没有名为 'basik' 的 profile；是不是想写 'basic'？"),
                (["profiles", "check", "bad.yaml"], 78, "bad.yaml:4:1：profile 里没有 'chan' 这个键"),
                (["profiles", "check", "two.yaml"], 78, "two.yaml:2:19: start：'5x' 不是时长"),
                (["profiles", "check", "two.yaml"], 78, "two.yaml:4:10：extends 要写一个 profile 的名字"),
                (["--rendezvous", "tcp://h", "--nnodes", "2", "--node-rank", "1", "--nproc-per-node", "1", "--master-addr", "h", "true"], 64,
                 "--rendezvous 'tcp://h'：缺少端口；是不是想写 'tcp://h:29400'？"),
                (["--config", "open.yaml", "true"], 78, "open.yaml:2:1：YAML 语法错误，方括号没有闭合"),
                (["--config", "none.yaml", "true"], 78, "none.yaml：没有这个文件"),
                (["watch"], 64, "没有子命令 'watch'；查看正在运行的作业用 safelaunch status --watch\n如果确实要运行 "),
                (["runs", "--old"], 64, "runs 没有 '--old' 这个选项"),
                (["--nnodes", "2", "--node-rank", "0", "true"], 64, "多机需要 --master-addr"),
                (["report", "nosuch"], 64, "没有 id 含 'nosuch' 的运行"),
                (["clean", "--pid", "1", "--dry-run"], 64, "不结束 pid 1：它是 PID 1"),
                (["clean", "--policy", "ours", "--pid", "3"], 64, "--policy 和 --pid 不能同时使用"),
                (["test", "--backend", "glo"], 64, "没有 'glo' 这个后端"),
                (["stop"], 64, "stop 要指定一次运行，而你现在没有作业在跑"),
                (["--set", "FOO", "true"], 64, "--set FOO：要写成 NAME=VALUE"),
                (["config", "check", "none.yaml"], 78, "none.yaml：没有这个文件")]:
            run = self.say(*words, LANG=ABSENT)
            self.assertIn(answer, run.stderr.decode())
            self.assertEqual(run.returncode, status, words)
            self.assertIsNone(CHINESE.search(self.say(*words, LANG="C").stderr.decode()))

    def test_help_is_chinese(self):
        self.assertIn("子命令：\n  stacks      [RUN|PID]：正在运行的作业里，每个 rank 此刻停在哪里\n", self.told("help", LANG=ABSENT))

    def test_the_help_of_every_verb_is_chinese_but_for_its_usage_and_its_examples(self):
        for verb in ("clean", "stacks", "status", "stop", "logs", "report", "doctor", "test", "probe", "init", "explain", "profiles", "config",
                     "runs"):
            with self.subTest(verb=verb):
                paragraphs = self.told("help", verb, LANG=ABSENT).split("\n\n")
                english = [line for line in "\n".join(paragraphs[1:3]).splitlines() if line.isascii() and re.search("[a-z]{2} [a-z]+ [a-z]{2}", line)]
                self.assertEqual(english, [])


class Settings(Speaks):
    def test_a_variable_the_list_of_profiles_and_the_file_that_init_writes_are_chinese(self):
        self.assertIn("作用：GPU 之间不直接拷贝", self.told("explain", "NCCL_P2P_DISABLE", LANG=ABSENT))
        self.assertIn("safelaunch 不认识这个变量；是不是想写 'NCCL_DEBUG'？", self.say("explain", "NCCL_DEBUGG", LANG=ABSENT).stdout.decode())
        self.assertRegex(self.told("profiles", "list", LANG=ABSENT), r"no-shm +中 +NCCL 不用共享内存")
        self.told("init", "--yes", LANG=ABSENT)
        written = (self.folder / "safelaunch.yaml").read_text()
        comments = [line for line in written.splitlines() if line.lstrip().startswith("# ")]
        self.assertEqual([line for line in comments if not CHINESE.search(line)], [])
        self.told("config", "check", LANG=ABSENT)

    def test_a_dry_run_tells_in_chinese_where_a_variable_comes_from(self):
        plan = self.told("--dry-run", "-v", "--nproc-per-node", "2", "--", "python3", "train.py", LANG=ABSENT)
        origins = re.findall(r"^    [A-Z_]+=.*  \((.*)\)$", plan, re.M)
        self.assertEqual([origin for origin in origins if not CHINESE.search(origin) and not origin.startswith(("profile ", "--"))], [])


class Doctor(Speaks):
    def test_findings_are_chinese_on_the_screen_and_english_as_json(self):
        taken = {"LANG": ABSENT, "RANK": "0"}
        text = self.say("doctor", **taken).stdout.decode()
        self.assertIn("设了 RANK=0，却没有设 WORLD_SIZE", text)
        self.assertIn("网卡", text)
        found = json.loads(self.say("doctor", "--json", **taken).stdout)
        self.assertIsNone(CHINESE.search(json.dumps(found, ensure_ascii=False)))


class Hang(Speaks):
    def test_a_hang_is_told_in_chinese_and_recorded_in_english(self):
        words = ["--init-timeout", "4s", *torchrun("--nproc-per-node", "2", "--master-port", str(free_port()), self.script(HANGS))]
        run = self.run_safelaunch(*words, env=self.environment(LANG=ABSENT))
        self.assert_status(run, 124)
        for part in ("卡住: rank 1 一直没有加入进程组", "  --> job.py:", " in never_reaches_init:  ", "rank 0 等它加入进程组，已等 ", "它当时的状态：空等",
                     "原因：rank-missing（已确认）", "解决办法: 看看那个 rank 停在那里做什么", "退出码 124: 剩下的 profile 都不会带来任何改变",
                     f"网页：{run.directory}/report.html"):
            self.assertIn(part, run.err)
        for file in ("outcome.json", "events.jsonl", "job.json"):
            self.assertIsNone(CHINESE.search((run.directory / file).read_text()), file)
        page = (run.directory / "report.html").read_text()
        for part in ('<html lang="zh-CN">', "<h1>卡住</h1>", "少了一个 rank（有进程没到）", "各 rank 停在哪里</h3>", "第 1 次尝试",
                     "未到</span>", "各阶段的到达时间", "<th>事件</th>"):
            self.assertTrue(part in page, part)
        self.assert_report(run)

    def assert_report(self, run):
        chinese = self.told("report", str(run.directory), LANG=ABSENT)
        self.assertIn("卡住: rank 1 一直没有加入进程组", chinese)
        self.assertIn("判定：卡在 group：", chinese)
        english = self.told("report", str(run.directory), LANG="C")
        self.assertIn("hung: rank 1 never joined the process group", english)
        self.assertIsNone(CHINESE.search(english))
        self.assertEqual(self.told("report", str(run.directory), "--json", LANG=ABSENT),
                         self.told("report", str(run.directory), "--json", LANG="C"))

    def test_a_healthy_job_says_nothing_and_keeps_its_bytes(self):
        run = self.run_safelaunch(sys.executable, "-c", "import sys; sys.stdout.buffer.write(b'\\xe5\\x8d a rank is missing\\n')",
                                  env=self.environment(LANG=ABSENT), stdout=subprocess.PIPE)
        self.assert_status(run, 0)
        self.assertEqual(run.err, "")
        self.assertIn("a rank is missing", run.out)


if __name__ == "__main__":
    main()
