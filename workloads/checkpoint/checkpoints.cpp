#include "workloads/checkpoint/checkpoints.hpp"

#include <filesystem>

#include "workloads/learner/learner.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

std::string checkpoint_path(const Job& job, std::int64_t round) {
  return checkpoint_path(job.directory(), round);
}

CheckpointWriter::CheckpointWriter(const Job& job, Context& context)
    : job_(job),
      context_(context),
      evaluators_(job.ranks_of(RankAssignment::Role::evaluator)),
      disk_(job.host_of(context.rank()).disks.empty() ? -1 : 0),
      interval_(job) {
  if (job.real_math() && job.experiment().evaluate_every > 0)
    std::filesystem::create_directories(job.directory() + "/checkpoints");
}

void CheckpointWriter::save(std::int64_t round, std::int64_t samples, std::span<const float> values) {
  interval_.begin_again(round);
  const Seconds taken = context_.now();
  Kernel write;
  if (!values.empty())
    write = [this, round, values] {
      save_checkpoint(checkpoint_path(job_, round),
                      {job_.model().name, round, {values.begin(), values.end()}}, job_.model());
    };
  if (disk_ >= 0) {
    Pending writing = context_.write(disk_, job_.model().bytes(), std::move(write));
    context_.wait(writing);
  } else if (write) {
    write();
  }
  announce(protocol::pack(protocol::Checkpoint{.round = round, .samples = samples, .taken = taken}));
}

void CheckpointWriter::finish(std::int64_t round, std::span<const float> values) {
  if (!values.empty())
    save_checkpoint(job_.directory() + "/model.pt",
                    {job_.model().name, round, {values.begin(), values.end()}}, job_.model());
  announce(protocol::pack(protocol::End{}));
}

void CheckpointWriter::announce(const Note& note) {
  for (const Rank evaluator : evaluators_) {
    Pending told = context_.send(evaluator, protocol::checkpoints, {}, note);
    context_.wait(told);
  }
}

}  // namespace tandem
