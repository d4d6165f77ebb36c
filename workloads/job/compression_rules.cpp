#include "workloads/job/compression_rules.hpp"

#include "policies/compression/codec.hpp"
#include "workloads/job/all_reduce_plan.hpp"

namespace tandem {

std::optional<std::string> collective_needed(const Experiment::Sync& sync) {
  const auto& compression = compression::catalog().find(sync.compression).make;
  if (sync.over != sync::Route::all_reduce || compression.make == nullptr) return std::nullopt;
  if (compression.sharing == compression::Sharing::gathered && sync.collective != "ring" &&
      sync.collective != native_all_reduce)
    return "ring or native, because messages of " + sync.compression +
           " cannot be added up, and every worker gets those of all";
  return std::nullopt;
}

}  // namespace tandem
