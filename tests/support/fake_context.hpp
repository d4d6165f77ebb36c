// A world of threads for testing roles: real messages, no time. Among the operations that could end, a seeded
// generator picks one, so that roles meet orders of events which a well-behaved world would seldom show.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/context.hpp"

namespace tandem::testing {

/// What all ranks of a fake world share.
class FakeWorld {
 public:
  FakeWorld(int size, std::uint64_t seed) : size_(size), seed_(seed) {}

  /// Runs `body` as every rank at once. Throws what the first rank to fail threw.
  void run(const std::function<void(Context&)>& body);

 private:
  friend class FakeContext;

  struct Operation {
    enum class Kind { compute, send, receive } kind;
    Kernel kernel = {};
    Slice slice = {};
    Note note = {};
    std::shared_ptr<Operation> partner = {};  ///< of a receive: the matched send
    bool taken = false;                       ///< of a send: the receiver has copied it
    bool can_end() const { return kind == Kind::compute || taken || (kind == Kind::receive && partner); }
  };
  using Shared = std::shared_ptr<Operation>;
  struct Mailbox {
    std::deque<Shared> sends;
    std::deque<Shared> receives;
    void match() {
      while (!sends.empty() && !receives.empty()) {
        receives.front()->partner = sends.front();
        sends.pop_front();
        receives.pop_front();
      }
    }
  };
  using Key = std::tuple<Rank, Rank, std::int32_t>;

  int size_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Mailbox> mailboxes_;
  std::exception_ptr failure_;
};

/// One rank. Kernels run, and received bytes are copied from the sender's memory, only when the operation is
/// waited for: whoever reads results or overwrites what is being sent too early gets wrong values.
class FakeContext final : public Context {
 public:
  FakeContext(FakeWorld& world, Rank rank)
      : world_(world),
        rank_(rank),
        rng_(Rng::stream(world.seed_, "order", static_cast<std::uint64_t>(rank))) {}

  Rank rank() const override { return rank_; }
  int world_size() const override { return world_.size_; }
  Seconds now() const override { return Seconds(0.0); }

  Pending compute(const Work&, Kernel kernel) override {
    return add({.kind = Kind::compute, .kernel = std::move(kernel)});
  }
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override {
    const std::lock_guard lock(world_.mutex_);
    Pending pending = add({.kind = Kind::send, .slice = slice, .note = note});
    auto& mailbox = world_.mailboxes_[{rank_, to, channel.number}];
    mailbox.sends.push_back(operations_[pending.slot()]);
    mailbox.match();
    world_.changed_.notify_all();
    return pending;
  }
  Pending receive(Rank from, Channel channel, Slice slice) override {
    const std::lock_guard lock(world_.mutex_);
    Pending pending = add({.kind = Kind::receive, .slice = slice});
    auto& mailbox = world_.mailboxes_[{from, rank_, channel.number}];
    mailbox.receives.push_back(operations_[pending.slot()]);
    mailbox.match();
    return pending;
  }
  Pending read(int, Bytes, Kernel transfer) override { return compute({}, std::move(transfer)); }
  Pending write(int, Bytes, Kernel transfer) override { return compute({}, std::move(transfer)); }
  Pending sleep(Seconds) override { return compute({}, {}); }

  Completion wait(Pending& pending) override { return wait_any({&pending, 1}); }

  Completion wait_any(std::span<Pending> pendings) override {
    std::unique_lock lock(world_.mutex_);
    std::vector<std::size_t> able;
    const auto find_able = [&] {
      able.clear();
      for (std::size_t i = 0; i < pendings.size(); ++i)
        if (!pendings[i].empty() && operations_[pendings[i].slot()]->can_end()) able.push_back(i);
      return !able.empty() || world_.failure_;
    };
    if (!world_.changed_.wait_for(lock, std::chrono::seconds(20), find_able))
      throw std::logic_error("rank " + std::to_string(rank_) + " waits for ever");
    if (able.empty()) throw std::logic_error("another rank failed");
    const std::size_t index = able[rng_.below(able.size())];
    const auto operation = operations_[pendings[index].release()];
    Note note;
    if (operation->kind == Kind::receive) {
      note = operation->partner->note;
      take(*operation);
    }
    lock.unlock();
    if (operation->kernel) operation->kernel();
    return {index, note};
  }

 private:
  using Kind = FakeWorld::Operation::Kind;

  Pending add(FakeWorld::Operation operation) {
    operations_.push_back(std::make_shared<FakeWorld::Operation>(std::move(operation)));
    return Pending(static_cast<std::uint32_t>(operations_.size() - 1));
  }
  void take(FakeWorld::Operation& receive) {
    const Slice& sent = receive.partner->slice;
    if (sent.size > receive.slice.size) throw std::logic_error("message longer than its receiver's slice");
    if (sent.data != nullptr && receive.slice.data != nullptr)
      std::memcpy(receive.slice.data, sent.data, static_cast<std::size_t>(sent.size.count()));
    receive.partner->taken = true;
    world_.changed_.notify_all();
  }

  FakeWorld& world_;
  Rank rank_;
  Rng rng_;
  std::vector<FakeWorld::Shared> operations_;
};

inline void FakeWorld::run(const std::function<void(Context&)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size_; ++rank)
    threads.emplace_back([&, rank] {
      try {
        FakeContext context(*this, rank);
        body(context);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        changed_.notify_all();
      }
    });
  for (auto& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace tandem::testing
