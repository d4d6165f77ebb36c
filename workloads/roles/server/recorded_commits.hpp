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
  /// `ahead`: commits are announced in advance. One may then have counted pushes that came after the message
  /// that confirms it, so only the one before is sure.
  RecordedCommits(std::size_t workers, bool ahead) : workers_(workers), ahead_(ahead) {}

  /// A worker begins: nothing of it counts yet.
  void begin(int worker);
  /// Its push says that it knows of this commit.
  void on_push(int worker, std::int64_t heard);
  /// The commit up to which all members have written their records. Those that are gone did so when they
  /// went.
  std::int64_t up_to(const std::function<bool(int worker)>& is_member) const;

 private:
  struct Worker {
    std::int64_t heard = 0;  ///< as its last push says
    std::optional<std::int64_t> recorded = {};
  };
  std::vector<Worker> workers_;
  bool ahead_;
};

}  // namespace tandem
