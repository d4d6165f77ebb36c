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
  /// `ahead`: commits are announced in advance. A commit may then have counted pushes that came after the
  /// message that confirms it, so only the commit before it is certain.
  RecordedCommits(std::size_t workers, bool ahead) : workers_(workers), ahead_(ahead) {}

  /// A worker begins: it has confirmed nothing.
  void begin(int worker);
  /// Its push says that it knows of this commit.
  void on_push(int worker, std::int64_t known);
  /// The commit up to which all members have written their records. Workers that are gone have written
  /// theirs when they left.
  std::int64_t up_to(const std::function<bool(int worker)>& is_member) const;

 private:
  struct Worker {
    std::int64_t known = 0;  ///< by its last push
    std::optional<std::int64_t> recorded = {};
  };
  std::vector<Worker> workers_;
  bool ahead_;
};

}  // namespace tandem
