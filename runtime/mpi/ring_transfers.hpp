// Transfers whose reads of files the kernel makes without a thread (io_uring). A rank that waits takes ended
// reads from the kernel itself, which saves two switches between threads for each read.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/mpi/read_ring.hpp"
#include "runtime/mpi/transfer_threads.hpp"
#include "runtime/mpi/transfers.hpp"

namespace tandem {

/// A FileTransfer goes to the ring, all others to threads; everything goes to threads if the kernel has no
/// ring. While the rank neither waits nor looks, a helper thread takes ended reads and starts waiting ones.
/// Each disk has as many transfers at the same time as it serves, by the ring and by threads separately.
class RingTransfers final : public Transfers {
 public:
  /// `parallel`: see TransferThreads. `make`: makes the ring when it is first needed.
  explicit RingTransfers(std::function<int(int disk)> parallel,
                         std::function<std::unique_ptr<ReadRing>()> make = make_read_ring);
  /// As stop().
  ~RingTransfers() override { stop(); }
  RingTransfers(const RingTransfers&) = delete;
  RingTransfers& operator=(const RingTransfers&) = delete;

  std::shared_ptr<const Transfer> start(int disk, std::function<void()> run) override;
  std::uint64_t ended() override;
  void wait_for_end(std::uint64_t seen, Seconds at_most) override;
  void wait_for_all() override;
  void stop() override;

 private:
  /// A transfer in the ring: which of its reads is there, and what those before it have brought.
  struct Active {
    std::shared_ptr<Transfer> transfer;
    ReadProgress progress;
    std::vector<std::int64_t> results;

    const std::vector<FileRead>& reads() const { return transfer->run.target<FileTransfer>()->reads; }
  };
  struct Disk {
    std::deque<std::shared_ptr<Transfer>> waiting;
    int running = 0;
  };

  bool has_ring();
  void begin(Disk& disk, int number);
  bool serve();
  void advance(std::uint64_t tag, Active& active, std::int64_t result);
  void hand_to_threads(std::uint64_t tag, std::function<void()> rest);
  void leave(std::uint64_t tag);
  std::uint64_t ended_now() { return ended_.load(std::memory_order_acquire) + threads_.ended(); }
  void thread_ended();
  void drain();
  void help();

  std::function<int(int)> parallel_;
  std::function<std::unique_ptr<ReadRing>()> make_;
  std::unique_ptr<ReadRing> ring_;

  std::mutex mutex_;  ///< of all that follows
  std::map<int, Disk> disks_;
  std::unordered_map<std::uint64_t, Active> active_;
  std::uint64_t last_tag_ = 0;
  bool stops_ = false;
  bool helper_sleeps_ = false;  ///< until something is started
  std::condition_variable helper_wakes_;
  /// Transfers that wait for the ring or are there.
  std::atomic<std::uint64_t> open_ = 0;
  std::atomic<std::uint64_t> ended_ = 0;  ///< without those of threads
  std::atomic<std::uint64_t> looks_ = 0;  ///< of the rank
  std::atomic<bool> rank_waits_ = false;  ///< for the ring
  std::thread helper_;
  TransferThreads threads_;  ///< last: they use the others until they have ended
};

}  // namespace tandem
