"""Rank 0 asks a slow service for 250 small answers, one by one, while rank 1 waits in init."""


def command(bench):
    return bench.train("""
if RANK == 0:
    import socket, threading
    def serve(server):
        client = server.accept()[0]
        while client.recv(1):
            time.sleep(0.05)
            client.send(b"a")
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    client = socket.create_connection(server.getsockname())
    late(0)
    for _ in range(250):
        client.send(b"q")
        assert client.recv(1) == b"a"
    say("250 answers")
""")
