// The work of a parameter server on pushes and replies, if its host states their costs. One thread decides,
// and does this work itself; or several others do it concurrently, in the order in which pushes and replies
// come. A push is ready for a decision when its work has ended.
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

class StatedWork {
 public:
  /// `threads`: 1 is the caller's.
  StatedWork(int threads, KeyCosts costs)
      : costs_(std::move(costs)),
        running_(costs_.empty() || threads == 1 ? 0 : static_cast<std::size_t>(threads)) {}

  /// Threads besides the caller's.
  std::size_t threads() const { return running_.size(); }
  /// The work of each of these, for which the caller waits. The memory is the caller's, and stays.
  void set_pendings(std::span<Pending> pendings) { pendings_ = pendings; }

  /// False: its work has ended, and it is ready. True: see end().
  bool begin_push(Context& context, const CompletePush& push);
  /// False: its work has ended, and it may be sent. True: see end().
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
  bool begin(Context& context, Task task);
  void begin_on_thread(Context& context, Task task);

  KeyCosts costs_;
  std::vector<std::optional<Task>> running_;  ///< by thread
  std::span<Pending> pendings_;               ///< by thread
  std::deque<Task> waiting_;                  ///< for a thread
  std::deque<CompletePush> ready_;
};

}  // namespace tandem
