// Watches how the ranks of a job on this machine end, also those on the hosts of an emulated cluster. mpirun
// alone does not always report which rank was killed: it may notice first that another rank lost the
// connection.
#pragma once

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/machines/rank_ends.hpp"
#include "runtime/machines/rank_watch.hpp"

namespace tandem::machines {

class LocalWatch {
 public:
  /// `watches`: one for each network namespace that has ranks, made inside it.
  explicit LocalWatch(std::vector<RankWatch> watches);
  ~LocalWatch();
  LocalWatch(const LocalWatch&) = delete;
  LocalWatch& operator=(const LocalWatch&) = delete;

  /// The rank whose end broke the job, if it was killed. Call it once, when the job has ended.
  std::optional<RankEnd> killed_rank();

 private:
  void stop();
  void watch_until_stopped();

  std::vector<RankWatch> watches_;  ///< used by the thread alone until it has ended
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

}  // namespace tandem::machines
