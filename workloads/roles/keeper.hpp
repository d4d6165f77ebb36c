// The keeper: has copies of the commits of another host's ranks, in the memory of its own host
// (checkpoint.to buddy).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/checkpoint/commit_part.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class Keeper {
 public:
  /// The arguments must outlive it.
  Keeper(const Job& job, Context& context);
  /// Returns when all its wards, the ranks whose parts it keeps, have ended.
  void run();

 private:
  struct Ward {
    Rank rank;
    CommitPart part;
    protocol::Copied copied = {};        ///< what arrives
    std::array<Pending, 3> answer = {};  ///< in flight
  };
  /// Entries of each ward: its next message, and the pieces of the part that arrives.
  enum Entry : std::size_t { message, vectors, rest, entries };

  void listen(std::size_t ward);
  void expect_part(std::size_t ward, const protocol::Copied& copied);
  void keep(Ward& ward);
  void answer_fetch(Ward& ward, std::int32_t round);
  Pending& inbox(std::size_t ward, Entry entry) { return inbox_[ward * entries + entry]; }

  const std::string& host_;
  Context& context_;
  std::vector<Ward> wards_;
  std::vector<Pending> inbox_;
};

}  // namespace tandem
