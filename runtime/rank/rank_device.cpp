#include "runtime/rank/rank_device.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/gpu.hpp"

namespace tandem {

RankDevice make_rank_device(const Job& job, Rank rank) {
  const auto gpu = job.devices().gpu_of(rank);
  if (!gpu) return {};
  const platforms::Host& host = job.devices().host_of(rank);
  const Gpus there = visible_gpus();
  const bool is_explicit = host.properties.contains("tandem:gpu");
  if (*gpu < there.count) {
    auto device = make_gpu(*gpu);
    // Where the file gives the number, the learner ends the job if libtorch cannot use it.
    if (is_explicit || device->libtorch_gpu().value_or(-1) < learner_gpus())
      return {.gpu = std::move(device), .address = gpu_address(*gpu)};
    return {.why_no_gpu = "libtorch does not find it, or was built without CUDA"};
  }
  if (!is_explicit) return {.why_no_gpu = there.why_none};
  throw WorldError(fmt::format(
      "rank {} ({} on '{}') needs GPU {} of its machine (tandem:gpu in {}), but tandem-rank finds {}; "
      "check nvidia-smi and CUDA_VISIBLE_DEVICES",
      rank, role_name(job.roster().assignment(rank).role), host.name, *gpu, job.spec().platform.file,
      there.count == 0 ? "none: " + there.why_none : fmt::format("{}", there.count)));
}

std::vector<std::string> processor_notes(const Job& job, const std::vector<std::string>& why_no_gpu) {
  std::map<std::string, std::set<std::string>> hosts_by_reason;
  for (std::size_t rank = 0; rank < why_no_gpu.size(); ++rank)
    if (!why_no_gpu[rank].empty())
      hosts_by_reason[why_no_gpu[rank]].insert(job.devices().host_of(static_cast<Rank>(rank)).name);
  std::vector<std::string> notes;
  for (const auto& [reason, hosts] : hosts_by_reason)
    notes.push_back(fmt::format("{} should have a GPU according to {}, but {} on the processor: {}",
                                fmt::join(hosts, ", "), job.spec().platform.file,
                                hosts.size() == 1 ? "computes" : "compute", reason));
  return notes;
}

}  // namespace tandem
