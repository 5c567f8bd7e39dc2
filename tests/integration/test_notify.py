"""--notify: somebody who does not sit at the terminal is told, and the job never waits for it."""

import http.server
import json
import sys
import threading
import time

from harness import SafelaunchTest, main

HANGS_ONCE = """
import os, time, torch.distributed as dist
if os.environ["RANK"] == "1" and not os.path.exists("came"):
    open("came", "w").close()
    time.sleep(600)
dist.init_process_group("gloo")
"""


class Chat:
    """A chat's webhook on the loopback: keeps what it is sent, and answers 200 with these words."""

    def __init__(self, answer):
        heard = self.heard = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Notify(SafelaunchTest):
    def receiver(self, then=""):
        """A command that keeps each line of news in a file, and the file's lines."""
        return f"cat >> {self.folder}/told; {then}"

    def told(self):
        return [json.loads(line) for line in (self.folder / "told").read_text().splitlines()]

    def test_a_hang_that_another_attempt_heals_is_told_as_both(self):
        run = self.run_safelaunch("--notify", self.receiver(), "--init-timeout", "3s", "--quiet-timeout", "2s", "--profile",
                                  "basic,gloo-fallback", "--nproc-per-node", "2", "--", sys.executable, self.script(HANGS_ONCE))
        self.assert_status(run, 0)
        hung, healed = sorted(self.told(), key=lambda news: news["time"])
        self.assertEqual((hung["event"], hung["ranks"], hung["cause"]), ("hung", [1], "rank-missing"), hung)
        self.assertIn("time.sleep(600)", hung["places"][0])
        self.assertEqual((healed["event"], healed["profile"], healed["exit_status"]), ("healed", "gloo-fallback", 0), healed)

    def test_a_receiver_that_never_returns_does_not_hold_up_the_end(self):
        begun = time.monotonic()
        run = self.run_safelaunch("--notify", self.receiver("exec sleep 600"), "sh", "-c", "exit 7")
        self.assert_status(run, 7)
        self.assertLess(time.monotonic() - begun, 60, "it waits for a second")
        self.assertEqual([news["event"] for news in self.told()], ["failed"])
        self.assertIn("--notify: the command takes too long", run.err)

    def test_a_receiver_that_fails_is_told_once_and_changes_nothing(self):
        run = self.run_safelaunch("--notify", "echo no network >&2; exit 3", "true")
        self.assert_status(run, 0)
        self.assertEqual(run.err.count("--notify"), 1, run.err)
        self.assertIn("exit status 3: no network", run.err)

    def test_a_chat_gets_the_text_in_its_form(self):
        with Chat({"code": 0, "msg": "success"}) as chat:
            run = self.run_safelaunch("--notify", f"feishu:{chat.url}", "sh", "-c", "exit 7")
        self.assert_status(run, 7)
        self.assertNotIn("--notify", run.err)
        [news] = chat.heard
        self.assertEqual(news["msg_type"], "text", news)
        self.assertRegex(news["content"]["text"], r"^safelaunch: failed on \S+: ")

    def test_a_chat_that_refuses_with_200_is_told(self):
        with Chat({"errcode": 310000, "errmsg": "keywords not in content"}) as chat:
            run = self.run_safelaunch("--notify", f"dingtalk:{chat.url}", "true")
        self.assert_status(run, 0)
        self.assertIn("keywords not in content", run.err)

    def test_a_chat_out_of_reach_is_told_and_its_url_is_in_no_record(self):
        run = self.run_safelaunch("--notify", "slack:http://127.0.0.1:1/T0/secret-of-the-hook", "true")
        self.assert_status(run, 0)
        self.assertIn("warning: --notify: ", run.err)
        self.assertNotIn("secret-of-the-hook", run.err)
        for path in run.directory.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"secret-of-the-hook", path.read_bytes(), path)

    def test_a_form_that_is_unknown_is_refused_with_the_nearest(self):
        run = self.run_safelaunch("--notify", "feishuu:https://a.b/c", "true")
        self.assert_status(run, 64)
        self.assertIn("did you mean 'feishu'", run.err)

    def test_the_end_of_an_attempt_does_not_end_the_receiver_of_its_news(self):
        """The receiver of the first attempt's news waits for what comes after the end of the second attempt."""
        slow = (f"cd {self.folder}; cat > news.$$; if grep -q '\"attempt\":1' news.$$; then until [ -e second ]; do sleep 0.05; done; "
                "touch first-lived; else touch second; fi")
        fails_then = "import os, sys\nif os.path.exists('came'): sys.exit(3)\n" + HANGS_ONCE
        run = self.run_safelaunch("--notify", slow, "--init-timeout", "3s", "--quiet-timeout", "2s", "--profile", "basic,gloo-fallback",
                                  "--nproc-per-node", "2", "--", sys.executable, self.script(fails_then))
        self.assert_status(run, 3)
        self.assertTrue((self.folder / "first-lived").exists(), str(run))

    def with_receivers(self, *receivers):
        """Words that name a settings file with these receivers."""
        path = self.folder / "receivers.yaml"
        path.write_text(json.dumps({"options": {"notify": receivers}}))  # JSON is YAML, too
        return "--config", path

    def test_each_of_several_receivers_is_told_once_and_a_dead_one_holds_up_none(self):
        """The slow one reads nothing and never ends, so only the last second ends it."""
        tell = self.folder / "tell me"
        tell.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> {self.folder}/argument; cat >> {self.folder}/told\n')
        tell.chmod(0o755)
        with Chat({"code": 0}) as chat:
            config = self.with_receivers({"command": ["sleep", "600"]}, {"url": "http://127.0.0.1:1/x", "form": "slack"},
                                         {"command": [str(tell), "$HOME it's"]}, {"url": chat.url, "form": "wecom"})
            run = self.run_safelaunch(*config, "sh", "-c", "exit 7")
        self.assert_status(run, 7)
        self.assertEqual([news["event"] for news in self.told()], ["failed"])
        self.assertEqual((self.folder / "argument").read_text(), "$HOME it's\n")
        self.assertEqual([news["msgtype"] for news in chat.heard], ["text"])
        self.assertIn("warning: --notify, receiver 2: ", run.err)
        self.assertEqual(run.err.count("takes too long"), 1, run.err)

    def test_the_url_in_a_list_is_in_no_record(self):
        run = self.run_safelaunch(*self.with_receivers({"url": "http://127.0.0.1:1/T0/secret-of-the-hook", "form": "json"}), "true")
        self.assert_status(run, 0)
        self.assertNotIn("secret-of-the-hook", run.err)
        for path in run.directory.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"secret-of-the-hook", path.read_bytes(), path)

    def test_a_list_in_a_settings_file_that_nobody_has_named_is_passed_over(self):
        (self.folder / "safelaunch.yaml").write_text(f"options: {{notify: [{{command: [touch, {self.folder}/ran]}}]}}\n")
        run = self.run_safelaunch("true", cwd=self.folder)
        self.assertFalse((self.folder / "ran").exists(), str(run))
        self.assertIn("it sets the option notify", run.err)

    def test_a_settings_file_that_nobody_has_named_may_not_set_it(self):
        (self.folder / "safelaunch.yaml").write_text(f"options: {{notify: 'touch {self.folder}/ran'}}\n")
        run = self.run_safelaunch("true", cwd=self.folder)
        self.assertFalse((self.folder / "ran").exists(), str(run))
        self.assertIn("notify", run.err)


if __name__ == "__main__":
    main()
