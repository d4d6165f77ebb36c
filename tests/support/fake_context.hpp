// A Context on threads for testing roles: real messages, no time. Among the operations that could complete, a
// seeded generator picks one, so that roles see orders of events that are rare in other implementations.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/context.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::testing {

/// State that all ranks share.
class FakeWorld {
 public:
  FakeWorld(int size, std::uint64_t seed) : size_(size), seed_(seed) {}

  /// Runs `body` as every rank concurrently. Throws the exception of the first rank that fails.
  void run(const std::function<void(Context&)>& body);

 private:
  friend class FakeContext;

  /// State that the members of an all-reduce share.
  struct Sum {
    std::size_t missing = 0;  ///< members that have not started it
    Channel channel;
    Bytes size{0};
    collectives::Element element = {};
    std::vector<std::byte> values = {};  ///< empty if no member provides memory
  };
  /// The all-reduces over one list of members that some members have not started, and how many each has
  /// started.
  struct Sums {
    std::vector<std::shared_ptr<Sum>> all = {};
    std::map<Rank, std::size_t> started = {};
  };
  struct Operation {
    enum class Kind { compute, send, receive, all_reduce } kind;
    Kernel kernel = {};
    Slice slice = {};
    Note note = {};
    std::shared_ptr<Operation> partner = {};  ///< of a receive: the matched send
    bool taken = false;                       ///< of a send: the receiver has copied it
    bool matched = false;                     ///< of a message: send and receive are matched
    Outcome outcome = Outcome::done;          ///< an outcome other than done can be reported
    std::shared_ptr<Sum> sum = {};            ///< of an all-reduce
    bool can_end() const {
      if (outcome != Outcome::done) return true;
      if (kind == Kind::all_reduce) return sum->missing == 0;
      return kind == Kind::compute || taken || (kind == Kind::receive && partner);
    }
  };
  using Shared = std::shared_ptr<Operation>;
  struct Mailbox {
    std::deque<Shared> sends;
    std::deque<Shared> receives;
    void match() {
      while (!sends.empty() && !receives.empty()) {
        receives.front()->partner = sends.front();
        receives.front()->matched = sends.front()->matched = true;
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
  std::map<std::vector<Rank>, Sums> sums_;
  std::set<Rank> departed_;
  std::exception_ptr failure_;
};

/// One rank. Kernels run, and received bytes are copied from the sender's memory, only when the rank waits
/// for the operation: reading results or overwriting sent memory too early gives wrong values.
class FakeContext : public Context {
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
    auto& mailbox = world_.mailboxes_[{rank_, to, channel.number()}];
    mailbox.sends.push_back(operations_[pending.number()]);
    mailbox.match();
    settle_departures();
    world_.changed_.notify_all();
    return pending;
  }
  Pending receive(Rank from, Channel channel, Slice slice) override {
    const std::lock_guard lock(world_.mutex_);
    Pending pending = add({.kind = Kind::receive, .slice = slice});
    auto& mailbox = world_.mailboxes_[{from, rank_, channel.number()}];
    mailbox.receives.push_back(operations_[pending.number()]);
    mailbox.match();
    settle_departures();
    return pending;
  }
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override {
    const std::lock_guard lock(world_.mutex_);
    auto& sums = world_.sums_[{members.begin(), members.end()}];
    const std::size_t number = sums.started[rank_]++;
    if (number == sums.all.size())
      sums.all.push_back(std::make_shared<FakeWorld::Sum>(FakeWorld::Sum{
          .missing = members.size(), .channel = channel, .size = vector.size, .element = element}));
    const auto& sum = sums.all[number];
    if (sum->channel != channel || sum->size != vector.size || sum->element != element)
      throw std::logic_error("members start all-reduces in different orders");
    const auto index = static_cast<std::size_t>(std::ranges::find(members, rank_) - members.begin());
    if (vector.data != nullptr) add_to(*sum, vector, index, members.size());
    --sum->missing;
    world_.changed_.notify_all();
    return add({.kind = Kind::all_reduce, .slice = vector, .sum = sum});
  }
  Pending read(int, DiskAccess, Kernel transfer) override { return compute({}, std::move(transfer)); }
  Pending write(int, DiskAccess, Kernel transfer) override { return compute({}, std::move(transfer)); }
  Pending sleep(Seconds) override { return compute({}, {}); }

  bool is_done(const Pending& pending) override {
    const std::lock_guard lock(world_.mutex_);
    return operations_[pending.number()]->can_end();
  }

  void cancel_all(std::span<const Pending> pendings) override {
    const std::lock_guard lock(world_.mutex_);
    for (const Pending& pending : pendings)
      if (!pending.empty()) cancel_locked(pending);
  }
  void cancel_locked(const Pending& pending) {
    const auto& operation = operations_[pending.number()];
    const bool is_message = operation->kind == Kind::send || operation->kind == Kind::receive;
    if (!is_message || operation->matched || operation->outcome != Outcome::done) return;
    operation->outcome = Outcome::cancelled;
    for (auto& [key, mailbox] : world_.mailboxes_) {
      std::erase(mailbox.sends, operation);
      std::erase(mailbox.receives, operation);
    }
  }
  void stop_work() override {}
  Pending disconnect(Rank peer) override {
    {
      const std::lock_guard lock(world_.mutex_);
      for (auto& [key, mailbox] : world_.mailboxes_) {
        const auto& [from, to, channel] = key;
        if (from == peer && to == rank_) end_all(mailbox.receives, Outcome::cancelled);
        if (from == rank_ && to == peer) end_all(mailbox.sends, Outcome::cancelled);
      }
    }
    return sleep(Seconds(0));
  }
  void announce_departure() override {
    const std::lock_guard lock(world_.mutex_);
    world_.departed_.insert(rank_);
    settle_departures();
    world_.changed_.notify_all();
  }

  Completion wait(Pending& pending) override { return wait_any({&pending, 1}); }

  Completion wait_any(std::span<Pending> pendings) override {
    std::unique_lock lock(world_.mutex_);
    std::vector<std::size_t> able;
    const auto find_able = [&] {
      able.clear();
      for (std::size_t i = 0; i < pendings.size(); ++i)
        if (!pendings[i].empty() && operations_[pendings[i].number()]->can_end()) able.push_back(i);
      return !able.empty() || world_.failure_;
    };
    if (!world_.changed_.wait_for(lock, std::chrono::seconds(20), find_able))
      throw std::logic_error("rank " + std::to_string(rank_) + " waits for ever");
    if (able.empty()) throw std::logic_error("another rank failed");
    const std::size_t index = able[rng_.below(able.size())];
    const auto operation = operations_[pendings[index].release()];
    Note note;
    if (operation->kind == Kind::receive && operation->outcome == Outcome::done) {
      note = operation->partner->note;
      take(*operation);
    }
    if (operation->kind == Kind::all_reduce && operation->slice.data != nullptr &&
        size_of(operation->slice) > 0)
      std::memcpy(operation->slice.data, operation->sum->values.data(), size_of(operation->slice));
    lock.unlock();
    if (operation->kernel) operation->kernel();
    return {index, note, std::nullopt, operation->outcome};
  }

 private:
  using Kind = FakeWorld::Operation::Kind;

  Pending add(FakeWorld::Operation operation) {
    operations_.push_back(std::make_shared<FakeWorld::Operation>(std::move(operation)));
    return Pending(static_cast<std::uint32_t>(operations_.size() - 1));
  }
  /// Completes operations that wait for a rank that has left.
  void settle_departures() {
    if (world_.departed_.empty()) return;
    for (auto& [key, mailbox] : world_.mailboxes_) {
      const auto& [from, to, channel] = key;
      const bool to_departed = world_.departed_.contains(to);
      if (to_departed) end_all(mailbox.sends, Outcome::peer_left);
      if (to_departed || world_.departed_.contains(from))
        end_all(mailbox.receives, to_departed ? Outcome::cancelled : Outcome::peer_left);
    }
  }
  static void end_all(std::deque<FakeWorld::Shared>& operations, Outcome outcome) {
    for (const auto& operation : operations) operation->outcome = outcome;
    operations.clear();
  }
  static std::size_t size_of(const Slice& slice) { return static_cast<std::size_t>(slice.size.count()); }
  /// What the member of this index adds.
  static void add_to(FakeWorld::Sum& sum, const Slice& vector, std::size_t index, std::size_t members) {
    const std::vector<std::byte> own(vector.data, vector.data + size_of(vector));
    sum.values.resize(own.size());
    const std::size_t part = own.size() / members;
    if (sum.element.is_gathered())
      std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(index * part), part,
                  sum.values.begin() + static_cast<std::ptrdiff_t>(index * part));
    else
      add_elements(host_device(), sum.element, sum.values.data(), own.data(),
                   std::ssize(own) / sum.element.bytes);
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
