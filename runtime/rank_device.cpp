#include "runtime/rank_device.hpp"

#include <fmt/format.h>

#include "policies/vocabulary/check.hpp"
#include "runtime/gpu.hpp"

namespace tandem {

std::unique_ptr<ComputeDevice> make_rank_device(const Job& job, Rank rank) {
  if (rank >= static_cast<int>(job.seats().size())) return nullptr;
  const Seat::Role role = job.seats()[static_cast<std::size_t>(rank)].role;
  const bool computes =
      role == Seat::Role::worker || role == Seat::Role::server || role == Seat::Role::evaluator;
  const platforms::Host& host = job.host_of(rank);
  if (!computes || !host.gpu || !job.real_math() || job.experiment().run.devices != "native") return nullptr;
  const int there = gpu_count();
  if (*host.gpu < there) return make_gpu(*host.gpu);
  if (!host.properties.contains("tandem:gpu")) return nullptr;
  throw WorldError(fmt::format(
      "rank {} ({} on '{}') is to compute on GPU {} of its machine (tandem:gpu in {}), where tandem-rank "
      "sees {}; check nvidia-smi and CUDA_VISIBLE_DEVICES",
      rank, role_name(role), host.name, *host.gpu, job.platform().file,
      there == 0 ? "none" : fmt::format("{}", there)));
}

}  // namespace tandem
