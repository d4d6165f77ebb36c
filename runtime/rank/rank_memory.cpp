#include "runtime/rank/rank_memory.hpp"

#include <fmt/format.h>

#include <new>
#include <string>

#include "workloads/vectors/no_memory.hpp"

namespace tandem {
namespace {

/// For a rank whose own GPU has too little memory.
const char* advice_for(RankAssignment::Role role) {
  return role == RankAssignment::Role::server
             ? "spread the model over more servers (placement.servers), put them on hosts without a GPU, or "
               "use a GPU with more free memory (tandem:gpu)"
             : "put fewer ranks on this GPU, use one with more free memory (tandem:gpu), or a "
               "smaller model";
}

[[noreturn]] void fail(const Job& job, Rank rank, const char* complaint, bool of_host) {
  if (rank >= job.roster().size()) throw WorldError(complaint);
  const RankAssignment& assignment = job.roster().assignment(rank);
  throw WorldError(fmt::format("not enough memory for the {} on '{}' with '{}': {}; {}",
                               role_name(assignment.role), assignment.host,
                               job.spec().experiment.workload.model, complaint,
                               of_host ? "put fewer ranks on this machine" : advice_for(assignment.role)));
}

}  // namespace

void within_rank_memory(const Job& job, Rank rank, const std::function<void()>& work) {
  try {
    work();
  } catch (const NoMemoryError& error) {
    fail(job, rank, error.what(), error.of_host());
  } catch (const std::bad_alloc& error) {
    fail(job, rank, error.what(), true);
  }
}

}  // namespace tandem
