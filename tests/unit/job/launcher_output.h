#pragma once

// The real words of the launchers about a rank that failed (torch 2.13, deepspeed 0.19.8,
// accelerate 1.15); only the paths are shortened.
namespace safelaunch::testing {

inline constexpr const char* kTorchrunKilled =
    R"out(W1121 11:56:54.476000 8697 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 8724 closing signal SIGTERM
E1121 11:56:54.477000 8697 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 8725) of binary: /opt/env/bin/python3
Traceback (most recent call last):
  File "/opt/env/bin/torchrun", line 8, in <module>
    sys.exit(main())
             ^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 367, in wrapper
    return f(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/run.py", line 1028, in main
    run(args)
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/run.py", line 1019, in run
    elastic_launch(
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 194, in __call__
    return launch_agent(
           ^^^^^^^^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 383, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
======================================================
fail.py FAILED
------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-21_11:56:54
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 8724)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 8724
------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-21_11:56:54
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 8725)  (SIGKILL)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 8725
======================================================
)out";

inline constexpr const char* kTorchrunRecorded =
    R"out(W1121 12:16:46.674000 17895 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 17924 closing signal SIGTERM
E1121 12:16:46.697000 17895 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 17925) of binary: /opt/env/bin/python3
E1121 12:16:46.701000 17895 torch/distributed/elastic/multiprocessing/errors/error_handler.py:145] no error file defined for parent, to copy child error file (/tmp/torchelastic_m0cdw9_4/990a7cf4/attempt_1/1/error.json)
Traceback (most recent call last):
  File "/opt/env/bin/torchrun", line 8, in <module>
    sys.exit(main())
             ^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 367, in wrapper
    return f(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/run.py", line 1028, in main
    run(args)
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/run.py", line 1019, in run
    elastic_launch(
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 194, in __call__
    return launch_agent(
           ^^^^^^^^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 383, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
============================================================
rec.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-21_12:16:46
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 17924)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 17924
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-21_12:16:46
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 17925) 
  error_file: /tmp/torchelastic_m0cdw9_4/990a7cf4/attempt_1/1/error.json
  traceback : Traceback (most recent call last):
    File "/opt/env/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 367, in wrapper
      return f(*args, **kwargs)
             ^^^^^^^^^^^^^^^^^^
    File "/home/me/rec.py", line 5, in main
      if os.environ["RANK"]=="1": raise ValueError("boom: exitcode  : 77 (pid: 1)")
                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  ValueError: boom: exitcode  : 77 (pid: 1)
  
============================================================
)out";

inline constexpr const char* kDeepspeedKilled =
    R"out([2026-11-21 11:57:15,037] [INFO] [launch.py:174:main] LauncherVariable CUDA_VISIBLE_DEVICES=0,1
[2026-11-21 11:57:15,038] [INFO] [launch.py:245:main] process 8785 spawned with command: ['/opt/env/bin/python3', '-u', 'fail.py', '--local_rank=0']
[2026-11-21 11:57:15,043] [INFO] [launch.py:245:main] process 8786 spawned with command: ['/opt/env/bin/python3', '-u', 'fail.py', '--local_rank=1']
[2026-11-21 11:57:16,043] [INFO] [launch.py:253:sigkill_handler] Killing subprocess 8785
[2026-11-21 11:57:16,046] [INFO] [launch.py:253:sigkill_handler] Killing subprocess 8786
[2026-11-21 11:57:16,046] [ERROR] [launch.py:259:sigkill_handler] ['/opt/env/bin/python3', '-u', 'fail.py', '--local_rank=1'] exits with return code = -9
)out";

inline constexpr const char* kSpawnRaised =
    R"out(W1121 11:57:06.261000 8759 torch/multiprocessing/spawn.py:165] Terminating process 8762 via signal SIGTERM
Traceback (most recent call last):
  File "/home/me/mp.py", line 9, in <module>
    if __name__=="__main__": mp.spawn(f,(sys.argv[1],),nprocs=2)
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 340, in spawn
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 296, in start_processes
    while not context.join():
              ^^^^^^^^^^^^^^
  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 211, in join
    raise ProcessRaisedException(msg, error_index, failed_process.pid)
torch.multiprocessing.spawn.ProcessRaisedException: 

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 87, in _wrap
    fn(i, *args)
  File "/home/me/mp.py", line 7, in f
    raise ValueError("boom")
ValueError: boom

)out";

inline constexpr const char* kSpawnKilled =
    R"out(  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 192, in join
    raise ProcessExitedException(
torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL
)out";

inline constexpr const char* kSpawnExited =
    R"out(  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 200, in join
    raise ProcessExitedException(
torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with exit code 3
)out";

inline constexpr const char* kAccelerateExited =
    R"out(  File "/opt/env/lib/python3.11/site-packages/accelerate/commands/launch.py", line 999, in simple_launcher
    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
subprocess.CalledProcessError: Command '['/opt/env/bin/python3', 'fail.py']' returned non-zero exit status 3.
)out";

inline constexpr const char* kAccelerateDied =
    R"out(  File "/opt/env/lib/python3.11/site-packages/accelerate/commands/launch.py", line 999, in simple_launcher
    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
subprocess.CalledProcessError: Command '['/opt/env/bin/python3', 'fail.py']' died with <Signals.SIGSEGV: 11>.
)out";

}  // namespace safelaunch::testing
