#include "workloads/checkpoint/checkpoints.hpp"

#include <filesystem>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

CheckpointWriter::CheckpointWriter(const Job& job, Context& context)
    : job_(job),
      plan_(job.checkpoints()),
      model_(job.model()),
      context_(context),
      generation_(job.generation()),
      evaluator_(job.roster().evaluator()),
      disk_(job.devices().disk_of(context.rank())),
      schedule_(plan_.schedule()) {
  if (plan_.has_states && plan_.every > 0)
    std::filesystem::create_directories(plan_.directory + "/checkpoints");
}

void CheckpointWriter::save(std::int64_t round, std::int64_t samples, std::span<const float> values,
                            bool is_last) {
  schedule_.begin_again(round);
  const Seconds taken = context_.now();
  note_due(round, samples);
  Kernel write;
  // The first worker's duties may have moved to another one, which has the model.
  if (!values.empty() || (plan_.has_states && context_.rank() == plan_.writer))
    write = [this, round, values] {
      save_model(job_, plan_.directory, round, {values.begin(), values.end()});
    };
  if (disk_) {
    Pending writing = context_.write(*disk_, DiskAccess::of_state(model_.bytes()), std::move(write));
    context_.wait(writing);
  } else if (write) {
    write();
  }
  announce(protocol::Checkpoint{
      .round = round, .samples = samples, .taken = taken, .decides = plan_.stop_accuracy > 0.0 && !is_last});
}

void CheckpointWriter::note_due(std::int64_t round, std::int64_t samples) {
  if (generation_ == nullptr || !is_enabled()) return;
  write_announced(plan_.directory,
                  {.round = round, .samples = samples, .taken = generation_->began + context_.now()});
}

void CheckpointWriter::finish(std::int64_t round, std::span<const float> values) {
  if (!values.empty())
    save_checkpoint(plan_.directory + "/model.pt", {model_.name, round, {values.begin(), values.end()}},
                    model_);
  announce(protocol::End{});
}

void CheckpointWriter::announce(const protocol::NoteOf<"checkpoints">& note) {
  if (!evaluator_) return;
  Pending sent = protocol::send<"checkpoints">(context_, *evaluator_, note);
  context_.wait(sent);
}

}  // namespace tandem
