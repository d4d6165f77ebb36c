#include "workloads/roles/steward/steward.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/fates_of_job.hpp"
#include "workloads/job/plan/recovery_plan.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

namespace {

Membership membership_of(const Job& job) {
  const auto workers = job.roster().workers().size();
  const Experiment& experiment = job.spec().experiment;
  return {{.workers = static_cast<int>(workers),
           .slots = static_cast<int>(workers),
           .has_deadline = experiment.recovery.give_up > Seconds(0)},
          Machines(experiment.transience, fates_of(job), workers),
          make_recovery_policy(job)};
}

std::vector<Place> slots_of(const Job& job, const Machines& machines) {
  std::vector<Place> slots;
  for (const Rank worker : job.roster().workers()) {
    Place& slot = slots.emplace_back();
    slot.rank = worker;
    slot.worker = slot.machine = static_cast<int>(slots.size()) - 1;
    slot.machines = &machines;
  }
  return slots;
}

std::optional<Seconds> earlier(std::optional<Seconds> one, std::optional<Seconds> other) {
  return one && (!other || *one <= *other) ? one : other;
}

}  // namespace

Steward::Steward(const Job& job, Context& context, Journal& journal)
    : job_(job),
      context_(context),
      journal_(journal),
      notices_(job, context, journal),
      membership_(membership_of(job)),
      slots_(slots_of(job, membership_.machines())),
      deciders_(job.roster().deciders()),
      nodes_(job, context, notices_, slots_, membership_),
      running_deciders_(deciders_.size()) {
  if (job.exchange().route() != sync::Route::server)
    groups_.emplace(context, notices_, slots_, job.roster().first_workers().size());
}

void Steward::run() {
  start();
  while (!is_over()) wait_for_events();
  if (groups_) groups_->end(awaited_);
  for (const Place& slot : slots_) notices_.notify<"membership">(slot.rank, protocol::End{});
  nodes_.end(std::span(awaited_).subspan(deciders_.size(), nodes_.size()));
  notices_.finish();
  if (awaited_.back().empty()) return;
  context_.cancel(awaited_.back());
  context_.wait(awaited_.back());
}

bool Steward::is_training_over() const { return running_deciders_ == 0 && (!groups_ || groups_->is_over()); }

/// A worker may depart while it ends its exchange with its cache node. The node must then be notified.
bool Steward::is_over() const { return is_training_over() && nodes_.have_all_ended(); }

void Steward::start() {
  for (const Rank decider : deciders_)
    awaited_.push_back(protocol::receive<"ends-of-job">(context_, decider));
  for (std::size_t node = 0; node < nodes_.size(); ++node) awaited_.push_back(nodes_.listen(node));
  for (std::size_t slot = 0; groups_ && slot < slots_.size(); ++slot)
    awaited_.push_back(groups_->listen(slot));
  awaited_.emplace_back();
  const Generation* const launch = job_.generation();
  if (launch == nullptr || launch->number() == 0) return begin();
  catch_up(launch->launched);
  begin_again();
}

void Steward::begin() {
  perform(membership_.begin(static_cast<int>(job_.roster().first_workers().size())));
  nodes_.occupy();
}

/// Takes the events before this launch, without notifying any rank.
void Steward::catch_up(Seconds launched) {
  Seconds past(0);
  notices_.set_past(past);
  begin();
  for (auto next = next_event(); next && *next <= launched; next = next_event()) {
    past = std::max(*next, past);
    notices_.set_past(past);
    pass_time(past);
  }
  notices_.set_past(std::nullopt);
}

/// All roles begin this launch as the first one, with the first occupant in each slot but those for spares.
/// Notifies them of the slots where that is wrong.
void Steward::begin_again() {
  const auto first = static_cast<int>(job_.roster().first_workers().size());
  for (int index = 0; index < static_cast<int>(slots_.size()); ++index) {
    Place& slot = at(index);
    slot.begin_launch();
    const bool is_member = membership_.is_member(index);
    // Nobody may have noticed yet that its machine has departed.
    if (is_member && membership_.has_machine(index)) notices_.announce(slot);
    if (is_member == (index < first)) continue;
    if (is_member) {
      note_joined(index);
    } else {
      constexpr int first_occupant = 1;
      note_left(index, first_occupant);
    }
  }
  nodes_.begin_again();
  if (membership_.is_paused()) notify_deciders(protocol::Training{.paused = true});
}

std::optional<Seconds> Steward::next_event() const {
  const auto of_nodes = earlier(nodes_.next_of_machines(), nodes_.next_of_stores());
  return earlier(membership_.next(), of_nodes);
}

/// Without machines, or with too few, and without one that will come, nothing would ever happen.
void Steward::give_up_in_vain() {
  if (is_training_over() || (nodes_.is_ending() && !groups_)) return;
  if (!membership_.waits_in_vain(notices_.now())) return;
  const Experiment::Recovery& recovery = job_.spec().experiment.recovery;
  const auto members = membership_.members().size();
  const std::string who = members == 0
                              ? "the machines of all workers have departed"
                              : std::to_string(members) + " of at least " + std::to_string(recovery.least) +
                                    " workers (recovery.least) are left";
  throw WorldError("the job gives up: " + who + ", and no replacement can come up (recovery.policy " +
                   recovery.policy + ")");
}

