"""A bare gRPC server that sends back what it gets: how fast a server in Python can be that does nothing.

python -m benchmarks._echo THREADS      prints its address
"""

import sys
from concurrent import futures

import grpc


class Echo(grpc.GenericRpcHandler):
    """Answers every method with the bytes of its request."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """One handler for all."""
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request)


if __name__ == "__main__":
    server = grpc.server(futures.ThreadPoolExecutor(int(sys.argv[1])), handlers=[Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"gRPC  grpc://127.0.0.1:{port}", flush=True)
    server.wait_for_termination()
