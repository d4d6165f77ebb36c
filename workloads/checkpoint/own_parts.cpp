#include "workloads/checkpoint/own_parts.hpp"

#include <memory>
#include <utility>

#include "workloads/checkpoint/commit_restart.hpp"

namespace tandem {

OwnParts::OwnParts(const Job& job, Context& context, const CommitGroup& group)
    : job_(job),
      context_(context),
      group_(group),
      has_files_(job.checkpoints().has_states),
      files_(job, group),
      writer_(job, context, group.has_part()),
      begun_(job.checkpoints().first_round) {
  if (group.has_part() && has_files_) files_.create_directories();
}

void OwnParts::find() {
  if (!has_files_) return;
  for (const auto& part : files_.find()) written_.add(part);
}

void OwnParts::set_recorded(std::optional<std::int64_t> round) {
  if (job_.generation() != nullptr) recorded_ = round;
}

void OwnParts::begin(std::int64_t round, Seconds started) {
  begun_ = round;
  started_ = started;
}

void OwnParts::write(PartOfCommit part) {
  std::function<bool()> save;
  if (has_files_) save = saving(std::move(part));
  is_stored_ = false;
  writer_.write(begun_, started_, written_.kept(begun_), std::move(save));
  blocked_ = context_.now() - started_;
}

/// What writes the part. It runs while training continues, perhaps on another thread, so it has its own
/// copies.
std::function<bool()> OwnParts::saving(PartOfCommit part) {
  // Evaluations have files of their own where a machine's disk is another place.
  written_.add({begun_, group_.plan().are_on_machines() || !part.model_stays});
  return [this, round = begun_, with_model = group_.writes_model(), started = started_,
          kept = std::make_shared<PartOfCommit>(std::move(part))] {
    if (job_.generation() != nullptr)
      note_times(kept->state, job_, started, context_.now(), writer_.copied(), writer_.size());
    return files_.save(round, *kept, with_model);
  };
}

std::optional<protocol::Stored> OwnParts::take_stored(bool waits) {
  if (is_stored_) return std::nullopt;
  if (writer_.is_writing()) {
    if (!waits && !writer_.has_written()) return std::nullopt;
    writer_.end();
  }
  is_stored_ = true;
  return protocol::Stored{.round = static_cast<std::int32_t>(begun_),
                          .view = group_.view(),
                          .failed = writer_.take_failed(),
                          .ended = context_.now(),
                          .blocked = blocked_};
}

/// By what this rank knows, if it cannot see all parts.
bool OwnParts::is_complete(std::int64_t round, std::int64_t counted) const {
  // Other workers may have written it.
  if (job_.is_restarted() && round == job_.resume()->round) return true;
  if (group_.announces_complete()) return round == counted;
  if (recorded_ && round > *recorded_) return false;
  return files_.are_complete(round);
}

void OwnParts::remove_old(int keep, std::int64_t counted) {
  const CommitPlan& plan = group_.plan();
  const bool by_messages = group_.announces_complete();
  const bool needs_records = recorded_ && !by_messages;
  const KeepRule rule{.keep = plan.keep == 0 ? 0 : keep,
                      .waits_for_complete = by_messages || needs_records,
                      // Another server may take a later one for the last that counts, and workers may confirm
                      // one next.
                      .later_stay = needs_records || group_.confirms_records(),
                      .by_messages = by_messages,
                      .every = plan.keep_every};
  const auto old = written_.take_old(rule, [&](std::int64_t round) { return is_complete(round, counted); });
  remove_files(old.parts);
  // What other generations had here, or its ranks got as they began.
  const bool had_others = job_.is_restarted() && !job_.generation()->hosts.empty();
  if (had_others && plan.are_on_machines() && old.complete.value_or(0) > job_.resume()->round)
    files_.remove_before(written_.parts().front().round);
}

void OwnParts::remove_files(std::span<const WrittenParts::Part> parts) const {
  for (const WrittenParts::Part& part : parts) files_.remove(part);
}

bool OwnParts::list_members(std::int64_t round) const {
  return !group_.changes() || !has_files_ || files_.list_members(round);
}

}  // namespace tandem
