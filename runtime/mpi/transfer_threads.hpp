// Threads that do the real input and output of a rank, while the rank computes and communicates. They never
// call MPI, and take no signals.
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
#include <utility>
#include <vector>

#include "runtime/mpi/transfers.hpp"

namespace tandem {

/// Each disk has its own threads, which start when they are needed.
class TransferThreads final : public Transfers {
 public:
  /// `parallel`: transfers of a disk at the same time, at least 1; null: 1. `on_end`: called by a thread
  /// after `ended` counts a transfer.
  explicit TransferThreads(std::function<int(int disk)> parallel, std::function<void()> on_end = {})
      : parallel_(std::move(parallel)), on_end_(std::move(on_end)) {}
  /// As stop().
  ~TransferThreads() override { stop(); }
  TransferThreads(const TransferThreads&) = delete;
  TransferThreads& operator=(const TransferThreads&) = delete;

  std::shared_ptr<const Transfer> start(int disk, std::function<void()> run) override;
  /// Adds one that was made elsewhere, and whose `disk` and `run` are set. Any thread may call it. Errors: as
  /// start().
  void add(const std::shared_ptr<Transfer>& transfer);
  std::uint64_t ended() override { return ended_.load(std::memory_order_acquire); }
  void wait_for_end(std::uint64_t seen, Seconds at_most) override;
  void wait_for_all() override;
  void stop() override;

 private:
  struct Disk {
    std::deque<std::shared_ptr<Transfer>> waiting;
    std::vector<std::thread> threads;
    std::size_t idle = 0;  ///< threads that wait for a transfer
    std::condition_variable comes;
  };

  void add_thread(Disk& disk);
  void serve(Disk& disk);

  std::function<int(int)> parallel_;
  std::function<void()> on_end_;
  std::mutex mutex_;  ///< of all that follows
  std::map<int, Disk> disks_;
  std::condition_variable ends_;
  std::uint64_t started_ = 0;
  std::atomic<std::uint64_t> ended_ = 0;
  bool stops_ = false;
};

}  // namespace tandem
