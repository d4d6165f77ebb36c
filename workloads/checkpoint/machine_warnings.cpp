#include "workloads/checkpoint/machine_warnings.hpp"

#include "workloads/protocol.hpp"

namespace tandem {

MachineWarnings::MachineWarnings(const Job& job, Context& context, Journal& journal)
    : job_(job), context_(context), journal_(journal) {}

void MachineWarnings::listen() {
  // The same on every rank of the job.
  const Generation* const generation = job_.generation();
  const bool may_come =
      job_.notices().take_warning || (generation != nullptr && !generation->warnings.empty());
  if (!job_.checkpoints().commits.commits_on_warning || !may_come) return;
  for (const auto ranks : {job_.roster().workers(), job_.roster().deciders()})
    for (const Rank rank : ranks)
      if (rank != context_.rank()) lines_.push_back({rank, protocol::receive<"warnings">(context_, rank)});
}

std::vector<MachineWarnings::Warning> MachineWarnings::take() {
  std::vector<Warning> warnings;
  take_drawn(warnings);
  if (job_.notices().take_warning)
    while (const auto notice = job_.notices().take_warning()) {
      record();
      warnings.push_back({context_.rank(), context_.now() + *notice});
    }
  for (Line& line : lines_)
    while (context_.is_done(line.next)) {
      const auto warned = protocol::unpack<protocol::Warned>(context_.wait(line.next).note);
      warnings.push_back({line.rank, warned.departs});
      line.next = protocol::receive<"warnings">(context_, line.rank);
    }
  return warnings;
}

/// Machines that depart as it was drawn: the generation has the records of their warnings.
void MachineWarnings::take_drawn(std::vector<Warning>& found) {
  const Generation* const generation = job_.generation();
  if (generation == nullptr) return;
  const Seconds now = generation->began + context_.now();
  const auto& warnings = generation->warnings;
  for (; drawn_ < warnings.size() && warnings[drawn_].at <= now; ++drawn_) {
    const DrawnWarning& warning = warnings[drawn_];
    if (job_.roster().workers()[static_cast<std::size_t>(warning.slot)] == context_.rank())
      found.push_back({context_.rank(), warning.departs - generation->began});
  }
}

void MachineWarnings::record() {
  const RankAssignment& assignment = job_.roster().assignment(context_.rank());
  if (assignment.role != Roster::Role::worker) return;
  journal_.membership.push_back({.time = context_.now(),
                                 .slot = assignment.index,
                                 .incarnation = 1,
                                 .host = assignment.host,
                                 .event = "warned",
                                 .role = role_name(assignment.role)});
}

void MachineWarnings::send(const Warning& warning) {
  if (!sent_.empty()) context_.wait(sent_);
  sent_ = protocol::send<"warnings">(context_, job_.checkpoints().commits.decider,
                                     protocol::Warned{warning.departs});
}

void MachineWarnings::finish() {
  for (Line& line : lines_) {
    context_.cancel(line.next);
    context_.wait(line.next);
  }
  lines_.clear();
  if (!sent_.empty()) context_.wait(sent_);
}

}  // namespace tandem
