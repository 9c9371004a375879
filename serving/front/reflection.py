"""gRPC's reflection service, which tells tools such as grpcurl the methods and messages of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2
from grpc_reflection.v1alpha._async import ReflectionServicer

from seqattn_tf.serving import protos
from seqattn_tf.serving.front.grpc_server import Call, Stream

SERVICE_NAME = reflection.SERVICE_NAME


def streams(services: Sequence[str]) -> Mapping[str, Stream]:
    """Return the method of the service, which describes the named services."""
    for known in (health_pb2, reflection_pb2):
        protos.POOL.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    servicer = ReflectionServicer(services, protos.POOL)

    async def describe(call: Call) -> None:
        requests = call.messages(reflection_pb2.ServerReflectionRequest.FromString)
        async for response in servicer.ServerReflectionInfo(requests, None):
            await call.write(response.SerializeToString())

    return {f"/{SERVICE_NAME}/ServerReflectionInfo": describe}
