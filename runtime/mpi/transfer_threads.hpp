// Threads that do the real input and output of a rank, while the rank computes and communicates. They never
// call MPI, and take no signals.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// One transfer. The thread that runs it writes `error` and `ended_at` before `has_ended`.
struct Transfer {
  int disk = 0;
  std::function<void()> run;
  std::exception_ptr error;  ///< what it threw
  Seconds ended_at;          ///< by std::chrono::steady_clock
  std::atomic<bool> has_ended = false;
};

/// How the text of an error begins that is not Tandem's own.
std::string failed_transfer(int disk);

/// Each disk has its own threads, which start when they are needed; its transfers begin in the order of their
/// start. Used by one thread, which is called the rank here.
class TransferThreads {
 public:
  /// `parallel`: transfers of a disk at the same time, at least 1; null: 1.
  explicit TransferThreads(std::function<int(int disk)> parallel) : parallel_(std::move(parallel)) {}
  /// As stop().
  ~TransferThreads() { stop(); }
  TransferThreads(const TransferThreads&) = delete;
  TransferThreads& operator=(const TransferThreads&) = delete;

  /// Pre: stop() has not been called. Errors: WorldError if the system gives no further thread, and the disk
  /// has none.
  std::shared_ptr<const Transfer> start(int disk, std::function<void()> run);
  /// How many have ended so far.
  std::uint64_t ended() const { return ended_.load(std::memory_order_acquire); }
  /// Blocks until more than `seen` transfers have ended, or until the time has passed.
  void wait_for_end(std::uint64_t seen, Seconds at_most);
  /// Blocks until all transfers have ended.
  void wait_for_all();
  /// Waits for the transfers that have begun and discards the others. No thread is left.
  void stop();

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
  std::mutex mutex_;  ///< of all that follows
  std::map<int, Disk> disks_;
  std::condition_variable ends_;
  std::uint64_t started_ = 0;
  std::atomic<std::uint64_t> ended_ = 0;
  bool stops_ = false;
};

}  // namespace tandem
