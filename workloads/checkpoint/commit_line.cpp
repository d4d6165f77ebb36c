#include "workloads/checkpoint/commit_line.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "workloads/protocol.hpp"

namespace tandem {

CommitLine::CommitLine(Context& context, const CommitGroup& group, const WaitForRank& wait)
    : context_(context), group_(group), wait_(wait), knowledge_(group.plan().announced.ahead) {}

void CommitLine::begin(std::int64_t round) {
  knowledge_.begin(round, group_.view());
  context_.wait_all(listening_);
  listening_.clear();
  context_.wait_all(sent_);
  sent_.clear();
  listeners_.clear();
  if (group_.listens()) {
    // Those about the rounds ahead, and two about a commit that is complete.
    const int messages = group_.plans_on_stream() ? group_.plan().announced.ahead + 3 : 1;
    for (int message = 0; message < messages; ++message) post();
  }
  if (!group_.decides()) return;
  listeners_ = group_.listeners();
  if (group_.confirms_records()) expect_records();
}

void CommitLine::expect_records() {
  tally_.expect(group_.recorders());
  for (const Rank worker : group_.recorders())
    records_.push_back({worker, protocol::receive<"commits">(context_, worker)});
}

void CommitLine::post() { listening_.push_back(protocol::receive<"commits">(context_, group_.decider())); }

/// A message that ends otherwise is of a rank that has departed: the next one decides about later rounds.
void CommitLine::take(const Completion& message) {
  if (message.outcome != Outcome::done) return;
  listening_.erase(listening_.begin());
  post();
  if (const auto planned = protocol::as<protocol::Planned>(message.note))
    knowledge_.learn(*planned);
  else
    knowledge_.learn(protocol::unpack<protocol::Complete>(message.note));
}

void CommitLine::send_recorded(std::int64_t round) {
  knowledge_.note_recorded(round);
  if (!replied_.empty()) context_.wait(replied_);
  replied_ = protocol::send<"commits">(context_, group_.decider(),
                                       protocol::Stored{.round = static_cast<std::int32_t>(round)});
}

void CommitLine::send_all_recorded() { send_recorded(std::numeric_limits<std::int32_t>::max()); }

std::int64_t CommitLine::unrecorded() {
  if (!group_.confirms_records()) return 0;
  take_arrived();
  return knowledge_.unrecorded();
}

void CommitLine::await(std::int64_t round) {
  if (!group_.plans_on_stream()) return;
  while (listens() && !knowledge_.knows(round))
    if (const auto message = wait_(listening_.front())) take(*message);
  take_arrived();
}

void CommitLine::send(const protocol::Planned& planned) { notify(planned, listeners_); }

/// Notifies first the workers whose records count, and the others when all records are written.
void CommitLine::send_complete(std::int64_t round) {
  complete_ = round;
  const protocol::Complete complete{
      .round = static_cast<std::int32_t>(round), .view = group_.view(), .counts = !tally_.is_used()};
  knowledge_.learn(complete);
  if (!tally_.is_used()) return notify(complete, listeners_);
  std::vector<Rank> workers;
  for (const Records& records : records_) workers.push_back(records.worker);
  notify(complete, workers);
}

void CommitLine::send_failed(std::int64_t round) {
  const protocol::Complete failed{
      .round = static_cast<std::int32_t>(round), .view = group_.view(), .counts = false, .failed = true};
  knowledge_.learn(failed);
  notify(failed, listeners_);
}

void CommitLine::notify(const protocol::NoteOf<"commits">& note, std::span<const Rank> ranks) {
  context_.wait_all(sent_);
  sent_.clear();
  for (const Rank rank : ranks) sent_.push_back(protocol::send<"commits">(context_, rank, note));
}

void CommitLine::take_arrived() {
  while (listens() && !listening_.front().empty() && context_.is_done(listening_.front()))
    take(context_.wait(listening_.front()));
  if (complete_ > knowledge_.counted()) take_records();
}

void CommitLine::take_records() {
  for (Records& records : records_)
    while (context_.is_done(records.next)) {
      tally_.add(records.worker, protocol::unpack<protocol::Stored>(context_.wait(records.next).note).round);
      records.next = protocol::receive<"commits">(context_, records.worker);
    }
  if (records_.empty() || tally_.by_all() <= knowledge_.counted()) return;
  // Workers that have ended have written all.
  const protocol::Complete counts{.round = static_cast<std::int32_t>(std::min(tally_.by_all(), complete_)),
                                  .view = group_.view()};
  knowledge_.learn(counts);
  notify(counts, listeners_);
}

void CommitLine::end_listening() {
  take_arrived();
  if (listens()) {
    context_.cancel_all(listening_);
    context_.wait_all(listening_);
    listening_.clear();
  }
  for (Records& records : records_) {
    context_.cancel(records.next);
    context_.wait(records.next);
  }
  records_.clear();
}

void CommitLine::finish() {
  if (!replied_.empty()) context_.wait(replied_);
  context_.wait_all(sent_);
  sent_.clear();
}

}  // namespace tandem
