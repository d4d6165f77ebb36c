// Up to which commit all workers have written their records, as their pushes say. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tandem {

/// A worker writes its records when a reply announces a commit, before it pushes again.
class RecordedCommits {
 public:
  explicit RecordedCommits(std::size_t workers) : workers_(workers) {}

  /// A worker begins: nothing of it counts yet.
  void begin(int worker);
  /// Its push says that it has heard of this commit. `ahead`: commits are announced in advance, and this one
  /// may have counted pushes that came later: then only the one before is sure.
  void on_push(int worker, std::int64_t heard, bool ahead);
  /// The commit up to which all members have written their records. Those that are gone did so when they
  /// went.
  std::int64_t up_to(const std::function<bool(int worker)>& is_member) const;

 private:
  struct Worker {
    std::int64_t heard = 0;  ///< as its last push says
    std::optional<std::int64_t> recorded = {};
  };
  std::vector<Worker> workers_;
};

}  // namespace tandem
