#include "runtime/mpi/transfer_threads.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::shared_ptr<const Transfer> TransferThreads::start(int disk, std::function<void()> run) {
  auto transfer = std::make_shared<Transfer>();
  transfer->disk = disk;
  transfer->run = std::move(run);
  add(transfer);
  return transfer;
}

void TransferThreads::add(const std::shared_ptr<Transfer>& transfer) {
  const int disk = transfer->disk;
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
    end_transfer(*transfer, transfer->run);
    lock.lock();
    ended_.fetch_add(1, std::memory_order_release);
    ends_.notify_one();
    if (!on_end_) continue;
    lock.unlock();
    on_end_();
    lock.lock();
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
