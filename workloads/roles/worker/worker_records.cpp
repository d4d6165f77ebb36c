#include "workloads/roles/worker/worker_records.hpp"

namespace tandem {

WorkerRecords::WorkerRecords(const Job& job, Context& context, const Journal& journal, RecordFiles* of_slot)
    : context_(context),
      servers_wait_(job.roster().steward() && job.exchange().route() == sync::Route::server),
      own_(of_slot == nullptr ? std::make_optional<RecordFiles>(job, context.rank(), journal) : std::nullopt),
      files_(of_slot == nullptr ? *own_ : *of_slot) {}

void WorkerRecords::note(const RecordMark& mark, CommitLine& line) {
  if (servers_wait_ && known_commit_ > noted_commit_ && files_.note_at_once(mark, context_.now()))
    noted_commit_ = known_commit_;
  const std::int64_t commit = line.unrecorded();
  if (commit == 0) return files_.note(mark, context_.now());
  if (files_.note_at_once(mark, context_.now())) line.send_recorded(commit);
}

void WorkerRecords::note_end(const RecordMark& mark, CommitLine& line) {
  // Commits of the others count without it.
  if (line.awaits_records() && files_.note_at_once(mark, context_.now())) line.send_all_recorded();
  if (servers_wait_) files_.note_at_once(mark, context_.now());
}

void WorkerRecords::note_interrupted(RecordMark mark, int open, int of_step) {
  mark.steps -= std::max(0, open - of_step);
  if (!files_.try_save(mark)) return;
  mark.steps += std::max(open, of_step);
  files_.try_save(mark);
}

}  // namespace tandem
