// The threads of a parameter server that works on several pushes and replies at the same time, in the order
// in which they come. Decisions are made by one thread: a push is ready for one when its work has ended.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/server/key_costs.hpp"

namespace tandem {

/// All messages of a worker's push of a key have arrived.
struct CompletePush {
  int worker;
  std::size_t key;
  protocol::Push push;
  bool is_withdrawn;  ///< without a gradient, and without work
};

class ServerThreads {
 public:
  /// Threads that have no work, and never get any, if `costs` is empty.
  ServerThreads(int threads, KeyCosts costs)
      : costs_(std::move(costs)), running_(costs_.empty() ? 0 : static_cast<std::size_t>(threads)) {}

  std::size_t size() const { return running_.size(); }
  /// The work of each thread, for which the caller waits. The memory is the caller's, and stays.
  void set_pendings(std::span<Pending> pendings) { pendings_ = pendings; }

  /// False: there is no work on it, and it is ready.
  bool begin_push(Context& context, const CompletePush& push);
  /// False: the reply may be sent.
  bool begin_reply(Context& context, int worker, std::size_t key, bool brings_model);
  /// The work of a thread has ended; it begins the next one. Returns the worker whose reply may be sent;
  /// none: it was a push, which is ready.
  std::optional<int> end(Context& context, std::size_t thread);
  /// Waits until all work has ended. Returns the workers whose replies may be sent.
  std::vector<int> end_all(Context& context);
  /// The first push that is ready and was not taken.
  std::optional<CompletePush> take_push();

 private:
  struct Task {
    Work work;
    int worker;
    std::optional<CompletePush> push;  ///< none: it is a reply
  };
  void begin(Context& context, Task task);

  KeyCosts costs_;
  std::vector<std::optional<Task>> running_;  ///< by thread
  std::span<Pending> pendings_;               ///< by thread
  std::deque<Task> waiting_;                  ///< for a thread
  std::deque<CompletePush> ready_;
};

}  // namespace tandem
