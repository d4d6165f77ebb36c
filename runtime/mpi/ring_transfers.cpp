#include "runtime/mpi/ring_transfers.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// So long a rank that computes may leave the ring alone before the helper looks after it.
constexpr auto helper_patience = 1ms;
/// After this many looks at a ring without transfers, the helper sleeps until one is started. To wake it for
/// each read would cost as much as to have threads read.
constexpr int idle_looks = 100;
constexpr Seconds longest_wait{1e-3};

}  // namespace

RingTransfers::RingTransfers(std::function<int(int disk)> parallel,
                             std::function<std::unique_ptr<ReadRing>()> make)
    : parallel_(parallel),
      make_(std::move(make)),
      threads_(std::move(parallel), [this] { thread_ended(); }) {}

/// Pre: the mutex is held.
bool RingTransfers::has_ring() {
  if (!make_) return ring_ != nullptr;
  ring_ = std::exchange(make_, nullptr)();
  if (!ring_) return false;
  const NoSignals inherited;
  try {
    helper_ = std::thread([this] { help(); });
  } catch (const std::system_error&) {
    ring_ = nullptr;
  }
  return ring_ != nullptr;
}

std::shared_ptr<const Transfer> RingTransfers::start(int disk, std::function<void()> run) {
  const auto* const reads = run.target<FileTransfer>();
  if (reads == nullptr || reads->reads.empty()) return threads_.start(disk, std::move(run));
  std::unique_lock lock(mutex_);
  TANDEM_CHECK(!stops_, "disk", disk);
  if (!has_ring()) {
    lock.unlock();
    return threads_.start(disk, std::move(run));
  }
  auto transfer = std::make_shared<Transfer>();
  transfer->disk = disk;
  transfer->run = std::move(run);
  ++looks_;
  ++open_;
  Disk& used = disks_[disk];
  used.waiting.push_back(transfer);
  begin(used, disk);
  if (helper_sleeps_) helper_wakes_.notify_one();
  return transfer;
}

/// Starts the waiting requests that the disk can serve. Pre: the mutex is held.
void RingTransfers::begin(Disk& disk, int number) {
  const int most = parallel_ ? parallel_(number) : 1;
  while (!disk.waiting.empty() && disk.running < most) {
    std::shared_ptr<Transfer> transfer = std::move(disk.waiting.front());
    disk.waiting.pop_front();
    ++disk.running;
    const FileRead& first = transfer->run.target<FileTransfer>()->reads.front();
    const std::uint64_t tag = ++last_tag_;
    const auto added = active_.emplace(tag, Active{std::move(transfer), ReadProgress(first), {}}).first;
    if (!ring_->start(added->second.progress.rest(), tag)) hand_to_threads(tag, {});
  }
}

/// Takes ended requests from the ring. True if there was one. Pre: the mutex is held.
bool RingTransfers::serve() {
  bool found = false;
  while (const auto end = ring_->take()) {
    found = true;
    const auto active = active_.find(end->tag);
    TANDEM_CHECK(active != active_.end(), "tag", end->tag);
    const int disk = active->second.transfer->disk;
    advance(end->tag, active->second, end->result);
    begin(disks_.at(disk), disk);
  }
  return found;
}

/// The next request of the transfer, or its end.
void RingTransfers::advance(std::uint64_t tag, Active& active, std::int64_t result) {
  if (!active.progress.take(result)) {
    active.results.push_back(active.progress.result());
    if (active.results.size() < active.reads().size())
      active.progress = ReadProgress(active.reads()[active.results.size()]);
  }
  if (active.results.size() < active.reads().size()) {
    if (!ring_->start(active.progress.rest(), tag)) hand_to_threads(tag, {});
    return;
  }
  const std::shared_ptr<Transfer> transfer = active.transfer;
  std::function<void()> rest;
  std::exception_ptr error;
  try {
    const auto* const work = transfer->run.target<FileTransfer>();
    if (work->then) rest = work->then(active.results);
  } catch (...) {
    error = std::current_exception();
  }
  if (rest) return hand_to_threads(tag, std::move(rest));
  end_transfer(*transfer, [&] {
    if (error) std::rethrow_exception(error);
  });
  ended_.fetch_add(1, std::memory_order_release);
  leave(tag);
}

