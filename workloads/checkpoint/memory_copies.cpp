#include "workloads/checkpoint/memory_copies.hpp"

#include <string>

#include "workloads/checkpoint/dealt_parts.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

MemoryCopies::MemoryCopies(const Job& job, Context& context, bool has_part) : job_(job), context_(context) {
  if (!has_part) return;
  keeper_ = keeper_of(job.roster(), job.checkpoints().commits, job.roster().host_of(context.rank()));
  if (keeper_) part_.emplace(job, context.rank());
}

void MemoryCopies::send(std::int64_t round, const KeptRounds& kept) {
  part_->load(job_.roster().host_of(context_.rank()), round);
  const protocol::Copied note{.round = static_cast<std::int32_t>(round),
                              .oldest = static_cast<std::int32_t>(kept.oldest),
                              .since = static_cast<std::int32_t>(kept.since),
                              .blocks = part_->blocks()};
  sent_ = {protocol::send<"copies">(context_, *keeper_, note),
           protocol::send<"copy-parts">(context_, *keeper_, part_->vectors()),
           protocol::send<"copy-parts">(context_, *keeper_, part_->rest())};
  kept_ = protocol::receive<"copies-kept">(context_, *keeper_);
}

bool MemoryCopies::wait() {
  const auto kept = protocol::unpack<protocol::Kept>(context_.wait(kept_).note);
  context_.wait_all(sent_);
  part_->clear();
  return !kept.failed;
}

void MemoryCopies::restore(std::int64_t round) {
  const std::string& own = job_.roster().host_of(context_.rank());
  const std::string& buddy = job_.checkpoints().commits.buddies.at(own);
  const bool has_copy = part_->is_in(buddy, round);
  if (!part_->is_in(own, round)) {
    if (has_copy) fetch(round);
    return;
  }
  if (part_->size() > Bytes(0)) {
    Pending loading = context_.compute({.kind = Work::Kind::reduce, .bytes = part_->size()});
    context_.wait(loading);
  }
  if (has_copy) return;
  // Until all have their copies, an older commit may be the only one that survives another loss.
  send(round, {0, 0});
  wait();
}

void MemoryCopies::fetch(std::int64_t round) {
  Pending asked = protocol::send<"copies">(context_, *keeper_,
                                           protocol::Fetch{.round = static_cast<std::int32_t>(round)});
  Pending answer = protocol::receive<"copies-kept">(context_, *keeper_);
  context_.wait(asked);
  part_->make_room(protocol::unpack<protocol::Kept>(context_.wait(answer).note).blocks);
  Pending vectors = protocol::receive<"copy-parts">(context_, *keeper_, part_->vectors());
  Pending rest = protocol::receive<"copy-parts">(context_, *keeper_, part_->rest());
  context_.wait(vectors);
  context_.wait(rest);
  part_->store(job_.roster().host_of(context_.rank()), round);
  part_->clear();
}

void MemoryCopies::end(const KeptRounds& kept) {
  const protocol::LastCopy note{.oldest = static_cast<std::int32_t>(kept.oldest),
                                .since = static_cast<std::int32_t>(kept.since)};
  Pending ended = protocol::send<"copies">(context_, *keeper_, note);
  context_.wait(ended);
}

void restore_copies(const Job& job, Context& context) {
  if (!job.is_restarted() || !job.checkpoints().commits.are_in_memory()) return;
  if (!job.generation()->hosts.empty()) return exchange_parts(job, context);
  MemoryCopies copies(job, context, has_part_in_commits(job, context.rank()));
  if (copies.is_enabled()) copies.restore(job.resume()->round);
}

}  // namespace tandem
