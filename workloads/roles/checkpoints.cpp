#include "workloads/roles/checkpoints.hpp"

#include <fmt/format.h>

#include "workloads/learner/learner.hpp"
#include "workloads/roles/protocol.hpp"

namespace tandem {

std::string checkpoint_path(const Job& job, std::int64_t round) {
  return fmt::format("{}/checkpoints/round_{:08}.pt", job.directory(), round);
}

CheckpointWriter::CheckpointWriter(const Job& job, Context& context)
    : job_(job),
      context_(context),
      evaluators_(job.ranks_of(Seat::Role::evaluator)),
      disk_(job.host_of(context.rank()).disks.empty() ? -1 : 0) {}

bool CheckpointWriter::is_due(std::int64_t round) const {
  const int every = job_.experiment().evaluate_every;
  return every > 0 && round > last_round_ && round % every == 0;
}

void CheckpointWriter::save(std::int64_t round, std::int64_t samples, std::span<const float> values) {
  settle();
  last_round_ = round;
  last_samples_ = samples;
  copy_.assign(values.begin(), values.end());
  Kernel write;
  if (!copy_.empty())
    write = [this, round] {
      save_checkpoint(checkpoint_path(job_, round), {job_.model().name, round, copy_}, job_.model());
    };
  announcement_ = {.kind = protocol::checkpoint,
                   .version = static_cast<std::int32_t>(round),
                   .duration_s = context_.now().count(),
                   .value = samples};
  if (disk_ >= 0) {
    writing_ = context_.write(disk_, job_.model().bytes(), std::move(write));
    return;
  }
  if (write) write();
  announce(announcement_);
}

void CheckpointWriter::finish(std::int64_t round, std::span<const float> values) {
  settle();
  if (!values.empty())
    save_checkpoint(job_.directory() + "/model.pt",
                    {job_.model().name, round, {values.begin(), values.end()}}, job_.model());
  announce({.kind = protocol::end});
}

void CheckpointWriter::settle() {
  if (writing_.empty()) return;
  context_.wait(writing_);
  announce(announcement_);
}

void CheckpointWriter::announce(const Note& note) {
  for (const Rank evaluator : evaluators_) {
    Pending told = context_.send(evaluator, protocol::checkpoints, {}, note);
    context_.wait(told);
  }
}

}  // namespace tandem
