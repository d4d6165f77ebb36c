// Whether workers of a cache node exchange gradients now, by their notes (data.background: while-computing).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class ExchangeWatch {
 public:
  explicit ExchangeWatch(Context& context) : context_(context) {}
  /// `is_there`: otherwise its slot is empty as the node begins.
  void add_worker(Rank worker, bool is_there) { workers_.push_back({worker, false, !is_there}); }
  std::size_t size() const { return workers_.size(); }
  /// Which operations of the node belong to the watch: one for each worker, from `first` on.
  void wait_from(std::size_t first) { first_ = first; }
  bool is_of(std::size_t operation) const {
    return first_ <= operation && operation < first_ + workers_.size();
  }
  /// Listens to each worker that has not ended. `waits`: all operations of the node.
  void listen(std::span<Pending> waits) {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (waits[first_ + i].empty() && !workers_[i].has_ended)
        waits[first_ + i] = protocol::receive<"phases">(context_, workers_[i].rank);
  }
  void on_message(std::size_t operation, const Note& note) {
    Worker& own = workers_[operation - first_];
    own.has_ended = protocol::as<protocol::End>(note).has_value();
    own.exchanges = !own.has_ended && protocol::unpack<protocol::Exchanging>(note).begins;
  }
  /// The worker is gone. Its awaited note ends with its other messages.
  void lose(std::size_t worker, std::span<Pending> waits, std::vector<Pending>& ending) {
    workers_[worker] = {workers_[worker].rank, false, true};
    if (Pending& awaited = waits[first_ + worker]; !awaited.empty()) ending.push_back(std::move(awaited));
  }
  /// Another worker is in its slot. Whether it exchanges already is not known.
  void begin(std::size_t worker) { workers_[worker].has_ended = false; }
  /// No worker exchanges anything.
  bool is_quiet() const { return std::ranges::none_of(workers_, &Worker::exchanges); }
  bool has_ended() const { return std::ranges::all_of(workers_, &Worker::has_ended); }

 private:
  struct Worker {
    Rank rank = 0;
    bool exchanges = false;
    bool has_ended = false;
  };
  Context& context_;
  std::vector<Worker> workers_;
  std::size_t first_ = 0;
};

}  // namespace tandem
