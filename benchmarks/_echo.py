"""Bare servers that return what they receive: the maximum speed of a Python server that does nothing.

python -m benchmarks._echo THREADS      prints the addresses of a REST and a gRPC server
"""

import sys
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc


class Echo(grpc.GenericRpcHandler):
    """A handler that answers every method with the bytes of its request."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """Return the same handler for every method."""
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request)


class HttpEcho(BaseHTTPRequestHandler):
    """A handler that answers every POST with its body, on a persistent connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        """Return the body of the request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class HttpServer(ThreadingHTTPServer):
    """A server with a thread for each connection."""

    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    http_server = HttpServer(("127.0.0.1", 0), HttpEcho)
    threading.Thread(target=http_server.serve_forever, daemon=True).start()
    server = grpc.server(futures.ThreadPoolExecutor(int(sys.argv[1])), handlers=[Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"REST  http://127.0.0.1:{http_server.server_port}")
    print(f"gRPC  grpc://127.0.0.1:{port}", flush=True)
    server.wait_for_termination()
