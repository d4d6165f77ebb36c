#include "runtime/mpi/transfer_threads.hpp"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <string>
#include <utility>

#include "policies/vocabulary/caught_error.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

/// Signals are for the rank: it ends the job, or commits its state.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

Seconds steady_now() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

std::string failed_transfer(int disk) { return "a transfer of disk " + std::to_string(disk) + " failed"; }

std::shared_ptr<const Transfer> TransferThreads::start(int disk, std::function<void()> run) {
  auto transfer = std::make_shared<Transfer>();
  transfer->disk = disk;
  transfer->run = std::move(run);
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK(!stops_, "disk", disk);
  Disk& used = disks_[disk];
  used.waiting.push_back(transfer);
  if (used.idle < used.waiting.size()) {
    const auto most = static_cast<std::size_t>(parallel_ ? parallel_(disk) : 1);
    if (used.threads.size() < most) add_thread(used);
  }
  ++started_;
  used.comes.notify_one();
  return transfer;
}

/// Pre: the mutex is held.
void TransferThreads::add_thread(Disk& disk) {
  const NoSignals inherited;
  try {
    disk.threads.emplace_back([this, &disk] { serve(disk); });
  } catch (const std::exception& error) {
    // Those that are there serve all.
    if (!disk.threads.empty()) return;
    disk.waiting.pop_back();
    throw WorldError(std::string("cannot start a thread for input and output: ") + error.what());
  }
}

void TransferThreads::serve(Disk& disk) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++disk.idle;
    disk.comes.wait(lock, [&] { return stops_ || !disk.waiting.empty(); });
    --disk.idle;
    if (stops_) return;
    const std::shared_ptr<Transfer> transfer = std::move(disk.waiting.front());
    disk.waiting.pop_front();
    lock.unlock();
    transfer->error = caught_error(transfer->run, [&] { return failed_transfer(transfer->disk); });
    transfer->run = nullptr;
    transfer->ended_at = steady_now();
    transfer->has_ended.store(true, std::memory_order_release);
    lock.lock();
    ended_.fetch_add(1, std::memory_order_release);
    ends_.notify_one();
  }
}

void TransferThreads::wait_for_end(std::uint64_t seen, Seconds at_most) {
  std::unique_lock lock(mutex_);
  ends_.wait_for(lock, std::chrono::duration<double>(at_most.count()), [&] { return ended() != seen; });
}

void TransferThreads::wait_for_all() {
  std::unique_lock lock(mutex_);
  ends_.wait(lock, [&] { return ended() == started_; });
}

void TransferThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    for (auto& [number, disk] : disks_) {
      disk.waiting.clear();
      disk.comes.notify_all();
    }
  }
  for (auto& [number, disk] : disks_)
    for (std::thread& thread : disk.threads)
      if (thread.joinable()) thread.join();
}

}  // namespace tandem
