// Whether workers of a cache node exchange gradients now, as they tell it (data.background: while-computing).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class ExchangeWatch {
 public:
  ExchangeWatch(Context& context, const std::vector<Rank>& workers) : context_(context) {
    for (const Rank worker : workers) workers_.push_back({worker});
  }
  std::size_t size() const { return workers_.size(); }
  /// Listens to each worker that has not ended. `waits`: one for each.
  void listen(std::span<Pending> waits) {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (waits[i].empty() && !workers_[i].has_ended)
        waits[i] = protocol::receive<"phases">(context_, workers_[i].rank);
  }
  void hear(std::size_t worker, const Note& note) {
    Worker& own = workers_[worker];
    own.has_ended = protocol::as<protocol::End>(note).has_value();
    own.exchanges = !own.has_ended && protocol::unpack<protocol::Exchanging>(note).begins;
  }
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
};

}  // namespace tandem
