// The real input and output of a rank, while the rank computes and communicates. Implemented by threads
// (TransferThreads), and by the kernel's queue of reads (ring_transfers.hpp) where the kernel has one.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// One transfer. Who runs it writes `error` and `ended_at` before `has_ended`.
struct Transfer {
  int disk = 0;
  std::function<void()> run;
  std::exception_ptr error;  ///< thrown by the transfer
  Seconds ended_at;          ///< by std::chrono::steady_clock
  std::atomic<bool> has_ended = false;
};

/// How the text of an error begins that is not Tandem's own.
std::string failed_transfer(int disk);
/// Runs the last part of the transfer; then it has ended, and keeps nothing that it used.
void end_transfer(Transfer& transfer, const std::function<void()>& last);

/// Transfers of a disk begin in the order of their start, those of each kind (reads of files, others) by
/// themselves. Used by one thread, which is called the rank here.
class Transfers {
 public:
  virtual ~Transfers() = default;
  /// Pre: stop() has not been called. Errors: WorldError if the system gives no further thread, and the disk
  /// has none.
  virtual std::shared_ptr<const Transfer> start(int disk, std::function<void()> run) = 0;
  /// How many have ended so far. A rank that asks often makes them progress sooner.
  virtual std::uint64_t ended() = 0;
  /// Blocks until more than `seen` transfers have ended, or until the time has passed.
  virtual void wait_for_end(std::uint64_t seen, Seconds at_most) = 0;
  /// Blocks until all transfers have ended.
  virtual void wait_for_all() = 0;
  /// Waits for the transfers that have begun and discards the others. No thread is left.
  virtual void stop() = 0;
};

/// `parallel`: see TransferThreads. `by_ring`: by RingTransfers.
std::unique_ptr<Transfers> make_transfers(std::function<int(int disk)> parallel, bool by_ring);

/// Threads that start during its life take no signals. Those are for the rank: it ends the job, or commits
/// its state.
class NoSignals {
 public:
  NoSignals();
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace tandem
