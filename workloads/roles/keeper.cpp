#include "workloads/roles/keeper.hpp"

#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/commit_plan.hpp"

namespace tandem {

Keeper::Keeper(const Job& job, Context& context)
    : host_(job.roster().host_of(context.rank())), context_(context) {
  for (const Rank rank : wards_of(job, context.rank()))
    wards_.push_back({.rank = rank, .part = CommitPart(job, rank)});
}

void Keeper::run() {
  inbox_.resize(wards_.size() * entries);
  for (std::size_t ward = 0; ward < wards_.size(); ++ward) listen(ward);
  for (std::size_t left = wards_.size(); left > 0;) {
    const Completion arrived = context_.wait_any(inbox_);
    const std::size_t number = arrived.index / entries;
    Ward& ward = wards_[number];
    if (arrived.index % entries != message) {
      if (!inbox(number, vectors).empty() || !inbox(number, rest).empty()) continue;
      keep(ward);
      listen(number);
    } else if (const auto copied = protocol::as<protocol::Copied>(arrived.note)) {
      expect_part(number, *copied);
    } else if (const auto fetch = protocol::as<protocol::Fetch>(arrived.note)) {
      answer_fetch(ward, fetch->round);
      listen(number);
    } else {
      const auto last = protocol::unpack<protocol::LastCopy>(arrived.note);
      ward.part.remove_others(host_, {last.oldest, last.since});
      --left;
    }
  }
  for (Ward& ward : wards_) context_.wait_all(ward.answer);
}

void Keeper::listen(std::size_t ward) {
  inbox(ward, message) = protocol::receive<"copies">(context_, wards_[ward].rank);
}

void Keeper::expect_part(std::size_t number, const protocol::Copied& copied) {
  Ward& ward = wards_[number];
  // Its memory may still leave with the last answer.
  context_.wait_all(ward.answer);
  ward.copied = copied;
  ward.part.make_room(copied.blocks);
  inbox(number, vectors) = protocol::receive<"copy-parts">(context_, ward.rank, ward.part.vectors());
  inbox(number, rest) = protocol::receive<"copy-parts">(context_, ward.rank, ward.part.rest());
}

void Keeper::keep(Ward& ward) {
  protocol::Kept kept{.round = ward.copied.round};
  try {
    // The ward has removed them already, and the new part may need their room.
    ward.part.remove_others(host_, {ward.copied.oldest, ward.copied.since});
    ward.part.store(host_, ward.copied.round);
  } catch (const WorldError&) {
    // The memory is full: the commit fails, and the one before counts.
    kept.failed = true;
  }
  ward.part.clear();
  ward.answer[message] = protocol::send<"copies-kept">(context_, ward.rank, kept);
}

void Keeper::answer_fetch(Ward& ward, std::int32_t round) {
  context_.wait_all(ward.answer);
  const Rank to = ward.rank;
  ward.part.load(host_, round);
  const protocol::Kept kept{.round = round, .blocks = ward.part.blocks()};
  ward.answer = {protocol::send<"copies-kept">(context_, to, kept),
                 protocol::send<"copy-parts">(context_, to, ward.part.vectors()),
                 protocol::send<"copy-parts">(context_, to, ward.part.rest())};
}

}  // namespace tandem
