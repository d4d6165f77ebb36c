// Sends from the memory of one rank's GPU to that of another's, in buckets: the context's sends, whose copies
// overlap the transfer, and the simple way, which copies a bucket, sends it, and continues with the next.
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "tests/benchmarks/turns.hpp"

namespace tandem {
namespace {

constexpr Channel channel{.stream = 7, .carries_note = false};

void send_buckets(benchmark::State& state) {
  const Gpus there = visible_gpus();
  if (there.count == 0) return state.SkipWithError(there.why_none.c_str());
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto bucket = static_cast<std::size_t>(state.range(1));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CudaDevice device(rank % there.count);
  const DeviceArray<std::byte> memory(device, size);
  std::byte* const pinned = device.allocate_pinned(bucket);
  {
    MpiContext context(MPI_COMM_WORLD, {.device = &device});
    const auto plain = [&] {
      for (std::size_t at = 0; at < size; at += bucket) {
        const auto count = static_cast<int>(bucket);
        if (rank == 0) {
          device.copy(pinned, memory.data() + at, bucket);
          device.finish();
          MPI_Send(pinned, count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        } else {
          MPI_Recv(pinned, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          device.copy(memory.data() + at, pinned, bucket);
          device.finish();
        }
      }
    };
    std::vector<Pending> pendings;
    const auto ours = [&] {
      pendings.clear();
      for (std::size_t at = 0; at < size; at += bucket) {
        const Slice slice{Bytes(state.range(1)), memory.data() + at};
        pendings.push_back(rank == 0 ? context.send(1, channel, slice, {})
                                     : context.receive(0, channel, slice));
      }
      context.wait_all(pendings);
    };
    compare(state, 1, plain, ours);
  }
  device.release_pinned(pinned);
}

}  // namespace

void add_gpu_benchmarks() {
  constexpr std::int64_t mebibyte = 1 << 20;
  for (const std::int64_t bucket : {1, 4, 16, 64})
    benchmark::RegisterBenchmark("gpu_send", send_buckets)
        ->ArgNames({"bytes", "bucket_bytes"})
        ->Args({64 * mebibyte, bucket * mebibyte})
        ->Iterations(50)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace tandem
