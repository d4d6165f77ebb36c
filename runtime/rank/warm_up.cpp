#include "runtime/rank/warm_up.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/learner/learner.hpp"
#include "workloads/model/description.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {
namespace {

/// Work of a pass: a tenth of a second on a slow core.
constexpr Flops most_work(2e9);

/// Black images of the first class.
std::vector<std::byte> blank_records(const LearnerSetting& learner, std::int64_t samples) {
  return std::vector<std::byte>(static_cast<std::size_t>((learner.dataset.record_bytes() * samples).count()));
}

}  // namespace

WarmUp warm_up(const Job& job, Rank rank) {
  if (!job.real_math() || !job.roster().has(rank) || job.devices().gpu_of(rank)) return {};
  const ModelDescription& model = job.model();
  const int batch = job.data().batch();
  const WarmUp wanted = {.trained = job.roster().assignment(rank).role == Roster::Role::worker &&
                                    (model.forward() + model.backward()) * batch <= most_work,
                         .evaluated = job.checkpoints().evaluator == rank &&
                                      model.forward() * evaluation_batch <= most_work};
  if (wanted == WarmUp()) return {};
  const LearnerSetting& setting = job.replica_plan().learner;
  const std::unique_ptr<Learner> learner = make_learner(setting, host_device());
  if (wanted.trained) {
    learner->load(blank_records(setting, batch));
    learner->forward();
    for (std::size_t bucket = 0; bucket < model.buckets.size(); ++bucket)
      learner->backward(static_cast<int>(bucket));
  }
  if (wanted.evaluated) learner->evaluate(blank_records(setting, evaluation_batch));
  return wanted;
}

}  // namespace tandem
