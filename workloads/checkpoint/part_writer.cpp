#include "workloads/checkpoint/part_writer.hpp"

#include <utility>

#include "workloads/job/plan/commit_plan.hpp"

namespace tandem {

PartWriter::PartWriter(const Job& job, Context& context, bool has_part)
    : context_(context),
      mode_(job.checkpoints().commits.mode),
      in_memory_(job.checkpoints().commits.are_in_memory()),
      disk_(job.devices().disk_of(context.rank())),
      size_(commit_size(job, context.rank())),
      copies_(job, context, has_part) {}

void PartWriter::write(std::int64_t round, Seconds started, const KeptRounds& kept,
                       std::function<bool()> save) {
  const bool takes_time = size_ > Bytes(0);
  if (takes_time && (mode_ == CommitMode::background || in_memory_)) {
    Pending copy = context_.compute({.kind = Work::Kind::reduce, .bytes = size_});
    context_.wait(copy);
    copied_ = context_.now() - started;
  }
  Kernel transfer;
  if (save) transfer = [this, save = std::move(save)] { failed_ = !save(); };
  if (takes_time && disk_ && !in_memory_) {
    writing_ = context_.write(*disk_, DiskAccess::of_state(size_), std::move(transfer));
  } else {
    if (transfer) transfer();
    // A part that this rank could not keep is not sent; a host that is left alone has no buddy.
    if (copies_.is_enabled() && !failed_) copies_.send(round, kept);
  }
  if (mode_ == CommitMode::blocking) end();
}

bool PartWriter::has_written() {
  return (writing_.empty() || context_.is_done(writing_)) && (!copies_.is_open() || copies_.is_kept());
}

void PartWriter::end() {
  if (!writing_.empty()) context_.wait(writing_);
  if (copies_.is_open() && !copies_.wait()) failed_ = true;
}

void PartWriter::finish(const KeptRounds& kept) {
  if (copies_.is_enabled()) copies_.end(kept);
}

}  // namespace tandem