/// `rest`: of the transfer; empty: all of it, again.
void RingTransfers::hand_to_threads(std::uint64_t tag, std::function<void()> rest) {
  const std::shared_ptr<Transfer> transfer = active_.at(tag).transfer;
  if (rest) transfer->run = std::move(rest);
  try {
    threads_.add(transfer);
  } catch (const std::exception&) {
    // There is no thread: it is done here.
    end_transfer(*transfer, transfer->run);
    ended_.fetch_add(1, std::memory_order_release);
  }
  leave(tag);
}

void RingTransfers::leave(std::uint64_t tag) {
  const auto active = active_.find(tag);
  --disks_.at(active->second.transfer->disk).running;
  active_.erase(active);
  --open_;
}

std::uint64_t RingTransfers::ended() {
  if (open_.load(std::memory_order_acquire) > 0) {
    looks_.fetch_add(1, std::memory_order_relaxed);
    // Who has the mutex looks, too.
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) serve();
  }
  return ended_now();
}

void RingTransfers::wait_for_end(std::uint64_t seen, Seconds at_most) {
  const auto until = Clock::now() + std::chrono::duration<double>(at_most.count());
  while (ended() == seen) {
    const Seconds left(std::chrono::duration<double>(until - Clock::now()).count());
    if (left <= Seconds(0)) return;
    if (open_.load(std::memory_order_acquire) == 0) {
      // Only threads are left, and the rank, which could start something, waits here.
      threads_.wait_for_end(seen - ended_.load(std::memory_order_acquire), left);
      continue;
    }
    rank_waits_ = true;
    // Against thread_ended: one of the two sees what the other has written.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (ended_now() == seen) ring_->wait(left);
    rank_waits_ = false;
  }
}

/// On a thread. A rank that waits for the ring would not notice it.
void RingTransfers::thread_ended() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!rank_waits_) return;
  const std::lock_guard lock(mutex_);
  ring_->wake();
}

/// Until nothing waits for the ring or is there.
void RingTransfers::drain() {
  while (open_.load(std::memory_order_acquire) > 0) {
    {
      const std::lock_guard lock(mutex_);
      if (serve()) continue;
    }
    ring_->wait(longest_wait);
  }
}

void RingTransfers::wait_for_all() {
  drain();
  threads_.wait_for_all();
}

/// The helper thread looks after the ring whenever the rank does not. It lives until the ring is empty: the
/// kernel may break off requests of a thread that ends.
void RingTransfers::help() {
  std::unique_lock lock(mutex_);
  int idle = 0;
  while (!stops_ || open_ > 0) {
    helper_sleeps_ = idle > idle_looks;
    const std::uint64_t looks = looks_;
    if (helper_sleeps_)
      helper_wakes_.wait(lock, [&] { return stops_ || open_ > 0; });
    else
      helper_wakes_.wait_for(lock, helper_patience);
    helper_sleeps_ = false;
    idle = open_ > 0 ? 0 : idle + 1;
    while (open_ > 0 && (stops_ || (!rank_waits_ && looks_ == looks))) {
      lock.unlock();
      ring_->wait(longest_wait);
      lock.lock();
      serve();
      // Requests taken here do not wake a rank that has begun to wait meanwhile.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (rank_waits_) ring_->wake();
    }
  }
}

void RingTransfers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    for (auto& [number, disk] : disks_) {
      open_ -= disk.waiting.size();
      disk.waiting.clear();
    }
    helper_wakes_.notify_one();
  }
  drain();
  if (helper_.joinable()) helper_.join();
  threads_.stop();
}

}  // namespace tandem
