// Sends from the memory of one rank's GPU to that of another's, in buckets: the context's sends, whose copies
// overlap the transfer, and two plain programs: one copies a bucket, sends it, and continues with the next;
// the other has two buffers, and copies a bucket while it sends the one before.
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/gpu/cuda_device.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "tests/benchmarks/turns.hpp"

namespace tandem {
namespace {

constexpr Channel channel{.stream = 7, .carries_note = false};

/// The plain programs, with pinned memory for two buckets.
class PlainSends {
 public:
  PlainSends(CudaDevice& device, int rank, std::span<std::byte> memory, std::size_t bucket)
      : device_(device), rank_(rank), memory_(memory), bucket_(bucket), pinned_(device, 2 * bucket) {}

  void one_after_the_other() {
    for (std::size_t number = 0; number < buckets(); ++number) {
      if (rank_ == 0) {
        await(copy(number));
        MPI_Send(buffer(number), size(), MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      } else {
        MPI_Recv(buffer(number), size(), MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        await(copy(number));
      }
    }
  }
  void double_buffered() { rank_ == 0 ? send_while_copying() : receive_while_copying(); }

 private:
  void send_while_copying() {
    DeviceMark copied = copy(0);
    MPI_Request sent = MPI_REQUEST_NULL;
    for (std::size_t number = 0; number < buckets(); ++number) {
      await(copied);
      // The buffer of the next bucket is free when the last one has been sent.
      MPI_Wait(&sent, MPI_STATUS_IGNORE);
      if (number + 1 < buckets()) copied = copy(number + 1);
      MPI_Isend(buffer(number), size(), MPI_BYTE, 1, 0, MPI_COMM_WORLD, &sent);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
  void receive_while_copying() {
    std::optional<DeviceMark> copied;
    MPI_Request arriving = MPI_REQUEST_NULL;
    const auto receive = [&](std::size_t number) {
      MPI_Irecv(buffer(number), size(), MPI_BYTE, 0, 0, MPI_COMM_WORLD, &arriving);
    };
    receive(0);
    for (std::size_t number = 0; number < buckets(); ++number) {
      MPI_Wait(&arriving, MPI_STATUS_IGNORE);
      if (copied) await(*copied);
      if (number + 1 < buckets()) receive(number + 1);
      copied = copy(number);
    }
    await(*copied);
  }

  std::size_t buckets() const { return memory_.size() / bucket_; }
  int size() const { return static_cast<int>(bucket_); }
  std::byte* buffer(std::size_t number) const { return pinned_.data() + number % 2 * bucket_; }
  DeviceMark copy(std::size_t number) {
    std::byte* const own = memory_.data() + number * bucket_;
    return rank_ == 0 ? device_.copy_out(buffer(number), own, bucket_)
                      : device_.copy_in(own, buffer(number), bucket_);
  }
  void await(DeviceMark mark) {
    while (!device_.has_reached(mark)) continue;
    device_.forget(mark);
  }

  CudaDevice& device_;
  int rank_;
  std::span<std::byte> memory_;
  std::size_t bucket_;
  PinnedArray<std::byte> pinned_;
};

void send_buckets(benchmark::State& state, bool is_double_buffered) {
  const Gpus there = visible_gpus();
  if (there.count == 0) return state.SkipWithError(there.why_none.c_str());
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto bucket = static_cast<std::size_t>(state.range(1));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CudaDevice device(rank % there.count);
  const DeviceArray<std::byte> memory(device, size);
  PlainSends plain_sends(device, rank, memory.span(), bucket);
  MpiContext context(MPI_COMM_WORLD, {.device = &device});
  const auto plain = [&] {
    is_double_buffered ? plain_sends.double_buffered() : plain_sends.one_after_the_other();
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

}  // namespace

void add_gpu_benchmarks() {
  constexpr std::int64_t mebibyte = 1 << 20;
  // The smallest is for emulated CUDA.
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{mebibyte, mebibyte / 4},
                                                         {64 * mebibyte, mebibyte},
                                                         {64 * mebibyte, 4 * mebibyte},
                                                         {64 * mebibyte, 16 * mebibyte},
                                                         {64 * mebibyte, 64 * mebibyte}};
  for (const bool is_double_buffered : {false, true})
    for (const auto& [size, bucket] : sizes)
      benchmark::RegisterBenchmark(
          is_double_buffered ? "gpu_send/double_buffered" : "gpu_send",
          [is_double_buffered](benchmark::State& state) { send_buckets(state, is_double_buffered); })
          ->ArgNames({"bytes", "bucket_bytes"})
          ->Args({size, bucket})
          ->Iterations(size > mebibyte ? 50 : 5)
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
}

}  // namespace tandem