void Steward::wait_for_events() {
  const std::optional<Seconds> next = next_event();
  give_up_in_vain();
  Pending& timer = awaited_.back();
  if (next) timer = context_.sleep(std::max(Seconds(0), *next - notices_.now()));
  const Completion completion = context_.wait_any(awaited_);
  if (completion.index + 1 == awaited_.size()) {
    // A timer may end a little early.
    pass_time(std::max(notices_.now(), *next));
  } else {
    if (!timer.empty()) {
      context_.cancel(timer);
      context_.wait(timer);
    }
    on_message(completion.index, completion.note);
  }
  // At the end of the job nothing resumes any more, and all who are left have to finish.
  if (groups_ && !is_training_over())
    groups_->advance(membership_.view(), !membership_.is_paused() || nodes_.is_ending());
  nodes_.end_stores();
}

/// `entry`: of awaited_.
void Steward::on_message(std::size_t entry, const Note& note) {
  Pending& next = awaited_[entry];
  if (entry < deciders_.size()) return on_end(entry);
  if (const std::size_t node = entry - deciders_.size(); node < nodes_.size())
    return nodes_.on_message(node, note, next);
  const std::size_t slot = entry - deciders_.size() - nodes_.size();
  next = groups_->listen(slot);
  // Nobody would have anything left to do.
  if (groups_->on_message(static_cast<int>(slot), note)) end_joins();
}

/// Of two events at the same time, that of a worker comes first.
bool Steward::handle_next(Seconds time) {
  const auto of_workers = membership_.next(), of_nodes = nodes_.next_of_machines();
  const auto next = earlier(of_workers, of_nodes);
  if (!next || *next > time) return false;
  if (next == of_workers)
    perform(membership_.take());
  else
    nodes_.take_event(time);
  return true;
}

void Steward::pass_time(Seconds time) {
  while (handle_next(time)) {
  }
  nodes_.give_up_stores(time);
}

/// The coordinator asks first whether workers can still join; then every decider ends.
void Steward::on_end(std::size_t decider) {
  const Rank rank = deciders_[decider];
  if (has_announced_end_) {
    --running_deciders_;
    return;
  }
  has_announced_end_ = true;
  end_joins();
  notify_deciders(protocol::End{});
  awaited_[decider] = protocol::receive<"ends-of-job">(context_, rank);
}

void Steward::end_joins() {
  nodes_.end_joins();
  membership_.close();
}

void Steward::perform(const Membership::Step& step) {
  if (step.event && journal_.keep_decisions)
    journal_.decisions.push_back(
        {context_.rank(), "recovery", recovery::to_text(*step.event), recovery::to_text(step.decisions)});
  for (const MemberAction& action : step.actions) carry_out(action);
}

void Steward::carry_out(const MemberAction& action) {
  using What = MemberAction::What;
  notices_.set_view(action.view);
  switch (action.what) {
    case What::machine:
      if (action.ends_member) note_left(action.slot, at(action.slot).in_launch(action.machine.incarnation));
      return notices_.on_event(at(action.slot), action.machine);
    case What::requested:
      return notices_.record(at(action.slot), to_text(action.what));
    case What::joined:
      return admit(action);
    case What::paused:
    case What::resumed:
      notices_.record_job(to_text(action.what));
      return notify_deciders(protocol::Training{.paused = action.what == What::paused});
    case What::gave_up:
      throw WorldError("the job gives up: " + action.why);
    case What::released:
    case What::restarted:
      TANDEM_CHECK(false, "a policy that recovers in place has decided:", to_text(action.what));
  }
}

/// All know the first view.
void Steward::admit(const MemberAction& joined) {
  Place& slot = at(joined.slot);
  slot.incarnation = membership_.incarnation(joined.slot);
  notices_.record(slot, to_text(joined.what));
  notices_.announce(slot);
  if (joined.view > 0) note_joined(joined.slot);
}

/// `incarnation`: as this launch counts.
void Steward::note_left(int slot, int incarnation) {
  if (notices_.is_past()) return;
  if (groups_ && !is_training_over()) groups_->leave(slot);
  const protocol::Departed note{.worker = slot, .incarnation = incarnation};
  notify_deciders(note);
  nodes_.notify(note);
}

void Steward::note_joined(int slot) {
  if (notices_.is_past()) return;
  const int incarnation = at(slot).in_launch(at(slot).incarnation);
  if (groups_) groups_->join(slot, incarnation);
  const protocol::Joined note{.worker = slot, .incarnation = incarnation};
  notify_deciders(note);
  nodes_.notify(note);
}

void Steward::notify_deciders(const MembershipNote& note) {
  for (const Rank decider : deciders_) notices_.notify<"membership">(decider, note);
}

}  // namespace tandem
